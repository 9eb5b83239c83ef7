"""Policy files: read strictly, all problems reported at once, and written back."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rescheduler.documents.envelope import Document, digest
from rescheduler.documents.field_problems import FieldError
from rescheduler.documents.file_problems import FileProblem, TextSpan, policy_error
from rescheduler.documents.strict_yaml import Tree, read, tree_of_value
from rescheduler.documents.text_files import Beside, TextFile
from rescheduler.documents.validation import locate, near, validate, value_at
from rescheduler.model.cluster.readings import ReadingRequest
from rescheduler.model.errors import PolicyError
from rescheduler.policies.base import Policy
from rescheduler.policies.limits import Limits
from rescheduler.policies.notifications import Notifications
from rescheduler.policies.own_readings.definition import OwnReading
from rescheduler.policies.own_readings.readings_document import ReadingsDocument
from rescheduler.policies.registry import DOCUMENTS, ELSEWHERE, KINDS
from rescheduler.scheduler.config.scheduler import (
    Scheduler,
    config_file_problem,
    with_configuration,
)


@dataclass(frozen=True)
class Source:
    """Where a document is written: its file, the content of that, and the document's tree."""

    file: str
    text: str
    tree: Tree


@dataclass(frozen=True)
class PolicySet:
    """The policies that are evaluated together, and the limits that hold for all of them.

    schedulers: what is declared of the cluster's schedulers.
    readings: what operators define readings by; each name in one document.
    notifications: who gets messages outside of the cluster; nothing is planned by it.
    digests: name of each policy, and of the limits, to the SHA-256 of its document.
    files: name to the file that it came from; default limits are in neither.
    sources: name to the place of its document, where it came from a file.
    """

    policies: tuple[Policy, ...]
    limits: Limits
    digests: dict[str, str]
    files: dict[str, str]
    schedulers: tuple[Scheduler, ...] = ()
    sources: dict[str, Source] = field(default_factory=dict, compare=False, repr=False)
    readings: tuple[ReadingsDocument, ...] = ()
    notifications: Notifications = field(default_factory=Notifications)

    @property
    def definitions(self) -> dict[str, tuple[OwnReading, ...]]:
        """What operators define, by the name of the reading."""
        return {
            name: own for reading in self.readings for name, own in reading.definitions().items()
        }

    def requests(self) -> list[ReadingRequest]:
        """All readings that the policies need, with what operators define them by."""
        own = self.definitions
        return [
            replace(request, own=own.get(request.name))
            for policy in self.policies
            for request in policy.requests()
        ]

    def wanted_steering(self) -> list[str]:
        """What the policies want to be steered by: names of means, or Auto; without None."""
        return sorted({self.limits.steering_of(policy).by for policy in self.policies} - {"None"})

    def requests_to_try(self) -> list[ReadingRequest]:
        """Those, and what the policies need besides once they judge more: see `Policy.wider`."""
        own, needed = self.definitions, self.requests()
        wider = [
            replace(request, own=own.get(request.name))
            for policy in self.policies
            for field, value in policy.wider()
            for request in policy.model_copy(update={field: value}).requests()
        ]
        return [*needed, *(request for request in wider if request not in needed)]


def read_policies(where: str, files: Sequence[TextFile], beside: Beside) -> PolicySet:
    """The policies of these files together.

    where: what people named. beside: reads a file that one of these refers to.

    Raises:
        PolicyError: something cannot be used; the message holds every problem of every file.
    """
    collected = _Collection(beside)
    for file in files:
        collected.add(file)
    collected.resolve()
    file_problems = collected.file_problems()
    if file_problems:
        raise policy_error(file_problems, len(files))
    return collected.build(where)


def policy_set(
    policies: list[Policy],
    limits: Limits | None = None,
    schedulers: tuple[Scheduler, ...] = (),
    readings: tuple[ReadingsDocument, ...] = (),
) -> PolicySet:
    """A set of policies that come from no file.

    Raises:
        PolicyError: two have the same name.
    """
    names = [policy.name for policy in policies]
    if len(set(names)) < len(names):
        raise PolicyError(f"two policies have the same name: {', '.join(sorted(names))}")
    return PolicySet(
        policies=tuple(policies),
        limits=limits or Limits(),
        digests={policy.name: digest(policy) for policy in policies},
        files={},
        schedulers=schedulers,
        readings=readings,
    )


