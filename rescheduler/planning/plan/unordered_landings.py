"""Landings of like pods that are created together, in an order that nobody knows."""

from collections.abc import Sequence

from msgspec import structs

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.plan import LandingShare, PlannedMove


def in_any_order(moves: Sequence[PlannedMove], snapshot: Snapshot) -> list[PlannedMove]:
    """These moves, where those of like pods share what was predicted for one after the other.

    A share is the mean over them, so that the expected number of pods on each node stays the same.
    """
    specs = [snapshot.pods[snapshot.pod_index[move.pod.uid]].spec for move in moves]
    answer = []
    for move, spec in zip(moves, specs, strict=True):
        like = [move for move, other in zip(moves, specs, strict=True) if other == spec]
        chances: dict[str, float] = {}
        for equal_move in like:
            for share in equal_move.landing:
                chances[share.node] = chances.get(share.node, 0.0) + share.probability / len(like)
        ordered = sorted(chances.items(), key=lambda item: (-item[1], item[0]))
        answer.append(
            structs.replace(
                move,
                landing=[LandingShare(node=node, probability=chance) for node, chance in ordered],
                returns=chances.get(move.source, 0.0),
                unschedulable=sum(move.unschedulable for move in like) / len(like),
            )
        )
    return answer
