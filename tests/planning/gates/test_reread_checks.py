"""What a pod hangs on, read again, is judged by the rules of planning."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest

from rescheduler.kube.controllers import PodTemplate
from rescheduler.kube.objects import Volume, VolumeClaim
from rescheduler.kube.storage import PersistentVolume, PersistentVolumeClaim
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import LandingShare, OwnerRef, PlannedMove, PodRef
from rescheduler.model.problem import Problem
from rescheduler.planning.gates.context import PodContext
from rescheduler.planning.gates.reread_checks import refuse_changed, refuse_released
from rescheduler.policies.limits import Limits
from tests.cluster import controller, deployment, like, node, pod, snapshot

CLAIM = {
    "metadata": {"name": "data", "namespace": "default"},
    "spec": {"accessModes": ["ReadWriteMany"], "volumeName": "shared"},
}


def before() -> Snapshot:
    """A Deployment of two pods on two of three nodes, with one volume that all nodes can reach."""
    top, made = deployment("web", replicas=2)
    pods = [pod(f"web-{n}", f"n{n}", owner=made, labels={"app": "web"}) for n in (1, 2)]
    for pod_object in pods:
        claim = VolumeClaim(claimName="data")
        pod_object.spec.volumes = [Volume(name="data", persistentVolumeClaim=claim)]
    return snapshot(
        [node("n1"), node("n2"), node("n3")],
        pods,
        controllers=[top, made],
        claims=[msgspec.convert(CLAIM, PersistentVolumeClaim)],
        volumes=[msgspec.convert({"metadata": {"name": "shared"}}, PersistentVolume)],
    )


def move(around: Snapshot) -> PlannedMove:
    owner = around.workloads[0]
    return PlannedMove(
        pod=PodRef(namespace="default", name="web-1", uid=around.pods[0].metadata.uid),
        owner=OwnerRef(
            kind=owner.kind,
            name=owner.name,
            uid=owner.uid,
            controllerKind=owner.controller_kind,
            controllerUid=owner.controller_uid,
        ),
        source="n1",
        landing=[LandingShare(node="n3", probability=1.0)],
        returns=0.0,
        unschedulable=0.0,
        gain=1.0,
        disruption=1.0,
        batch=1,
    )


def context(earlier: Snapshot, now: Snapshot) -> PodContext:
    return PodContext(
        move=move(earlier),
        before=earlier,
        read_result=now,
        limits=Limits(),
        history=History(),
        plan="p",
        at=earlier.taken,
    )


def verdict(now: Snapshot) -> str:
    earlier = before()
    refusal = refuse_changed(context(earlier, now))
    return refusal.code if refusal else ""


def test_a_volume_that_other_nodes_can_reach_ties_a_pod_to_none() -> None:
    # Only its own node is read again: the others are still there.
    assert verdict(replace(before(), nodes=[node("n1")], claims=[], volumes=[])) == ""


def test_a_node_that_is_gone_is_not_the_one_of_before() -> None:
    assert verdict(replace(before(), nodes=[])) == "DRF005"


@pytest.mark.parametrize("labels", [{}, {"ray.io/cluster": "x"}])
def test_a_pod_whose_controller_is_gone_stays_also_in_a_gang(labels: dict[str, str]) -> None:
    """Nobody would create it again; of a gang's other pods the controllers are those of before."""
    owner = controller("StatefulSet", "web", replicas=2)
    own = {"app": "web", **labels}
    pods = [pod(f"web-{n}", f"n{n}", owner=owner, labels=own) for n in (1, 2)]
    earlier = snapshot([node("n1"), node("n2"), node("n3")], pods, controllers=[owner])
    limits = Limits.model_validate({"gangs": "Whole"})
    found = replace(context(earlier, replace(earlier, controllers=[])), limits=limits)
    group = frozenset(pod.metadata.uid for pod in pods)
    refusals = (
        refuse_released(found),
        refuse_changed(replace(found, group=group)),
    )
    assert [refusal.code for refusal in refusals if refusal] == ["ELG015", "ELG015"]


@pytest.mark.parametrize(
    ("label", "known", "code"),
    [
        ("packer", {"packer"}, "ELG019"),
        ("packer", set(), ""),
        ("packer-scheduler", set(), "ELG019"),
        ("another", {"packer"}, ""),
    ],
)
@pytest.mark.parametrize("refuse", [refuse_changed, refuse_released])
def test_who_names_a_scheduler_is_not_read_again_and_keeps_it_all_the_same(
    refuse: Callable[[PodContext], Problem | None], label: str, known: set[str], code: str
) -> None:
    earlier = before()
    asking = pod("job-1", "n2", namespace="jobs")
    asking.spec.schedulerName = "packer"
    seen = replace(earlier, pods=[*earlier.pods, asking])
    earlier.pods[0].metadata.labels = {"app": "web", "component": label}
    refusal = refuse(replace(context(earlier, earlier), before=seen, schedulers=known))
    assert (refusal.code if refusal else "") == code


@pytest.mark.parametrize("newer", [False, True])
def test_a_pod_stays_whose_siblings_show_an_unplanned_replacement(*, newer: bool) -> None:
    """As where an autoscaler made one of them with more, since the cluster was read."""

    def seen(cpu: str) -> Snapshot:
        found = before()
        found.controllers[1].spec.template = PodTemplate(spec=found.pods[0].spec)
        found.pods[1].spec = like(found.pods[1], "", "", {"cpu": cpu}).spec
        age = timedelta(hours=1 if newer else 48)
        found.pods[1].metadata.creationTimestamp = found.taken - age
        return found

    earlier = seen("1")
    assert refuse_changed(context(earlier, seen("1"))) is None
    refusal = refuse_changed(context(earlier, seen("3")))
    assert (refusal.code if refusal else "") == ("DRF004" if newer else "")
    if refusal is not None:
        assert refusal.message.endswith("would ask for 3 of cpu; 1 was planned with")
        broken = replace(context(earlier, seen("3")), broken=True)
        assert refuse_changed(broken) is None
