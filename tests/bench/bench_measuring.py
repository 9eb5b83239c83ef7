"""How long measuring takes beside planning: python -m tests.bench.bench_measuring

50 moves of one plan on 5,000 nodes with 150,000 pods, in batches of their own, all due at once.
"""

import argparse
import gzip
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from itertools import groupby
from typing import TypeVar

from msgspec import json, structs

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import Plan
from rescheduler.planning.measure.baseline import baseline_of
from rescheduler.planning.measure.measuring import measure
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.files.policy_set import PolicySet, policy_set
from rescheduler.policies.limits import Limits
from rescheduler.policies.spread.policy import Spread
from rescheduler.policies.utilization.policy import Utilization
from tests.bench.grown import Size, grown
from tests.bench.load import readings

T = TypeVar("T")


def policies(moves: int) -> PolicySet:
    """Load of CPU and memory, and the pods' own spread constraints."""
    targets = {"cpu": {"high": "70%", "low": "60%"}, "memory": {"high": "80%", "low": "70%"}}
    everything = {"all": True}
    return policy_set(
        [
            Utilization.model_validate(
                {"name": "load", "match": everything, "nodes": everything, "targets": targets}
            ),
            Spread.model_validate(
                {"name": "spread", "match": everything, "constraints": "FromPods"}
            ),
        ],
        Limits(
            movesPerCycle=moves, movesPerHour=moves, movesPerNode=moves, movesPerNamespace=moves
        ),
    )


def carried_out(made: Plan, before: Snapshot, wanted: PolicySet) -> tuple[Snapshot, History]:
    """An hour later, with every replacement where it was most likely to land."""
    history, pods = History(), list(before.pods)
    for _, batch in groupby(made.moves, key=lambda move: move.batch):
        moves = list(batch)
        history.begin(baseline_of(before, history, moves, made.id, wanted.policies))
        for move in moves:
            index = before.pod_index[move.pod.uid]
            landed = max(move.landing, key=lambda share: share.probability).node
            metadata = structs.replace(pods[index].metadata, uid=f"{move.pod.uid}-r")
            pods[index] = structs.replace(pods[index], metadata=metadata, node=landed)
            history.moves.append(
                PastMove(
                    plan=made.id,
                    batch=move.batch,
                    podUid=move.pod.uid,
                    namespace=move.pod.namespace,
                    pod=move.pod.name,
                    workload=move.owner.uid,
                    source=move.source,
                    at=before.taken,
                    settled=before.taken,
                    state="ready",
                    gains={name: gain for name, gain in move.gains.items() if gain > 0},
                    landing={share.node: share.probability for share in move.landing},
                    usage=move.usage,
                    replacement=metadata.uid,
                    landedOn=landed,
                )
            )
    return replace(before, pods=pods, taken=before.taken + timedelta(hours=1)), history


def timed(what: str, work: Callable[[], T]) -> tuple[T, float]:
    start = time.process_time()
    answer = work()
    seconds = time.process_time() - start
    sys.stdout.write(f"{what:<28} {seconds:8.2f} s\n")
    return answer, seconds


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.bench_measuring")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--workloads", type=int, default=3000)
    parser.add_argument("--moves", type=int, default=50)
    options = parser.parse_args()
    before = grown(1, Size(options.nodes, options.workloads))
    for node in before.nodes:  # with 30 pods on each, they need room for more
        node.status.allocatable = {
            **(node.status.allocatable or {}),
            "cpu": "64",
            "memory": "256Gi",
        }
    wanted = policies(options.moves)
    requests = [request for one in wanted.policies for request in one.requests()]
    before = replace(before, readings=readings(before, requests))
    made, planning = timed("plan", lambda: plan(before, wanted, History(), mode="Audit"))
    (after, history), _ = timed("baselines", lambda: carried_out(made, before, wanted))
    size = len(json.encode(history.baselines))
    history.trim_baselines()
    kept = len(gzip.compress(json.encode(history.baselines)))
    _, measuring = timed("measure", lambda: measure(after, wanted, history))
    known = sum(move.gain is not None and not move.gain.problem for move in history.moves)
    sys.stdout.write(
        f"{len(made.moves)} moves, {known} measured, in {measuring / planning:.2f} of a plan; "
        f"{size} bytes of baselines before they were trimmed, {kept} compressed ones afterwards\n"
    )
    return 0 if known == len(made.moves) else 1


if __name__ == "__main__":
    sys.exit(main())
