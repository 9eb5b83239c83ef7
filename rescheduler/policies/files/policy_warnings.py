"""What can be used in a policy and was probably not meant, each with its place."""

from collections.abc import Iterator
from dataclasses import dataclass

from rescheduler.documents.field_problems import FieldPath, FieldWarning
from rescheduler.documents.fields import Strict
from rescheduler.documents.file_problems import FileProblem, TextSpan
from rescheduler.documents.validation import locate, near, value_at
from rescheduler.model.errors import ProblemLocation
from rescheduler.model.wording import verb_for
from rescheduler.policies.base import Policy
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.policies.limits import Limits
from rescheduler.policies.match import NO_OWNER, Match
from rescheduler.scheduler.config.predictability import unpredictable
from rescheduler.scheduler.config.scheduler import Scheduler
from rescheduler.steering.means_registry import MEANS

_STAYING = frozenset({"DaemonSet", "Node", NO_OWNER})
"""What runs pods that come and go with their node, or that nobody makes again."""


@dataclass(frozen=True)
class PlacedWarning:
    """A warning with its place. text: of the file; file: "" where the policy is from none."""

    name: str
    file_problem: FileProblem
    file: str = ""
    text: str = ""

    def report(self) -> str:
        """The warning as people read it."""
        if not self.file:
            return self.file_problem.without_place(self.name, "warning")
        return self.file_problem.report(self.file, self.text, "warning")

    def place(self) -> ProblemLocation:
        """The warning as machines read it."""
        return self.file_problem.place(self.file)


def warnings(policies: PolicySet) -> list[PlacedWarning]:
    """The warnings of each document alone, and beside the Limits; by their places."""
    documents: tuple[Policy | Scheduler | Limits, ...]
    documents = (*policies.policies, *policies.schedulers, policies.limits)
    placed_warnings = [
        _place_warning(policies, made, at, warning)
        for made in documents
        for at, warning in _nested_warnings(made, ())
    ]
    placed_warnings += [
        _place_warning(policies, policy, warning.at, warning)
        for policy in policies.policies
        for warning in (
            *_protection_warnings(policy, policies.limits),
            *_unmovable_warnings(policy),
            *_gang_warnings(policy, policies.limits),
            *_steering_warnings(policy, policies.limits),
        )
    ]
    placed_warnings += [
        _place_warning(policies, scheduler, warning.at, warning)
        for scheduler in policies.schedulers
        for warning in unpredictable(scheduler)
    ]
    return sorted(
        placed_warnings,
        key=lambda warning: (
            warning.file,
            warning.file_problem.mark.line,
            warning.file_problem.mark.column,
        ),
    )


def _nested_warnings(made: Strict, at: FieldPath) -> Iterator[tuple[FieldPath, FieldWarning]]:
    """The warnings of a model and of all that it holds, and where each belongs."""
    own = _of_match(made) if isinstance(made, Match) else made.warnings()
    for warning in own:
        yield (*at, *warning.at), warning
    for name in type(made).model_fields:
        value = getattr(made, name)
        held = enumerate(value) if isinstance(value, list) else [(None, value)]
        for number, element in held:
            if isinstance(element, Strict):
                yield from _nested_warnings(
                    element, (*at, name) if number is None else (*at, name, number)
                )


def _of_match(match: Match) -> Iterator[FieldWarning]:
    """What a match excludes that it does not match, or all that it matches."""
    namespaces = tuple(match.namespaces or ())
    for at, exclude in match.excludes:
        for number, name in enumerate((exclude.namespaces or ()) if namespaces else ()):
            if name not in namespaces:
                message = f"`{name}` is not matched in the first place"
                yield FieldWarning((*at, "namespaces", number), message, choices=namespaces)
        if match.is_covered_by(exclude):
            name = exclude.narrowing_fields[0]
            what = "every namespace" if name == "namespaces" else "all"
            message = f"{what} that is matched is excluded, so nothing is left"
            yield FieldWarning((*at, name), message)


def _matched_namespaces(match: Match) -> list[str]:
    """The namespaces that a match names, without those that it excludes as a whole."""
    gone = {
        namespace
        for _, exclude in match.excludes
        if exclude.narrowing_fields == ["namespaces"]
        for namespace in exclude.namespaces or ()
    }
    return [namespace for namespace in match.namespaces or [] if namespace not in gone]


def _protection_warnings(policy: Policy, limits: Limits) -> Iterator[FieldWarning]:
    """Whether only namespaces are matched from which nothing is ever moved."""
    match = getattr(policy, "match", None)
    namespaces = _matched_namespaces(match) if isinstance(match, Match) else []
    if namespaces and all(map(limits.protects, namespaces)):
        which = f"{', '.join(namespaces)} {verb_for(len(namespaces), 'is', 'are')}"
        message = f"{which} protected by the Limits, so what is found there is shown and stays"
        yield FieldWarning(("match", "namespaces"), message)


def _unmovable_warnings(policy: Policy) -> Iterator[FieldWarning]:
    """Whether only pods are matched that nothing would make again on another node."""
    match = getattr(policy, "match", None)
    kinds = match.ownerKinds if isinstance(match, Match) else None
    if kinds and set(kinds) <= _STAYING:
        message = f"pods of kind {' or '.join(kinds)} are never moved: what is found there stays"
        if kinds == [NO_OWNER]:
            message = "pods that nothing runs are never moved: what is found there stays"
        yield FieldWarning(("match", "ownerKinds"), message)


def _gang_warnings(policy: Policy, limits: Limits) -> Iterator[FieldWarning]:
    """Whether a policy groups by gangs, and the Limits let no pod of a gang be moved."""
    if limits.gangs == "Spare":
        for at in policy.grouped_by_gang():
            message = (
                "findings on gangs are reported and not acted on: the Limits have gangs: Spare"
            )
            yield FieldWarning(at, message, hint="set `gangs: Surplus` or `gangs: Whole` there.")


def _steering_warnings(policy: Policy, limits: Limits) -> Iterator[FieldWarning]:
    """Whether a policy moves only what is steered, and neither it nor the Limits steer."""
    if policy.onlyIfSteered and (policy.steering or limits.steering).by == "None":
        message = "nothing is moved for this policy: `steering` of the Limits is by None"
        if policy.steering is not None:
            message = "nothing is moved for this policy: its own `steering` is by None"
        first = next(iter(MEANS))
        hint = f"set `steering: {{by: {first}}}` or another, or leave `onlyIfSteered` out."
        yield FieldWarning(("onlyIfSteered",), message, hint=hint)


def _place_warning(
    policies: PolicySet, made: Policy | Scheduler | Limits, at: FieldPath, warning: FieldWarning
) -> PlacedWarning:
    name = f"{made.kind} {made.name}"
    source = policies.sources.get(made.name)
    if source is None or not isinstance(source.tree.value, dict):
        message = ".".join(["spec", *map(str, at)]) + f": {warning.message}"
        return PlacedWarning(name, FileProblem(TextSpan(), message, warning.hint))
    spec = source.tree.value["spec"]
    if at[:1] == ("configuration",) and "configuration" not in spec.keys:
        at = ("configFile",)  # the configuration was read from there
    message = ".".join(["spec", *map(str, at)]) + f": {warning.message}"
    hint = warning.hint or near(str(value_at(spec, at)), warning.choices)
    file_problem = FileProblem(locate(spec, at), message, hint)
    return PlacedWarning(name, file_problem, source.file, source.text)
