"""Why a predicted landing rules a move out, in the words of the report."""

import numpy as np

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.move import Landing
from rescheduler.model.problem import Problem
from rescheduler.model.wording import count_text
from rescheduler.planning.binding import Binding
from rescheduler.planning.eligibility.eligibility import Eligibility
from rescheduler.planning.evaluation.evaluation import Evaluation
from rescheduler.policies.limits import Limits

_SHOWN = 3
_CERTAIN = 1.0 - 1e-9


def refuse_landing(
    snapshot: Snapshot, landing: Landing, source: int, limits: Limits
) -> Problem | None:
    """FEA001, FEA002, FEA004, or the scheduler model's own refusal (FEA005, ELG018)."""
    if landing.refusal is not None:
        return landing.refusal
    if landing.unschedulable > limits.maxUnschedulable:
        filters = ", ".join(
            f"{name} rejects {count}"
            for name, count in sorted(
                landing.rejections.items(), key=lambda rejection: (-rejection[1], rejection[0])
            )
        )
        if landing.unschedulable >= _CERTAIN:
            text = f"none of {count_text(len(snapshot.nodes), 'node')} is feasible"
            return Problem(code="FEA001", message=f"{text}: {filters}" if filters else text)
        return Problem(
            code="FEA004",
            message=f"it may stay Pending ({landing.unschedulable:.0%}, at most "
            f"{limits.maxUnschedulable:.0%} by maxUnschedulable)"
            + (f": {filters}" if filters else ""),
        )
    if landing.returns > limits.maxReturn:
        name = snapshot.nodes[source].metadata.name
        return Problem(
            code="FEA002",
            message=f"it would come back to {name} ({landing.returns:.0%}, at most "
            f"{limits.maxReturn:.0%} by maxReturn); {describe(snapshot, landing)}",
        )
    return None


def refuse_untrusted(
    landing: Landing,
    pod: int,
    wanting: list[Binding],
    eligibility: Eligibility,
    snapshot: Snapshot,
) -> Problem | None:
    """FEA006, FEA016, FEA017: whether its node or one where it may land is not one to count on.

    wanting: the policies that gain by the move; only their missing readings matter.
    """
    source = int(snapshot.pod_node[pod])
    avoided = eligibility.places.avoided_for(pod)
    unread = np.logical_or.reduce(
        [np.zeros_like(avoided), *(binding.unknown for binding in wanting)]
    )
    unknown = unread | avoided
    doubted = unknown[landing.nodes]
    for node, probability in [
        *([(source, 1.0)] if unread[source] else []),
        *zip(landing.nodes[doubted].tolist(), landing.probabilities[doubted].tolist(), strict=True),
    ]:
        name = snapshot.nodes[node].metadata.name
        place = "its node" if node == source else f"it may land ({probability:.0%}) on"
        refusal = (
            eligibility.places.arrival(pod, node) if avoided[node] and node != source else None
        )
        if refusal is not None:
            return Problem(code=refusal.code, message=f"{place} {name}: {refusal.message}")
        for binding in wanting:
            if binding.unknown[node]:
                return Problem(
                    code="FEA006",
                    message=f"{place} {name}: {binding.policy.name} has no trusted reading of it",
                )
    return None


def refuse_counted(
    snapshot: Snapshot,
    landing: Landing,
    evaluation: Evaluation,
    wanting: list[Binding],
    eligibility: Eligibility,
) -> Problem | None:
    """FEA006, FEA016 or FEA003: why this landing cannot be counted on by a move that gains.

    wanting: the policies that gain by the move; a load that others follow they have weighed.
    """
    return refuse_untrusted(
        landing, evaluation.pod, wanting, eligibility, snapshot
    ) or _refuse_overfilling(snapshot, evaluation, wanting)


def _refuse_overfilling(
    snapshot: Snapshot, evaluation: Evaluation, wanting: list[Binding]
) -> Problem | None:
    """FEA003: whether it would overfill the node where it most likely lands."""
    here = np.array([evaluation.destination], dtype=np.int32)
    for binding in wanting:
        if binding.overfills(evaluation.pod, here)[0]:
            name = snapshot.nodes[evaluation.destination].metadata.name
            return Problem(
                code="FEA003",
                message=f"it would most likely land on {name}, which has no room for it by the "
                f"targets of {binding.policy.name}",
            )
    return None


def describe(snapshot: Snapshot, landing: Landing) -> str:
    """The likely landings in words: `expected on n2 (60%), n3 (40%)`."""
    shown = [
        f"{snapshot.nodes[node].metadata.name} ({probability:.0%})"
        for node, probability in zip(
            landing.nodes[:_SHOWN].tolist(), landing.probabilities[:_SHOWN].tolist(), strict=True
        )
    ]
    more = len(landing.nodes) - len(shown)
    return f"expected on {', '.join(shown)}" + (f" and {more} more" if more > 0 else "")
