"""Remedies that change an object of the cluster: a budget, an opt-out, a taint of a pool."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from msgspec import structs

from rescheduler.kube.annotations import OPT_OUT
from rescheduler.kube.controllers import Controller, Namespace, Owner
from rescheduler.kube.objects import ObjectMeta, Pod, Taint
from rescheduler.kube.pods.tolerations import is_tolerated
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.planning.suggestions.remedies import Remedy, Situation

_KEPT_TAINTS = ("node.kubernetes.io/", "node-role.kubernetes.io/", "node.cloudprovider")
"""Beginnings of taints that Kubernetes sets itself: nobody takes these off a pool."""
_FIT_NOWHERE = ("FEA001", "FEA002", "FEA003", "FEA004", "FEA009")
"""Why pods stay that could perhaps go to nodes that are kept for others."""
_HOLDS_OFF = ("NoSchedule", "NoExecute")

Annotated = TypeVar("Annotated", Pod, Namespace, Controller, Owner)


def object_remedies(situation: Situation) -> Iterator[Remedy]:
    """Of each kind the one that leaves most candidates alone."""
    for suggest in (_budget, _opt_out, _taint):
        remedy = suggest(situation)
        if remedy is not None:
            yield remedy


def _budget(situation: Situation) -> Remedy | None:
    """The PodDisruptionBudget that blocks most, with one disruption more."""
    budgets_of = situation.copy.budgets.budgets_of
    counts = Counter(
        budget for pod in situation.refused_by("BUD002") for budget in budgets_of(pod)[:1]
    )
    budgets = situation.snapshot.budgets

    def key(index: int) -> str:
        return f"{budgets[index].metadata.namespace}/{budgets[index].metadata.name}"

    if not counts:
        return None
    blocking = min(counts, key=lambda index: (-counts[index], key(index)))
    old = budgets[blocking]
    allowed = max(old.status.disruptionsAllowed, 0) + 1
    status = structs.replace(old.status, disruptionsAllowed=allowed)
    changed = list(budgets)
    changed[blocking] = structs.replace(old, status=status)
    return Remedy(
        code="BUD002",
        change=f"Let PodDisruptionBudget {key(blocking)} allow {allowed}",
        how="Change its maxUnavailable or minAvailable, or run more replicas",
        policies=situation.policies,
        snapshot=replace(situation.snapshot, budgets=changed),
        pods=counts[blocking],
        risk="one more of its pods may be away at a time",
        decides=f"the owners of namespace {old.metadata.namespace}",
    )


def _opt_out(situation: Situation) -> Remedy | None:
    """The namespace or workload whose opt-out keeps most candidates."""
    snapshot = situation.snapshot
    spaces = {space.metadata.name for space in snapshot.namespaces if _opts_out(space.metadata)}
    counts: Counter[tuple[str, str]] = Counter()
    for pod in situation.refused_by("ELG011"):
        if f"annotation {OPT_OUT}:" not in situation.refusals[pod].message:
            continue
        namespace, workload = snapshot.pods[pod].metadata.namespace, int(snapshot.pod_workload[pod])
        if namespace in spaces:
            counts[namespace, ""] += 1
        elif workload >= 0:
            counts[namespace, snapshot.workloads[workload].uid] += 1
    if not counts:
        return None
    (namespace, uid), pods = min(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    name = f"namespace {namespace}"
    if uid:
        top = next(workload for workload in snapshot.workloads if workload.uid == uid)
        name = f"{top.kind} {top.namespace}/{top.name}"
    return Remedy(
        code="ELG011",
        change=f"Take the opt-out off {name}",
        how=f"Remove its annotation {OPT_OUT}",
        policies=situation.policies,
        snapshot=_snapshot_opted_in(snapshot, namespace, uid),
        pods=pods,
        risk="these pods opted out of being moved",
        decides=f"the owners of {name}",
    )


def _opts_out(metadata: ObjectMeta) -> bool:
    return OPT_OUT in (metadata.annotations or {})


def _snapshot_opted_in(snapshot: Snapshot, namespace: str, uid: str) -> Snapshot:
    """The snapshot in which that namespace, or that workload with its pods, has no opt-out."""
    if not uid:
        spaces = _remove_opt_outs(snapshot.namespaces, lambda metadata: metadata.name == namespace)
        return replace(snapshot, namespaces=spaces)
    number = next(place for place, workload in enumerate(snapshot.workloads) if workload.uid == uid)
    pods = [snapshot.pods[pod] for pod in (snapshot.pod_workload == number).nonzero()[0].tolist()]
    above = {uid, *(pod.controller.uid for pod in pods if pod.controller is not None)}
    own = {pod.metadata.uid for pod in pods}
    return replace(
        snapshot,
        pods=_remove_opt_outs(snapshot.pods, lambda metadata: metadata.uid in own),
        controllers=_remove_opt_outs(snapshot.controllers, lambda metadata: metadata.uid in above),
        owners=_remove_opt_outs(snapshot.owners, lambda metadata: metadata.uid in above),
    )


def _remove_opt_outs(
    objects: list[Annotated], chosen: Callable[[ObjectMeta], bool]
) -> list[Annotated]:
    """The objects, those that are chosen without our annotation."""
    return [
        structs.replace(item, metadata=_remove_annotation(item.metadata))
        if chosen(item.metadata) and _opts_out(item.metadata)
        else item
        for item in objects
    ]


def _remove_annotation(metadata: ObjectMeta) -> ObjectMeta:
    kept = {name: value for name, value in (metadata.annotations or {}).items() if name != OPT_OUT}
    return structs.replace(metadata, annotations=kept or None)


def _taint(situation: Situation) -> Remedy | None:
    """The taint of a pool that keeps most of the pods off it that fit nowhere."""
    snapshot = situation.snapshot
    pods = [snapshot.pods[pod] for pod in situation.refused_by(*_FIT_NOWHERE)]
    nodes: Counter[tuple[str, str, str]] = Counter()
    for node in snapshot.nodes:
        for taint in node.spec.taints or ():
            if taint.effect in _HOLDS_OFF and not taint.key.startswith(_KEPT_TAINTS):
                nodes[_identity(taint)] += 1
    blocked = {taint: _kept_off(taint, pods) for taint in nodes}
    blocked = {taint: count for taint, count in blocked.items() if count}
    if not blocked:
        return None
    worst = min(blocked, key=lambda taint: (-blocked[taint], -nodes[taint], taint))
    key, value, effect = worst
    shown = f"{key}={value}:{effect}" if value else f"{key}:{effect}"
    changed = [
        structs.replace(node, spec=structs.replace(node.spec, taints=[
            taint for taint in node.spec.taints or () if _identity(taint) != worst
        ]))
        for node in snapshot.nodes
    ]  # fmt: skip
    return Remedy(
        code="FEA001",
        change=f"Take the taint {shown} off its {_pool(nodes[worst])}",
        how="Or give the pods a toleration of it",
        policies=situation.policies,
        snapshot=replace(snapshot, nodes=changed),
        pods=blocked[worst],
        risk="any other pod may be placed on that pool too",
        decides="the owners of that pool",
    )


def _pool(nodes: int) -> str:
    return "node" if nodes == 1 else f"{nodes:,} nodes"


def _identity(taint: Taint) -> tuple[str, str, str]:
    return taint.key, taint.value or "", taint.effect


def _kept_off(identity: tuple[str, str, str], pods: list[Pod]) -> int:
    key, value, effect = identity
    taint = Taint(key=key, value=value, effect=effect)
    return sum(not is_tolerated(taint, pod.spec.tolerations) for pod in pods)
