"""Whether a planned move is still right on a fresh snapshot, asked just before it is made."""

from rescheduler.model.plan import Code, PlannedMove
from rescheduler.planning.workspace import Workspace

LEAST_OVERLAP = 0.5
"""The probability with which the replacement must land where the plan said that it may."""


def recheck(move: PlannedMove, workspace: Workspace) -> Code | None:
    """Why this move must not be made now, or None: it is still eligible, in budget and worth it.

    workspace: made of a snapshot read just now, with the plan's policies, limits and seed, the
    history with the moves that were made since, and `plan` set to the plan's id.
    """
    snapshot = workspace.snapshot
    pod = snapshot.pod_index.get(move.pod.uid)
    if pod is None:
        return Code(
            code="DRF001", message=f"pod {move.pod.namespace}/{move.pod.name} (its UID) is gone"
        )
    fresh = snapshot.pods[pod]
    if fresh.node != move.source:
        return Code(
            code="DRF001",
            message=f"it is on {fresh.node or 'no node'}, and was planned on {move.source}",
        )
    owner = fresh.controller
    if owner is None or owner.uid != move.owner.controllerUid:
        return Code(code="DRF001", message="it has another controller than when it was planned")
    if fresh.status.phase != "Running" or not fresh.ready:
        return Code(code="DRF001", message="it is no longer Running and Ready")
    if problem := _changed_nodes(move, workspace):
        return Code(code="DRF003", message=problem)
    judgement = workspace.judge(pod)
    refusal = judgement.refusal
    if refusal is not None:
        if refusal.code.startswith(("FEA", "MRG", "ELG018")):
            return Code(code="DRF004", message=f"{refusal.code}: {refusal.message}")
        return refusal
    if judgement.landing is None:
        raise AssertionError("a pod that is not refused has a landing")
    planned = {share.node for share in move.landing}
    overlap = sum(
        probability
        for node, probability in zip(
            judgement.landing.nodes.tolist(), judgement.landing.probabilities.tolist(), strict=True
        )
        if snapshot.nodes[node].metadata.name in planned
    )
    if overlap < LEAST_OVERLAP:
        return Code(
            code="DRF004",
            message=f"it would land elsewhere: only with {overlap:.0%} where the plan said",
        )
    return None


def _changed_nodes(move: PlannedMove, workspace: Workspace) -> str:
    """What became of the pod's node or of the one where it was expected; "" if nothing did."""
    expected = [share.node for share in move.landing if share.probability > LEAST_OVERLAP]
    for name in [move.source, *expected]:
        index = workspace.snapshot.node_index.get(name)
        if index is None:
            return f"node {name} is gone"
        refusal = workspace.eligibility.node(index)
        if refusal is not None:
            return refusal.message
    return ""
