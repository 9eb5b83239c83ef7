"""Spread counts as the scheduler's plugin does, which is itself held against kube-scheduler."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rescheduler.kube.objects import Pod, TopologySpreadConstraint
from rescheduler.model.cluster.readings import BoolArray
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.base import NodeMatch
from rescheduler.policies.match import Match
from rescheduler.policies.spread.domain_counts import DomainCounts
from rescheduler.policies.spread.spread_counts import from_pods
from rescheduler.scheduler.config.default_profile import default_profile
from rescheduler.scheduler.handle import Handle
from rescheduler.scheduler.occupancy import Occupancy
from rescheduler.scheduler.plugin import Replacement
from rescheduler.scheduler.plugins.default_plugins import DefaultPlugins
from rescheduler.scheduler.plugins.node_affinity import NodeAffinity
from rescheduler.scheduler.plugins.node_unschedulable import NodeUnschedulable
from rescheduler.scheduler.plugins.taint_toleration import TaintToleration
from rescheduler.scheduler.plugins.topology_spread import Constraint, TopologySpread
from tests.cluster import node, pod, snapshot
from tests.draws import tries

KEYS = ("topology.kubernetes.io/zone", "rack", "kubernetes.io/hostname")
STATES = {
    "cordoned": "node.kubernetes.io/unschedulable",
    "notready": "node.kubernetes.io/not-ready",
    "tainted": "kept",
}
Counted = tuple[str, int, bool, bool, tuple[tuple[str, int], ...]]
"""Key, maxSkew, hard, whether the minimum is 0, and the pods of each domain that counts."""

policies = st.sampled_from([None, "Honor", "Ignore"])


@st.composite
def constraints(draw: st.DrawFn) -> dict[str, Any]:
    hard = draw(st.booleans())
    made: dict[str, Any] = {
        "maxSkew": draw(st.integers(1, 2)),
        "topologyKey": draw(st.sampled_from(KEYS)),
        "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
        "labelSelector": draw(
            st.sampled_from(
                [
                    {"matchLabels": {"app": "web"}},
                    {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
                    {},
                    None,
                ]
            )
        ),
        "matchLabelKeys": draw(st.sampled_from([None, ["part"], ["absent"]])),
        "nodeAffinityPolicy": draw(policies),
        "nodeTaintsPolicy": draw(policies),
    }
    if hard:
        made["minDomains"] = draw(st.sampled_from([None, 2, 4]))
    return made


@st.composite
def specs(draw: st.DrawFn) -> dict[str, Any]:
    made: dict[str, Any] = {
        "topologySpreadConstraints": draw(st.lists(constraints(), min_size=1, max_size=3))
    }
    if draw(st.booleans()):
        made["nodeSelector"] = {"pool": "x"}
    keys = [*STATES.values(), ""]
    if draw(st.booleans()):
        made["tolerations"] = [{"key": draw(st.sampled_from(keys)), "operator": "Exists"}]
    return made


@st.composite
def clusters(draw: st.DrawFn) -> Snapshot:
    nodes = []
    for number in range(draw(st.integers(1, 6))):
        labels = {"pool": draw(st.sampled_from("xy"))}
        if draw(st.booleans()):
            labels["rack"] = draw(st.sampled_from("rs"))
        state = draw(st.sampled_from(["", "", *STATES]))
        nodes.append(
            node(
                f"n{number}",
                zone=draw(st.sampled_from(["a", "b", "c", None])),
                labels=labels,
                taints=[{"key": STATES[state], "effect": "NoSchedule"}] if state else (),
                unschedulable=state == "cordoned",
            )
        )
    templates = draw(st.lists(specs(), min_size=1, max_size=3))
    pods = []
    for number in range(draw(st.integers(1, 10))):
        made = pod(
            f"p{number}",
            draw(st.sampled_from(nodes)).metadata.name,
            namespace=draw(st.sampled_from(["default", "default", "other"])),
            labels={"app": draw(st.sampled_from(["web", "api"])), "part": str(number % 2)},
            **draw(st.sampled_from([*templates, {}])),
        )
        if draw(st.integers(0, 5)) == 0:
            made.metadata.deletionTimestamp = made.metadata.creationTimestamp
        pods.append(made)
    return snapshot(nodes, pods)


class Scheduler:
    """The plugins of the scheduler model on one snapshot."""

    def __init__(self, before: Snapshot) -> None:
        self._occupancy = Occupancy(before.nodes, before.pods, before.pod_node, pod_level=True)
        usual = default_profile("v1.36.3")
        made = DefaultPlugins(Handle(before, self._occupancy), usual).plugins_of(usual)
        by_nodes = (NodeUnschedulable, TaintToleration, NodeAffinity)
        self._filtering = [plugin for plugin in made if isinstance(plugin, by_nodes)]
        (self._spread,) = (plugin for plugin in made if isinstance(plugin, TopologySpread))

    def counted(self, pod: Pod) -> set[Counted]:
        """What the plugin counts for those of the pod's constraints that select the pod."""
        incoming = Replacement(
            pod.metadata.namespace,
            pod.metadata.labels or {},
            pod.spec,
            None,
            self._occupancy.replacement_requests(pod),
        )
        declared = pod.spec.topologySpreadConstraints or []
        own = {hard: [one for one in declared if _hard(one) == hard] for hard in (True, False)}
        bound = {hard: self._spread._compile(incoming, own[hard], strict=True) for hard in own}
        passing = np.logical_and.reduce(
            [one.column.present for one in (*bound[True], *bound[False])]
            + [found() for one in self._filtering if (found := one.filter(incoming))]
        )
        return {
            self._counted(
                one.topologyKey, constraint, hard, constraint.eligible if hard else passing
            )
            for hard, compiled in bound.items()
            for one, constraint in zip(own[hard], compiled, strict=True)
            # A selector that is empty counts nobody: nothing could be uneven.
            if constraint.self_match and len(constraint.pods)
        }

    def _counted(self, key: str, constraint: Constraint, hard: bool, nodes: BoolArray) -> Counted:
        """nodes: those whose domains count; of ScheduleAnyway only where the pod could go."""
        counts, names = self._spread._counts(constraint), list(constraint.column.values)
        codes = np.unique(constraint.column.codes[nodes]).tolist()
        found = tuple(sorted((names[code], int(counts[code])) for code in codes))
        floored = hard and bool(found) and not constraint.minimum
        return key, constraint.max_skew, hard, floored, found


def _hard(constraint: TopologySpreadConstraint) -> bool:
    return constraint.whenUnsatisfiable == "DoNotSchedule"


def counted(domain_counts: DomainCounts) -> Counted:
    """What the policy counts."""
    names = domain_counts.eligible_domains.names
    return (
        domain_counts.eligible_domains.key,
        domain_counts.rule.allowed,
        "ScheduleAnyway" not in domain_counts.aspect,
        domain_counts.rule.floored and bool(names),
        tuple(sorted((name, domain_counts.places[place]) for place, name in enumerate(names))),
    )


@settings(max_examples=tries(500))
@given(clusters())
def test_domains_and_pods_count_as_for_kube_scheduler(before: Snapshot) -> None:
    made = from_pods(Match(all=True), NodeMatch(all=True), before)
    scheduler = Scheduler(before)
    staying = [pod for pod in before.pods if pod.metadata.deletionTimestamp is None]
    expected = set[Counted]().union(*(scheduler.counted(pod) for pod in staying))
    assert {counted(count) for count in made.spread_counts} == expected
