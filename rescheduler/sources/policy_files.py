"""Policy files where they lie: found and read here, understood by `policies`."""

import os
from pathlib import Path

from rescheduler.documents.strict_yaml import MAX_BYTES
from rescheduler.documents.text_files import TextFile
from rescheduler.model.errors import PolicyError
from rescheduler.policies.files.policy_set import PolicySet, read_policies

_MOST = MAX_BYTES + 8
"""Bytes that are read of a file: more than it may have, even without its byte order mark."""

SHIPPED = (
    "conformity.yaml",
    "limits.yaml",
    "readings.yaml",
    "scheduler.yaml",
    "spread.yaml",
    "utilization.yaml",
)
"""Files of the policies that every cluster has the data for: NUMA zones, traffic and device faults
are exported on few."""


def load_policies(path: Path) -> PolicySet:
    """The policies of one file, or of every *.yaml and *.yml but *_test in a directory.

    Raises:
        PolicyError: something cannot be used; the message holds every problem of every file.
    """
    return read_policies(str(path), [read_file(file) for file in _files(path)], read_beside)


def shipped_folder() -> Path:
    """Where the policies that come with the program are: installed beside it, or in its tree."""
    package = Path(__file__).parents[1]
    installed = package / "shipped"
    return installed if installed.is_dir() else package.parent / "policies"


def shipped_policies() -> PolicySet:
    """The policies for which every cluster has the data; those of deploy/ are the same."""
    folder = shipped_folder()
    return read_policies(str(folder), [read_file(folder / name) for name in SHIPPED], read_beside)


def read_file(path: Path) -> TextFile:
    """The file with its content, or with what is wrong with it."""
    # Unlike Path.resolve it does not fail where links go in a circle.
    name, identity = str(path), os.path.realpath(path)
    try:
        with path.open("rb") as stream:
            content = stream.read(_MOST)
        # Of a larger file the end is missing, maybe in the middle of a character; it is refused.
        text = content.decode("utf-8-sig", "replace" if len(content) == _MOST else "strict")
    except OSError as error:
        return TextFile(name, identity, problem=f"cannot be read: {error.strerror or error}")
    except UnicodeDecodeError:
        return TextFile(name, identity, problem="is not text in UTF-8")
    return TextFile(name, identity, text)


def read_beside(file: TextFile, name: str) -> TextFile:
    """The file of that name, relative to the folder of the other one."""
    return read_file(Path(file.name).parent / name)


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        files = [
            file
            for file in sorted(path.iterdir())
            if file.suffix in (".yaml", ".yml")
            and not file.stem.endswith("_test")
            and file.is_file()
        ]
        if not files:
            raise PolicyError(f"{path} holds no *.yaml file", "another directory is meant.")
        return files
    if not path.exists():
        raise PolicyError(f"{path} does not exist", "it has a typo, or nothing is mounted there.")
    return [path]
