"""What we make of every case of descheduler's: agreed, differing with a reason, or left out."""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.planning.eligibility.eligibility import Eligibility
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.conformity.failed_pods import failures
from rescheduler.policies.conformity.policy import Conformity
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.match import Match
from rescheduler.policies.shared.matching import select_pods
from rescheduler.scheduler.model import SchedulerModel
from tests.oracle import cases, loads
from tests.oracle.cases import Case, Json
from tests.oracle.deviations import (
    ARGUMENTS_LEFT_OUT,
    DEVIATIONS,
    LOOSER,
    NO_LOAD,
    NO_RESULT,
    NO_RULE,
    STRICTER,
)


@dataclass(frozen=True)
class Verdict:
    """What became of one case. group: the plugin or table that it is of.

    found: what they do and what we do, where these differ. reason: why ours is right, or why the
    case is left out; "" is a difference that nobody has given a reason for.
    """

    name: str
    group: str
    result: Literal["agrees", "differs", "left out"]
    found: str = ""
    reason: str = ""


def verdicts(folder: Path) -> list[Verdict]:
    """One for every case in cases.json.gz and fit.json.gz."""
    return [*map(_of_case, _load(folder / "cases.json.gz")), *_of_fits(folder / "fit.json.gz")]


def _load(file: Path) -> list[Json]:
    with gzip.open(file) as stream:
        found: list[Json] = json.load(stream)
    return found


def _of_case(given: Json) -> Verdict:
    if given.get("args"):
        return _of_plugin(cases.read(given))
    point = (given.get("result") or {}).get("point")
    if point == "Filter":
        return _of_filter(given)
    if point == "PreEvictionFilter":
        return _of_place(given)
    return Verdict(given["test"], "DefaultEvictor", "left out", reason=NO_RESULT)


def _of_plugin(case: Case) -> Verdict:
    """Whether as many pods move, or are told to have failed, as they evict."""
    if reason := _left_out(case):
        return Verdict(case.name, case.plugin, "left out", reason=reason)
    snapshot = cases.cluster(case)
    made = plan(
        snapshot,
        policy_set([cases.policy(case)], cases.limits(case), cases.schedulers(case)),
        History(),
        mode="Enforce",
    )
    ours = len(made.moves) + _failed(case, snapshot)
    if ours == case.evictions:
        return Verdict(case.name, case.plugin, "agrees")
    found = f"they {case.evictions}, we {ours}"
    return Verdict(case.name, case.plugin, "differs", found, DEVIATIONS.get(case.name, ""))


def _failed(case: Case, snapshot: Snapshot) -> int:
    """How many pods are told to have failed."""
    policy = cases.policy(case)
    if not isinstance(policy, Conformity) or policy.failed is None:
        return 0
    told = failures(policy.failed, policy.match, snapshot)
    return sum(int(finding.message.split(" ", 1)[0]) for finding in told)


def _left_out(case: Case) -> str:
    """Why the case is not run, or ""."""
    given = {name for name, value in case.arguments.items() if value}
    for name in sorted(given & set(ARGUMENTS_LEFT_OUT)):
        return ARGUMENTS_LEFT_OUT[name]
    if "Invalid_Affinity_type" in case.name:
        return NO_RULE
    thresholds = case.arguments.get("targetThresholds") or case.arguments.get("thresholds")
    if thresholds and not loads.targets(thresholds):
        return NO_LOAD
    return ""


def _of_filter(given: Json) -> Verdict:
    """Whether what they protect is left alone, and what they would evict may move."""
    made, number, case = cluster_and_pod(given)
    evictor = case.begin["evictorArgs"]
    limits = cases.limits(case).model_copy(
        update={
            "minReplicas": max(1, evictor.get("minReplicas") or 1),
            "minPodAge": cases.duration(evictor.get("minPodAge")),
        }
    )
    refusal = Eligibility(made, limits, History()).refusal(number)
    return _compared(given, refusal.code if refusal else "")


def _of_place(given: Json) -> Verdict:
    """Whether the pod may go where they see a place for it, and is looked at."""
    made, number, case = cluster_and_pod(given)
    selector = case.begin["evictorArgs"].get("namespaceLabelSelector")
    looked_at = Match.model_validate({"namespaceSelector": selector} if selector else {"all": True})
    feasible = SchedulerModel(made).feasible(number)
    feasible[made.pod_node[number]] = False
    return _compared(
        given,
        "not selected"
        if not select_pods(looked_at, made)[number]
        else ""
        if feasible.any()
        else "FEA001",
    )


def cluster_and_pod(given: Json) -> tuple[Snapshot, int, Case]:
    """The cluster of the case, with the nodes that its pods name, and the pod in question."""
    case = cases.read(given)
    pods, nodes = case.begin["pods"] or [], case.begin["nodes"] or []
    hosts = {pod["spec"].get("nodeName") for pod in pods} - {None, ""}
    known = {node["metadata"]["name"] for node in nodes}
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    added = [{"metadata": {"name": host}, "status": ready} for host in sorted(hosts - known)]
    made = cases.assembled([*nodes, *added], pods, taken=case.captured)
    name = given["result"]["pod"]
    return made, [pod.metadata.name for pod in made.pods].index(name), case


def _compared(given: Json, refusal: str) -> Verdict:
    theirs = bool(given["result"]["result"])
    if theirs == (not refusal):
        return Verdict(given["test"], "DefaultEvictor", "agrees")
    told = json.dumps(given["begin"]["evictorArgs"])
    reason = STRICTER.get(refusal, "") if theirs else ""
    if not theirs:
        reason = next((why for name, why in LOOSER.items() if name in told), "")
    found = f"they evict, we refuse: {refusal}" if theirs else "they protect, we may move it"
    return Verdict(given["test"], "DefaultEvictor", "differs", found, reason)


def _of_fits(file: Path) -> Iterator[Verdict]:
    """Whether a pod has a place where theirs has one."""
    for given in _load(file):
        made, number = _fitting(given)
        feasible = SchedulerModel(made).feasible(number)
        elsewhere = np.arange(len(made.nodes)) != made.pod_node[number]
        ours = bool((feasible & elsewhere).any())
        theirs = given["result"] if given["kind"] == "PodFitsAnyOtherNode" else given["fits"]
        found = "" if ours == theirs else f"fits: they {theirs}, we {ours}"
        yield Verdict(given["test"], "nodeFit", "differs" if found else "agrees", found)


def _fitting(given: Json) -> tuple[Snapshot, int]:
    """The cluster of the case, and the number of the pod that looks for a place."""
    whole = given["kind"] == "PodFitsAnyOtherNode"
    nodes = given["nodes"] if whole else [given["node"]]
    held = given["podsOnNodes"].values() if whole else [given["podsOnNode"] or []]
    looking = given["pod"]
    if not whole:
        looking = {**looking, "spec": {**looking["spec"], "nodeName": ""}}
    name = looking["metadata"].get("name")
    others = [pod for pods in held for pod in pods or () if pod["metadata"].get("name") != name]
    return cases.assembled(nodes, [looking, *others]), 0
