"""Policy test files: read strictly, and run one after the other."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from rescheduler.documents.file_problems import FileProblem, TextSpan, policy_error
from rescheduler.documents.strict_yaml import Tree, read
from rescheduler.documents.text_files import TextFile
from rescheduler.documents.validation import validate_part
from rescheduler.model.errors import PolicyError
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.policytest.drawing import DrawingError
from rescheduler.policytest.expectations import Difference, evaluate
from rescheduler.policytest.file_format import PolicyTestFile
from rescheduler.policytest.listing import ListingError

PATTERN = "*_test.y*ml"


PoliciesOf = Callable[[TextFile, str], PolicySet]
"""The policies that a policy test file names, relative to where it is; raises PolicyError."""


def is_policy_test(name: str) -> bool:
    """Whether a file of that name, without its folder, is a policy test file."""
    return fnmatchcase(name, PATTERN)


@dataclass(frozen=True, slots=True)
class Result:
    """How one policy test ended. line: its place in its file. differences: empty if it holds.

    broken: why it could not be run, or None; where no policy test of the file could be, it has no
    name.
    """

    file: str
    line: int
    name: str
    differences: list[Difference] = field(default_factory=list)
    broken: PolicyError | None = None

    @property
    def holds(self) -> bool:
        """Whether it was run, and ended as expected."""
        return not self.differences and self.broken is None


def run_all(files: Iterable[TextFile], policies: PoliciesOf) -> Iterator[Result]:
    """Run every policy test of the files, in order; a broken file does not stop the others."""
    for file in files:
        try:
            made, tree = _load(file)
            policy_set = policies(file, made.policy)
        except PolicyError as error:
            yield Result(file.name, 1, "", broken=error)
        else:
            yield from _run(file, made, tree, policy_set)


def load(file: TextFile) -> PolicyTestFile:
    """The policy tests of a file.

    Raises:
        PolicyError: it cannot be used; the message names every place.
    """
    return _load(file)[0]


def _load(file: TextFile) -> tuple[PolicyTestFile, Tree]:
    if file.problem:
        raise PolicyError(f"{file.name}: {file.problem}")
    trees, file_problems = read(file.text)
    if not file_problems and len(trees) != 1:
        file_problems = [FileProblem(TextSpan(), "a policy test file holds one document")]
    made = None
    if not file_problems:
        made, file_problems = validate_part(trees[0], PolicyTestFile)
    if made is None:
        raise policy_error(
            [(file.name, file.text, file_problem) for file_problem in file_problems], 1
        )
    return made, trees[0]


def _run(file: TextFile, made: PolicyTestFile, tree: Tree, policies: PolicySet) -> Iterator[Result]:
    tests = _branch(tree, "tests").value
    for test, place in zip(made.tests, tests if isinstance(tests, list) else [], strict=True):
        try:
            yield Result(file.name, place.mark.line, test.name, evaluate(test, policies))
        except ValueError as error:
            file_problem = FileProblem(_mark(error, place), str(error))
            broken = policy_error([(file.name, file.text, file_problem)], 1)
            yield Result(file.name, place.mark.line, test.name, broken=broken)


def _mark(error: ValueError, place: Tree) -> TextSpan:
    """Where in the policy test the error lies, as near as it is known."""
    if isinstance(error, DrawingError):
        # The rows of a block scalar begin on the line after its `|`.
        mark = _branch(place, "cluster").mark
        return TextSpan(mark.line + error.line, mark.column)
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
