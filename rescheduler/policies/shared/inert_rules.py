"""Rules of a policy that can never act: on no cluster, or on this one as it is."""

from collections.abc import Iterator

from rescheduler.documents.field_problems import FieldPath
from rescheduler.documents.fields import Strict
from rescheduler.kube.pods.pod_state import pod_priority
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.base import NodeMatch, Policy
from rescheduler.policies.match import Match
from rescheduler.policies.shared.absent_names import why_never, why_no_node, why_no_pod
from rescheduler.policies.shared.matching import select_nodes, select_pods


def inert(policy: Policy, snapshot: Snapshot) -> Iterator[str]:
    """Each rule that can never act, by its field, and why."""
    yield from policy.unreachable()
    yield from _selecting_nothing(policy, (), snapshot)
    yield from policy.absent(snapshot)
    yield from _too_important(policy, snapshot)


def _selecting_nothing(made: Strict, at: FieldPath, snapshot: Snapshot) -> Iterator[str]:
    """The matches below a model that select nothing."""
    for name in type(made).model_fields:
        value = getattr(made, name)
        held = enumerate(value) if isinstance(value, list) else [(None, value)]
        for number, element in held:
            place: FieldPath = (*at, name) if number is None else (*at, name, number)
            field = ".".join(map(str, place))
            if isinstance(element, Match):
                if snapshot.pods and not select_pods(element, snapshot).any():
                    yield why_no_pod(field, element, snapshot)
                elif snapshot.pods:
                    yield from _leaving_nothing_out(element, field, snapshot)
            elif isinstance(element, NodeMatch):
                if snapshot.nodes and not select_nodes(element, snapshot).any():
                    yield why_no_node(field, element, snapshot)
            elif isinstance(element, Strict):
                yield from _selecting_nothing(element, place, snapshot)


def _leaving_nothing_out(match: Match, field: str, snapshot: Snapshot) -> Iterator[str]:
    """The excludes of a match that select nothing."""
    for path, exclude in match.excludes:
        said = why_never(".".join([field, *map(str, path)]), exclude, snapshot)
        if said:
            yield f"{said}; so it leaves nothing out"


def _too_important(policy: Policy, snapshot: Snapshot) -> Iterator[str]:
    """Whether no pod that the policy selects has a priority that it may move."""
    match = getattr(policy, "match", None)
    if policy.maxPriority is None or not isinstance(match, Match):
        return
    representatives, of_pod = snapshot.pod_template
    chosen = set(of_pod[select_pods(match, snapshot)].tolist())
    priorities = [
        pod_priority(snapshot.pods[index].spec)
        for place, index in enumerate(representatives.tolist())
        if place in chosen
    ]
    if priorities and min(priorities) > policy.maxPriority:
        yield (
            f"maxPriority: every pod that it selects has a priority above {policy.maxPriority}; "
            f"the lowest is {min(priorities)}"
        )
