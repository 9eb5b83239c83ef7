"""What clusters of public bug reports taught: places, owners and marks that plans must heed."""

from dataclasses import replace
from typing import Any

import msgspec

from rescheduler.kube.objects import Condition, Node, Pod
from rescheduler.kube.storage import PersistentVolume, PersistentVolumeClaim
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.planning.eligibility.volume_checks import Attachments
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.policies.spread.policy import Spread
from tests.cluster import deployment, node, pod, snapshot

APART = Spread.model_validate(
    {"name": "by-host", "match": {"all": True}, "topologyKey": "kubernetes.io/hostname"}
)


def crowded(nodes: list[Node] | None = None, **spec: Any) -> Snapshot:
    """Three pods of one Deployment on n1, and the empty node n2.

    spec: further fields of the pods' specs.
    """
    top, owner = deployment("web")
    pods = [pod(f"web-{i}", "n1", owner=owner, labels={"app": "web"}, **spec) for i in range(3)]
    return snapshot(nodes or [node("n1"), node("n2")], pods, controllers=[top, owner])


def judged(before: Snapshot, **limits: Any) -> tuple[list[str], dict[str, str]]:
    """`source -> likeliest node` of each move, and why others are refused, by code."""
    made = plan(before, policy_set([APART], Limits.model_validate(limits)), History(), mode="Audit")
    moves = [
        f"{each.source} -> {max(each.landing, key=lambda share: share.probability).node}"
        for each in made.moves
    ]
    return moves, {each.code: each.message for each in made.refused}


def with_condition(name: str, kind: str, status: str = "True") -> Node:
    """A Ready node with one more condition."""
    made: Node = node(name)
    made.status.conditions = [
        *(made.status.conditions or []),
        Condition(type=kind, status=status),
    ]
    return made


def test_nothing_goes_to_a_node_that_is_broken_though_ready() -> None:
    assert judged(crowded())[0] == ["n1 -> n2"]
    moves, refused = judged(crowded([node("n1"), with_condition("n2", "ReadonlyFilesystem")]))
    assert moves == []
    assert "condition ReadonlyFilesystem=True" in refused["FEA016"]


def test_pods_may_leave_a_broken_node_but_not_one_that_is_drained() -> None:
    broken = crowded([with_condition("n1", "KernelDeadlock"), node("n2")])
    assert judged(broken)[0] == ["n1 -> n2"]
    drained = crowded([with_condition("n1", "DrainInProgress"), node("n2")])
    moves, refused = judged(drained)
    assert moves == []
    assert "condition DrainInProgress=True" in refused["ELG020"]


def test_a_mark_of_the_operators_own_is_avoided() -> None:
    before = crowded([node("n1"), node("n2", labels={"rack-move": "tonight"})])
    assert judged(before)[0] == ["n1 -> n2"]
    assert judged(before, avoidNodes=[{"label": "rack-move"}])[0] == []


def claimed(mode: str, others: list[Pod], *, volume_mode: str = "") -> Snapshot:
    """A web pod on n1 that uses the claim `data`, and other pods."""
    before = crowded(volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}])
    claim = {
        "metadata": {"name": "data", "namespace": "default"},
        "spec": {"volumeName": "pv", "accessModes": [mode]},
        "status": {"phase": "Bound"},
    }
    modes = [volume_mode or mode]
    volume = {"metadata": {"name": "pv"}, "spec": {"accessModes": modes}}
    return replace(
        before,
        pods=[*before.pods[:1], *others],
        claims=[msgspec.convert(claim, PersistentVolumeClaim)],
        volumes=[msgspec.convert(volume, PersistentVolume)],
    )


def refused_for_volume(before: Snapshot) -> str:
    """Why the first pod is tied to its node; "" where it is not."""
    found = Attachments(before).refuse_shared(before.pods[0])
    return found.message if found else ""


DATA: dict[str, Any] = {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]}


def test_a_pod_stays_while_another_one_needs_its_volume_on_the_node() -> None:
    pending, beside = pod("backup", **DATA), pod("backup", "n1", **DATA)
    elsewhere = pod("backup", "n2", **DATA)
    for other in (pending, beside, elsewhere):
        assert "default/backup" in refused_for_volume(claimed("ReadWriteOnce", [other]))
    for mode in ("ReadWriteMany", "ReadOnlyMany"):
        assert refused_for_volume(claimed(mode, [beside])) == ""
    # The volume's own modes decide, as for kube-controller-manager.
    assert refused_for_volume(claimed("ReadWriteOnce", [beside], volume_mode="ReadWriteMany")) == ""
    assert refused_for_volume(claimed("ReadWriteOnce", [])) == ""
    foreign = pod("backup", "n1", namespace="shop", **DATA)
    assert refused_for_volume(claimed("ReadWriteOnce", [foreign])) == ""


def test_replicas_that_share_a_volume_stay() -> None:
    before = claimed("ReadWriteOnce", [])
    web = crowded(**DATA)
    moves, refused = judged(replace(before, pods=web.pods))
    assert moves == []
    assert "and 1 more pod, too" in refused["ELG017"]


def test_pods_that_share_a_volume_may_go_together() -> None:
    web = crowded(**DATA)
    before = replace(claimed("ReadWriteOnce", []), pods=web.pods)
    going = {each.metadata.uid for each in web.pods}
    assert Attachments(before).refuse_shared(web.pods[0], going) is None
