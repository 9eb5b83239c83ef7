"""Whose replacement may be steered, and which nodes can be named."""

from collections.abc import Callable
from typing import Any

import msgspec

from rescheduler.kube.controllers import PodTemplate
from rescheduler.kube.objects import Affinity, PodSpec
from rescheduler.planning.eligibility.steerable import Steerable
from tests.cases import every
from tests.cluster import node, snapshot
from tests.planning.cases import Case, settled

Change = Callable[[Case], Any]
HOSTNAME = "kubernetes.io/hostname"


def required(*terms: dict[str, Any]) -> Change:
    def do(case: Case) -> None:
        asked = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        case.pod.spec = msgspec.structs.replace(
            case.pod.spec, affinity=msgspec.convert({"nodeAffinity": asked}, Affinity)
        )

    return do


def expression(operator: str, key: str = HOSTNAME) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": ["n1", "n2"]}]}


def selects(key: str) -> Change:
    def do(case: Case) -> None:
        case.pod.spec = msgspec.structs.replace(case.pod.spec, nodeSelector={key: "n1"})

    return do


def queued(case: Case) -> None:
    labels = case.pod.metadata.labels or {}
    case.pod.metadata.labels = {**labels, "kueue.x-k8s.io/queue-name": "batch"}


def orphan(case: Case) -> None:
    case.pod.metadata.ownerReferences = None


def unknown_controller(case: Case) -> None:
    case.snapshot.controllers.clear()


def template_with_a_node(case: Case) -> None:
    for controller in case.snapshot.controllers:
        controller.spec.template = PodTemplate(spec=PodSpec(nodeName="n1"))


def queued_above(case: Case) -> None:
    case.top.metadata.labels = {"kueue.x-k8s.io/queue-name": "batch"}


def claim(nodes: list[str]) -> Change:
    return lambda case: case.claim(nodes=nodes)


def unbound(case: Case) -> None:
    case.claim(nodes=["n1"])
    case.snapshot.volumes.clear()


@every(
    [
        (lambda _: None, None),
        (orphan, "ELG001"),
        (unknown_controller, "ELG031"),
        (template_with_a_node, "ELG031"),
        (selects(HOSTNAME), "ELG031"),
        (selects("zone"), None),
        (required(expression("In")), "ELG031"),
        (required(expression("In", "zone"), expression("In")), "ELG031"),
        (required(expression("In", "zone")), None),
        (required(expression("NotIn")), None),
        (
            required(
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
            ),
            "ELG031",
        ),
        (claim(["n1", "n2"]), "ELG031"),
        (unbound, "ELG031"),
        (queued, "ELG032"),
        (queued_above, "ELG032"),
    ]
)
def test_who_is_steered(change: Change, code: str | None) -> None:
    case = settled()
    change(case)
    found = Steerable(case.snapshot).problem(0)
    assert (found.code if found else None) == code


def test_a_gang_is_steered_whole_or_not_at_all() -> None:
    case = settled()
    case.annotate(**{"scheduling.k8s.io/group-name": "ring"})
    found = Steerable(case.snapshot).problem(0)
    assert found is not None
    assert found.code == "ELG033"
    assert "ring" in found.message
    assert Steerable(case.snapshot).problem(0, whole=True) is None


def test_a_node_is_named_by_a_label_that_no_other_has() -> None:
    nodes = [
        node("n1", labels={HOSTNAME: "one"}),
        node("n2", labels={HOSTNAME: "same"}),
        node("n3", labels={HOSTNAME: "same"}),
        node("n4", labels={HOSTNAME: ""}),
        node("n5", labels={}),
    ]
    for node_object in nodes[4:]:
        (node_object.metadata.labels or {}).pop(HOSTNAME, None)
    assert Steerable(snapshot(nodes, [])).nodes.tolist() == [True, False, False, False, False]
