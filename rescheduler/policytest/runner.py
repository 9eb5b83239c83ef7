"""Policy test files: found, read strictly, and told one after the other."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rescheduler.documents.flaws import FileProblem, Mark, policy_error
from rescheduler.documents.strict_yaml import Tree, read
from rescheduler.documents.validation import validate_part
from rescheduler.model.errors import PolicyError
from rescheduler.policies.files.policy_set import PolicySet, load_policies
from rescheduler.policytest.document import PolicyTestFile
from rescheduler.policytest.drawing import DrawingError
from rescheduler.policytest.expectations import Difference, evaluate
from rescheduler.policytest.listing import ListingError

PATTERN = "*_test.y*ml"
_NAMES = "`spread_test.yaml` is meant: policy tests lie beside their policy, and end in `_test`."


def is_policy_test(path: Path) -> bool:
    """Whether the path names a policy test file."""
    return path.match(PATTERN)


@dataclass(frozen=True, slots=True)
class Result:
    """How one policy test ended. line: where it stands in its file. differences: empty if it holds.

    broken: why it could not be told, or None; where no policy test of the file could be, it has no
    name.
    """

    file: str
    line: int
    name: str
    differences: list[Difference] = field(default_factory=list)
    broken: PolicyError | None = None

    @property
    def holds(self) -> bool:
        """Whether it was told, and ended as expected."""
        return not self.differences and self.broken is None


def find(paths: Iterable[Path]) -> list[Path]:
    """The policy test files among the paths and below them, each once.

    Raises:
        PolicyError: a path is not there, or there is no policy test in all of them.
    """
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise PolicyError(f"{path} does not exist", "it has a typo.")
        if path.is_file() and not is_policy_test(path):
            raise PolicyError(f"{path} is not named like a policy test file", _NAMES)
        found += sorted(path.rglob(PATTERN)) if path.is_dir() else [path]
    if not found:
        given = ", ".join(map(str, paths))
        raise PolicyError(f"{given}: no policy test files", _NAMES)
    return list(dict.fromkeys(found))


def run(files: Iterable[Path]) -> Iterator[Result]:
    """Run every policy test of the files, in order; a broken file does not stop the others."""
    for file in files:
        try:
            made, tree, text = _load(file)
            policies = load_policies(file.parent / made.policy)
        except PolicyError as error:
            yield Result(str(file), 1, "", broken=error)
        else:
            yield from _run(file, made, tree, text, policies)


def load(file: Path) -> PolicyTestFile:
    """The policy tests of a file.

    Raises:
        PolicyError: it cannot be used; the message names every place.
    """
    return _load(file)[0]


def _load(file: Path) -> tuple[PolicyTestFile, Tree, str]:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(f"{file}: cannot be read: {error}") from error
    trees, file_problems = read(text)
    if not file_problems and len(trees) != 1:
        file_problems = [FileProblem(Mark(), "a policy test file holds one document")]
    made = None
    if not file_problems:
        made, file_problems = validate_part(trees[0], PolicyTestFile)
    if made is None:
        raise policy_error([(str(file), text, file_problem) for file_problem in file_problems], 1)
    return made, trees[0], text


def _run(
    file: Path, made: PolicyTestFile, tree: Tree, text: str, policies: PolicySet
) -> Iterator[Result]:
    tests = _branch(tree, "tests").value
    for test, place in zip(made.tests, tests if isinstance(tests, list) else [], strict=True):
        try:
            yield Result(str(file), place.mark.line, test.name, evaluate(test, policies))
        except ValueError as error:
            file_problem = FileProblem(_mark(error, place), str(error))
            broken = policy_error([(str(file), text, file_problem)], 1)
            yield Result(str(file), place.mark.line, test.name, broken=broken)


def _mark(error: ValueError, place: Tree) -> Mark:
    """Where in the policy test the error lies, as near as it can be told."""
    if isinstance(error, DrawingError):
        # The rows of a block scalar begin on the line after its `|`.
        mark = _branch(place, "cluster").mark
        return Mark(mark.line + error.line, mark.column)
    if isinstance(error, ListingError):
        objects = _branch(place, "objects").value
        return objects[error.index].mark if isinstance(objects, list) else place.mark
    step = place
    for part in str(error).split(":", 1)[0].split("."):
        value = step.value
        if not isinstance(value, dict) or part not in value:
            break
        step = value[part]
    return step.mark


def _branch(tree: Tree, key: str) -> Tree:
    return tree.value[key] if isinstance(tree.value, dict) and key in tree.value else tree
