"""Whether enough of what a policy selects has a value, and who has none, by name and cause."""

from collections.abc import Iterable, Iterator

import numpy as np

from rescheduler.model.cluster.readings import (
    CONTRADICTIONS,
    BoolArray,
    Reading,
    ReadingRequest,
)
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.finding import Finding
from rescheduler.model.problem import Problem
from rescheduler.model.wording import count_text
from rescheduler.policies.base import Policy
from rescheduler.policies.match import Match
from rescheduler.policies.shared.matching import node_match, select_nodes, select_pods

_SHOWN = 5
"""Names that are said of one cause."""


def too_few(
    snapshot: Snapshot,
    reading: Reading,
    has_value: BoolArray,
    selected: BoolArray,
    having: str = "",
) -> Problem | None:
    """Why too few of the selected subjects have a value, with their names by cause; or None.

    One whose value is contradicted has none, and does not count: else anybody who is scraped could
    silence the policy for all. having: what the others have, a fresh value unless given.
    """
    request = reading.request
    wanted = reading.expected & selected
    counts = wanted.copy()
    for group in reading.missing:
        if group.code in CONTRADICTIONS:
            counts[list(group.subjects)] = False
    present, count = int((has_value & counts).sum()), int(counts.sum())
    if count or not wanted.any():
        if present >= request.min_coverage * count:
            return None
        text = f"{request.name} has {having or 'a fresh value'} for {present} of "
        text += f"{count_text(count, request.subject)} that the policy selects, "
        text += f"less than {request.min_coverage:.0%}"
    else:
        text = f"{request.name}: the values of all that the policy selects are contradicted"
    code, names = _absent(snapshot, reading, wanted & ~has_value)
    return Problem(code, f"{text}. {names}" if names else text)


def _absent(snapshot: Snapshot, reading: Reading, absent: BoolArray) -> tuple[str, str]:
    """The commonest code of those without a value, and their names by cause."""
    subjects = snapshot.nodes if reading.request.subject == "node" else snapshot.pods
    causes: list[tuple[int, str, str, list[int]]] = []
    other_subjects = absent.copy()
    for group in reading.missing:
        such = [subject for subject in group.subjects if absent[subject]]
        other_subjects[such] = False
        if such:
            causes.append((len(such), group.code, group.cause, such))
    others = np.flatnonzero(other_subjects).tolist()
    if others:
        causes.append(
            (len(others), reading.problem.code if reading.problem else "RDG003", "", others)
        )
    if not causes:
        return "RDG003", ""
    said = []
    for count, _, cause, such in sorted(causes, key=lambda group: -group[0]):
        first = such[:_SHOWN]
        names = ", ".join(_name(subjects[subject]) for subject in first)
        more = f" and {count - len(first)} more" if count > len(first) else ""
        said.append(f"{names}{more}" + (f" ({cause})" if cause else ""))
    return max(causes, key=lambda group: (group[0], group[1]))[1], f"No value: {'; '.join(said)}"


def _name(subject: object) -> str:
    key = getattr(subject, "key", None)
    return str(key if key is not None else subject.metadata.name)  # type: ignore[attr-defined]


def selected_by(
    policies: Iterable[Policy], request: ReadingRequest, snapshot: Snapshot
) -> BoolArray:
    """(subjects,) whom any of these policies looks at with the reading."""
    of_nodes = request.subject == "node"
    chosen = np.zeros(len(snapshot.nodes if of_nodes else snapshot.pods), dtype=np.bool_)
    for policy in policies:
        nodes, match = node_match(policy), getattr(policy, "match", None)
        there = np.ones(len(snapshot.nodes) + 1, dtype=np.bool_)
        if nodes is not None:
            there[:-1] = select_nodes(nodes, snapshot)
        if of_nodes:
            chosen |= there[:-1]
        else:
            of_match = select_pods(match, snapshot) if isinstance(match, Match) else True
            chosen |= there[snapshot.pod_node] & of_match
    return chosen


def contradictions(policy: Policy, snapshot: Snapshot) -> Iterator[Finding]:
    """A finding for each node or pod whose value a policy needs and that is contradicted.

    They cost nothing: what is not known is neither good nor bad.
    """
    for request in policy.requests():
        reading = snapshot.readings.find(request)
        if reading is None or request.subject == "pair":
            continue
        subjects = snapshot.nodes if request.subject == "node" else snapshot.pods
        chosen = selected_by([policy], request, snapshot)
        if chosen.shape != reading.expected.shape:
            continue
        for group in reading.missing:
            for subject, detail in zip(group.subjects, group.details, strict=False):
                if chosen[subject]:
                    what = f"{request.subject} {_name(subjects[subject])}"
                    text = f"{request.name} is not known: {detail}"
                    yield Finding(group.code, what, 0.0, text, aspect=request.name)


def check_coverage(
    reading: Reading, policies: Iterable[Policy], snapshot: Snapshot
) -> tuple[BoolArray, Problem | None]:
    """Who of those that the policies look at ought to have a value, and the reading's problem.

    That too few of all have a value is no problem where enough of those do.
    """
    chosen = selected_by(policies, reading.request, snapshot)
    problem = reading.problem
    if chosen.shape != reading.expected.shape:  # of another cluster: anybody who uses it says so
        return reading.expected, problem
    if reading.low_coverage:
        problem = too_few(snapshot, reading, ~np.isnan(reading.values), chosen)
    return reading.expected & chosen, problem
