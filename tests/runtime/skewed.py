"""A small skewed cluster: all of one Deployment's pods sit in one zone."""

from collections.abc import Callable
from dataclasses import replace

import yaml

from rescheduler.acting.actor import Actor
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import Outcome
from rescheduler.model.problem import Problem
from rescheduler.policies.base import Policy
from rescheduler.policies.files.policy_set import PolicySet, policy_from_document, policy_set
from rescheduler.runtime.cycle import Parts, run_cycle
from tests.cluster import deployment, node, pod, snapshot
from tests.fakes.stage import Process, Stage

SPREAD = """
apiVersion: rescheduler.io/v1alpha1
kind: Spread
metadata: {name: zones}
spec:
  match: {namespaces: [default]}
  topologyKey: topology.kubernetes.io/zone
  maxSkew: 1
"""

HOT = """
apiVersion: rescheduler.io/v1alpha1
kind: Utilization
metadata: {name: hot}
spec:
  match: {all: true}
  nodes: {all: true}
  targets: {cpu: {high: 50%}}
"""


def skewed(moved: int = 0) -> Snapshot:
    """Four pods of one Deployment, all in zone a but for those that moved already."""
    top, middle = deployment("web", replicas=4)
    nodes = [node("n1", zone="a"), node("n2", zone="b"), node("n3", zone="b")]
    places = ["n1"] * (4 - moved) + ["n2", "n3"][:moved]
    pods = [
        pod(f"web-{number}", place, owner=middle, labels={"app": "web"})
        for number, place in enumerate(places)
    ]
    return snapshot(nodes, pods, controllers=[top, middle])


def spread() -> Policy:
    """The policy in SPREAD."""
    return policy_from_document(yaml.safe_load(SPREAD))


def hot() -> Policy:
    """The policy in HOT, whose readings are not in the cluster."""
    return policy_from_document(yaml.safe_load(HOT))


def parts(
    policies: Callable[[], PolicySet] = lambda: policy_set([spread()]),
    observe: Callable[..., Snapshot] = lambda *_: skewed(),
    recall: Callable[[], tuple[History, list[Problem]]] = lambda: (History(), []),
) -> Parts:
    """The parts of an Audit cycle on that cluster."""
    return Parts(policies=policies, observe=observe, recall=recall)


def enforced(
    stage: Stage,
    policies: Callable[[], PolicySet],
    observe: Callable[..., Snapshot],
) -> Outcome:
    """What became of one Enforce cycle on the stage, whose cluster is observed so."""
    process = Process(stage, "one")

    def actor(used: PolicySet) -> Actor:
        return replace(process.actor(), observe=lambda: observe(()), limits=used.limits)

    outcome = run_cycle(replace(parts(policies=policies, observe=observe), actor=actor))
    assert isinstance(outcome, Outcome)
    return outcome
