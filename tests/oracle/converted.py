"""descheduler's own test cases, converted as its users would: a policy file in, a plan out."""

import json
from dataclasses import dataclass, replace

from rescheduler.documents.text_files import TextFile
from rescheduler.kube.pods.pod_state import pod_priority
from rescheduler.model.cluster.readings import Readings
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.errors import PolicyError
from rescheduler.model.moves.history import History
from rescheduler.planning.eligibility.eligibility import Eligibility
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.conversion.source_forms import convert
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.policies.limits import Limits
from rescheduler.policies.match import Match
from rescheduler.policies.shared.matching import select_pods
from tests.oracle import cases, loads
from tests.oracle.cases import Case, Json
from tests.oracle.verdicts import cluster_and_pod

_LIMITS = {
    "maxPodsToEvictPerNode": "maxNoOfPodsToEvictPerNode",
    "maxPodsToEvictPerNamespace": "maxNoOfPodsToEvictPerNamespace",
    "maxPodsToEvictTotal": "maxNoOfPodsToEvictTotal",
}
_BALANCING = ("NodeUtilization", "Duplicates", "TopologySpreadConstraint")


@dataclass(frozen=True)
class Outcome:
    """What became of a case. codes: why other pods stay. refused: why nothing was converted."""

    case: Case
    moves: int = 0
    codes: frozenset[str] = frozenset()
    refused: str = ""


def policy_file(case: Case) -> Json:
    """The DeschedulerPolicy that runs the case's plugin; RemoveDuplicates where it has none."""
    if not case.plugin:
        case = replace(case, plugin="RemoveDuplicates")
    point = "balance" if any(word in case.plugin for word in _BALANCING) else "deschedule"
    given = case.begin.get("limits") or {}
    limits = {ours: given[name] for name, ours in _LIMITS.items() if given.get(name) is not None}
    evictor = {key: value for key, value in case.begin["evictorArgs"].items() if value}
    configs = [{"name": "DefaultEvictor", "args": evictor}]
    configs.append({"name": case.plugin, "args": case.arguments})
    profile = {
        "name": "case",
        "pluginConfig": configs,
        "plugins": {point: {"enabled": [case.plugin]}},
    }
    head = {"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy"}
    return {**head, **limits, "profiles": [profile]}


def outcome_of(case: Case, limits: Limits | None = None) -> Outcome:
    """What converting and planning makes of the case. limits: instead of the converted ones."""
    try:
        policies = convert(TextFile("case.yaml", "case", json.dumps(policy_file(case)))).policies
    except PolicyError as error:
        return Outcome(case, refused=str(error))
    policies = replace(
        policies, schedulers=cases.schedulers(case), limits=limits or policies.limits
    )
    made = plan(_measured(case, policies), policies, History(), mode="Enforce")
    codes = {refusal.code for refusal in made.refused} | {guard.code for guard in made.guards}
    codes |= {policy.problem.code for policy in made.policies if policy.problem is not None}
    codes |= {finding.code for policy in made.policies for finding in policy.findings}
    codes |= {policy.mode for policy in made.policies} & {"Audit"}
    moves = [move for move in made.moves if move.mode == "Enforce"]
    return Outcome(case, len(moves), frozenset(codes))


def _measured(case: Case, policies: PolicySet) -> Snapshot:
    """The cluster with the readings of all policies."""
    made = cases.unmeasured(case)
    entries = {
        (reading.request.name, reading.request.window): reading
        for policy in policies.policies
        for reading in loads.measured(made, case.told, policy).readings.entries
    }
    return replace(made, readings=Readings(tuple(entries.values())))


def evictable(given: Json) -> bool:
    """Whether the pod of a case of DefaultEvictor may be moved by what the case becomes."""
    snapshot, number, case = cluster_and_pod(given)
    policies = convert(TextFile("case.yaml", "case", json.dumps(policy_file(case)))).policies
    [policy] = policies.policies
    highest = policy.maxPriority
    spec, match = snapshot.pods[number].spec, getattr(policy, "match", None)
    return (
        isinstance(match, Match)
        and bool(select_pods(match, snapshot)[number])
        and (highest is None or pod_priority(spec) <= highest)
        and Eligibility(snapshot, policies.limits, History()).refusal(number) is None
    )