def policy_from_document(document: dict[str, Any]) -> Policy:
    """The policy that a document (as JSON) gives.

    Raises:
        PolicyError: it is not the document of a policy.
    """
    made = _from_document(document)
    if not isinstance(made, Policy):
        raise PolicyError(f"a document of kind {document.get('kind')!r} is not a policy")
    return made


def limits_from_document(document: dict[str, Any]) -> Limits:
    """The limits that a document (as JSON) gives.

    Raises:
        PolicyError: it is not the document of limits.
    """
    made = _from_document(document)
    if not isinstance(made, Limits):
        raise PolicyError(f"a document of kind {document.get('kind')!r} does not give limits")
    return made


def scheduler_from_document(document: dict[str, Any]) -> Scheduler:
    """The scheduler that a document (as JSON) declares.

    Raises:
        PolicyError: it is not the document of a scheduler.
    """
    made = _from_document(document)
    if not isinstance(made, Scheduler):
        raise PolicyError(f"a document of kind {document.get('kind')!r} declares no scheduler")
    return made


def readings_from_document(document: dict[str, Any]) -> ReadingsDocument:
    """The readings that a document (as JSON) defines.

    Raises:
        PolicyError: it is not such a document.
    """
    made = _from_document(document)
    if not isinstance(made, ReadingsDocument):
        raise PolicyError(f"a document of kind {document.get('kind')!r} defines no readings")
    return made


