"""Policy tests where they lie: found, read, and run against the policies beside them."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from rescheduler.documents.text_files import TextFile
from rescheduler.model.errors import PolicyError
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.policytest.runner import PATTERN, Result, is_policy_test, run_all
from rescheduler.sources.policy_files import load_policies, read_file

_NAMES = "`spread_test.yaml` is meant: policy tests lie beside their policy, and end in `_test`."


def find(paths: Iterable[Path]) -> list[Path]:
    """The policy test files among the paths and below them, each once.

    Raises:
        PolicyError: a path is not there, or there is no policy test in all of them.
    """
    files: list[Path] = []
    for path in paths:
        if not path.exists():
            raise PolicyError(f"{path} does not exist", "it has a typo.")
        if path.is_file() and not is_policy_test(path.name):
            raise PolicyError(f"{path} is not named like a policy test file", _NAMES)
        files += sorted(path.rglob(PATTERN)) if path.is_dir() else [path]
    if not files:
        paths_text = ", ".join(map(str, paths))
        raise PolicyError(f"{paths_text}: no policy test files", _NAMES)
    return list(dict.fromkeys(files))


def run(files: Iterable[Path]) -> Iterator[Result]:
    """Run every policy test of the files, in order; a broken file does not stop the others."""
    return run_all(map(read_file, files), _policies)


def _policies(file: TextFile, name: str) -> PolicySet:
    return load_policies(Path(file.name).parent / name)