class _Collection:
    """What was read so far, and what was wrong with it."""

    def __init__(self, beside: Beside) -> None:
        self._beside = beside
        self._file_problems: list[tuple[TextFile, FileProblem]] = []
        self._referred: dict[str, list[tuple[TextFile, FileProblem]]] = {}
        self._policies: list[Policy] = []
        self._limits: Limits | None = None
        self._notifications: Notifications | None = None
        self._schedulers: list[Scheduler] = []
        self._readings: list[ReadingsDocument] = []
        self._declared: dict[str, str] = {}
        self._defined: dict[str, str] = {}
        self._places: dict[str, str] = {}
        self._files: dict[str, str] = {}
        self._sources: dict[str, Source] = {}

    def add(self, file: TextFile) -> None:
        """Everything in one file."""
        if file.problem:
            self._file_problems.append((file, FileProblem(TextSpan(), file.problem)))
            return
        trees, file_problems = read(file.text)
        for tree in trees:
            made, wrong = validate(tree, DOCUMENTS, ELSEWHERE)
            file_problems += wrong
            if isinstance(made, Scheduler):
                made = self._complete(made, tree, file)
            if made is not None:
                file_problems += self._keep(made, Source(file.name, file.text, tree))
        file_problems.sort(
            key=lambda file_problem: (file_problem.mark.line, file_problem.mark.column)
        )
        self._file_problems += [(file, file_problem) for file_problem in file_problems]

    def resolve(self) -> None:
        """Give the policies what documents of kind Readings define for them by name."""
        traffic = {name: reading for one in self._readings for name, reading in one.traffic.items()}
        for number, policy in enumerate(self._policies):
            try:
                self._policies[number] = policy.resolve_readings(traffic)
            except FieldError as error:
                source = self._sources[policy.name]
                tree = source.tree
                spec = tree.value["spec"] if isinstance(tree.value, dict) else tree
                message = f"{'.'.join(['spec', *map(str, error.at)])}: {error}"
                hint = near(str(value_at(spec, error.at)), error.choices)
                file = TextFile(source.file, source.file, source.text)
                problem = FileProblem(locate(spec, error.at), message, hint)
                self._file_problems.append((file, problem))

    def file_problems(self) -> list[tuple[str, str, FileProblem]]:
        """All that is wrong; a file that a Scheduler refers to need not be a policy file."""
        own = [
            problem for problem in self._file_problems if problem[0].identity not in self._referred
        ]
        others = [problem for file_problems in self._referred.values() for problem in file_problems]
        return [(file.name, file.text, file_problem) for file, file_problem in (*own, *others)]

    def build(self, where: str) -> PolicySet:
        """The set, which must hold a policy."""
        if not self._policies:
            raise PolicyError(
                f"{where} holds no policy",
                f"a document of one of these kinds is missing: {', '.join(KINDS)}.",
            )
        single = (self._limits, self._notifications)
        named: list[Document] = [
            *self._policies,
            *self._schedulers,
            *self._readings,
            *(document for document in single if document is not None),
        ]
        return PolicySet(
            policies=tuple(self._policies),
            limits=self._limits or Limits(),
            digests={policy.name: digest(policy) for policy in named},
            files=self._files,
            schedulers=tuple(self._schedulers),
            sources=self._sources,
            readings=tuple(self._readings),
            notifications=self._notifications or Notifications(),
        )

    def _keep(self, made: Document, source: Source) -> list[FileProblem]:
        if not isinstance(made, Policy | Limits | Notifications | Scheduler | ReadingsDocument):
            raise TypeError(f"{type(made).__name__} is nothing that a file may hold")
        tree, place = source.tree, f"{source.file}:{source.tree.mark.line}"
        if made.name in self._places:
            there = self._places[made.name]
            message = f"metadata.name: `{made.name}` is the name in {there} too"
            return [FileProblem(_name_mark(tree), message)]
        second = self._second_of_its_kind(made, tree)
        if second:
            return second
        twice = [
            *self._declared_twice(made, tree, place),
            *self._defined_twice(made, tree, source.file),
        ]
        if twice:
            return twice
        self._places[made.name] = place
        self._files[made.name] = source.file
        self._sources[made.name] = source
        if isinstance(made, Limits):
            self._limits = made
        elif isinstance(made, Notifications):
            self._notifications = made
        elif isinstance(made, Scheduler):
            self._schedulers.append(made)
        elif isinstance(made, ReadingsDocument):
            self._readings.append(made)
        else:
            self._policies.append(made)
        return []

    def _second_of_its_kind(self, made: Document, tree: Tree) -> list[FileProblem]:
        """That another document gives what only one may give."""
        first = {"Limits": self._limits, "Notifications": self._notifications}.get(made.kind)
        if first is None:
            return []
        message = f"kind: {made.kind.lower()} are given in {self._places[first.name]} already"
        return [FileProblem(tree.mark, message, "merge the two, or give one of the files alone")]

    def _declared_twice(self, made: Document, tree: Tree, place: str) -> list[FileProblem]:
        """The scheduler that another document declares already; else where this one does."""
        for name in made.names if isinstance(made, Scheduler) else ():
            if name in self._declared:
                there = self._declared[name]
                return [
                    FileProblem(tree.mark, f"scheduler `{name}` is declared in {there} already")
                ]
            self._declared[name] = place
        return []

    def _defined_twice(self, made: Document, tree: Tree, file: str) -> list[FileProblem]:
        """The readings that another document defines already; else where this one does."""
        if not isinstance(made, ReadingsDocument):
            return []
        duplicates = [name for name in made.definitions() if name in self._defined]
        if duplicates:
            there = self._defined[duplicates[0]]
            at = (
                ("readings", duplicates[0])
                if duplicates[0] in made.readings
                else ("presets" if made.presets else "exporters",)
            )
            spec = tree.value["spec"] if isinstance(tree.value, dict) else tree
            message = f"spec.{at[0]}: reading `{duplicates[0]}` is defined in {there} already"
            return [FileProblem(locate(spec, at), message)]
        for name in made.definitions():
            self._defined[name] = f"{file}:{tree.mark.line}"
        return []

    def _complete(self, made: Scheduler, tree: Tree, file: TextFile) -> Scheduler | None:
        """The document with the content of its file, or None where that cannot be used."""
        if made.configFile is None:
            return made
        referred = self._beside(file, made.configFile)
        if referred.problem:
            self._referred[referred.identity] = []
            self._file_problems.append(
                (file, config_file_problem(tree, referred.name, referred.problem))
            )
            return None
        done, file_problems = with_configuration(made, referred.text)
        self._referred[referred.identity] = [
            (referred, file_problem) for file_problem in file_problems
        ]
        return done


def _name_mark(tree: Tree) -> TextSpan:
    metadata = tree.value["metadata"] if isinstance(tree.value, dict) else tree
    return metadata.value["name"].mark if isinstance(metadata.value, dict) else metadata.mark


def _from_document(document: dict[str, Any]) -> Document:
    made, file_problems = validate(tree_of_value(document), DOCUMENTS, ELSEWHERE)
    if made is None:
        raise policy_error([("document", "", file_problem) for file_problem in file_problems], 1)
    return made
