"""Plans as a 60-node GPU cluster gives them: 3 zones, 8 GPUs a node, 5 nodes of zone a hot."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import structs

from rescheduler.model.finding_count import FindingCount
from rescheduler.model.moves.move_reason import MoveReason
from rescheduler.model.moves.plan import (
    BudgetUse,
    Change,
    ClusterRef,
    Cost,
    FindingView,
    LandingShare,
    MoveResult,
    Outcome,
    OwnerRef,
    Plan,
    PlannedMove,
    PodRef,
    PolicyResult,
    Refusal,
    Report,
    Result,
    Totals,
)
from rescheduler.model.moves.plan_basis import ReadingResult
from rescheduler.model.moves.plan_digest import seal_plan
from rescheduler.model.moves.restart_cost import RestartCost
from rescheduler.model.moves.selection import SelectionResult
from rescheduler.model.problem import Problem
from tests.reporting import brought
from tests.reporting.sample_nodes import COOL, DOCUMENTS, HOT, node_views
from tests.reporting.trust import calibrated, schedulers

TAKEN = datetime(2026, 11, 21, 14, 2, 7, tzinfo=UTC)
OWNERS = [
    ("ml", "bert-train", "StatefulSet", "bert-train-3"),
    ("ml", "llama-serve", "Deployment", "llama-serve-7d9f86c5b4-x2k9p"),
    ("vision", "segment", "Deployment", "segment-5c9b7d4f68-qq7mz"),
    ("vision", "detect-batch", "Job", "detect-batch-hw4lk"),
    ("speech", "whisper-large-streaming", "Deployment", "whisper-large-streaming-6b8f9d7c5-t4c7n"),
    ("web", "cart", "Deployment", "cart-6d9f8c7b5d-xk2p9"),
]


def reading(name: str, age: float | None = 38.0, **fields: Any) -> ReadingResult:
    values: dict[str, Any] = {
        "coverage": 0.9917,
        "windowSeconds": 300.0,
        "maxAgeSeconds": 120.0,
        "minCoverage": 0.9,
        "unit": "ratio" if name.startswith("node.") else "GPUs",
        "query": f'avg by (instance) (avg_over_time({name.replace(".", "_")}{{job="dcgm"}}[5m]))',
        **fields,
    }
    return ReadingResult(name=name, ageSeconds=age, **values)


def readings() -> list[ReadingResult]:
    return [
        reading("node.gpu"),
        reading("node.network.receive", 22.0, coverage=1.0),
        reading("node.network.transmit", 22.0, notes=["gpu-c-02: no series"]),
        reading("pod.gpu", 38.0, coverage=1.0),
        reading("pod.network.receive", 31.0, coverage=1.0, unit="bytes/s"),
        reading("pod.network.transmit", 31.0, coverage=1.0, unit="bytes/s"),
    ]


def found(*, moved: bool) -> list[FindingCount]:
    """What is hot, before the sample's moves and after them."""
    hot = len(HOT)
    return [FindingCount(one="hot node", many="hot nodes", before=hot, after=1 if moved else hot)]


def policies(*, moved: bool) -> list[PolicyResult]:
    hot = [
        FindingView(
            code="UTL001",
            subject=f"node {name}",
            cost=6.4 - place * 0.3,
            message=f"GPU load {95 - place * 3} %, target 50 %",
        )
        for place, name in enumerate(HOT)
    ]
    skew = FindingView(
        code="SPR001",
        subject="Deployment web/cart in zone eu-west-1a",
        cost=2.0,
        message="5 pods, fair share 2 and maxSkew 1",
    )
    return [
        PolicyResult(
            name="gpu-utilization",
            kind="Utilization",
            mode="Enforce",
            weight=1.0,
            cost=Cost(before=29.0, after=3.4 if moved else 29.0),
            scope=60,
            subject="nodes",
            worst=112.0,
            digest="sha256:5f2c1f0e9d",
            source="policies/utilization.yaml",
            document=DOCUMENTS["gpu-utilization"],
            findings=hot,
            counts=found(moved=moved),
            selection=SelectionResult(pods=431, nodes=60, knownPods=431, knownNodes=60),
        ),
        PolicyResult(
            name="zone-spread",
            kind="Spread",
            mode="Audit",
            weight=2.0,
            cost=Cost(before=2.0, after=1.0 if moved else 2.0),
            scope=431,
            worst=40.0,
            digest="sha256:90c1b7a244",
            source="policies/spread.yaml",
            document=DOCUMENTS["zone-spread"],
            findings=[skew],
            selection=SelectionResult(pods=96, nodes=60, knownPods=102, knownNodes=60),
        ),
    ]


RESTARTS = {
    0: RestartCost(readySeconds=250.0, moves=3, workSeconds=720.0, checkpoint=True),
    1: RestartCost(readySeconds=45.0, moves=1),
    2: RestartCost(readySeconds=8.0),
    4: RestartCost(workSeconds=5400.0),
}
"""What some of the moves start again; of the others nothing is told."""


def move(number: int, **fields: Any) -> PlannedMove:
    namespace, owner, kind, name = OWNERS[number]
    audit = number == 5
    code = "SPR001" if audit else "UTL001"
    policy = "zone-spread" if audit else "gpu-utilization"
    subject = "Deployment web/cart in zone eu-west-1a" if audit else f"node {HOT[number]}"
    load = f"GPU load {95 - number * 3} %, target 50 %"
    finding = "5 pods, fair share 2 and maxSkew 1" if audit else load
    gain = 1.0 if audit else round(6.2 - number * 0.4, 2)
    first = round(0.72 - number * 0.06, 2)
    values: dict[str, Any] = {
        "pod": PodRef(namespace=namespace, name=name, uid=f"uid-{name}", resourceVersion="48211"),
        "owner": OwnerRef(kind=kind, name=owner, uid=f"uid-{owner}", controllerKind=kind),
        "source": "gpu-a-05" if audit else HOT[number],
        "landing": [
            LandingShare(node=COOL[number], probability=first),
            LandingShare(node=COOL[(number + 1) % 6], probability=round(0.9 - first, 2)),
            LandingShare(node="gpu-c-20", probability=0.1),
        ],
        "returns": 0.0,
        "unschedulable": 0.0,
        "gain": 2.0 if audit else gain,
        "disruption": round(0.4 + number * 0.15, 2),
        "batch": number // 2 + 1,
        "mode": "Audit" if audit else "Enforce",
        "reasons": [
            MoveReason(
                code=code,
                policy=policy,
                gain=gain,
                weight=2.0 if audit else 1.0,
                subject=subject,
                finding=finding,
            )
        ],
        "gains": {policy: gain},
        "usage": {"pod.gpu": 3.7, "pod.network.receive": 412_000_000.0},
        "hot": {} if audit else {"gpu-utilization": ["gpu GPU-1"]},
        "restart": RESTARTS.get(number),
        "budget": None if number == 3 else BudgetUse(name=f"{owner}-pdb", allowed=1 + number % 2),
        **fields,
    }
    return PlannedMove(**values)


def refused() -> list[Refusal]:
    def one(code: str, name: str, message: str) -> Refusal:
        return Refusal(
            pod=PodRef(namespace="ml", name=name, uid=f"uid-{name}"),
            code=code,
            message=message,
            owner=OwnerRef(kind="Deployment", name=name.partition("-")[0], uid="uid-owner"),
            node="gpu-a-07",
        )

    return [
        *(one("BUD002", f"ranker-7f8d9-{n}k{n}", "ranker-pdb allows 0 of 3") for n in range(7)),
        one("ELG010", "notebook-0", "emptyDir volume `scratch`"),
        one("ELG010", "notebook-1", "emptyDir volume `scratch`"),
        one("MRG001", "embed-5d8f-aa1", "gain 0.03, margin 0.05"),
        one("FEA002", "embed-5d8f-bb2", "returns to gpu-a-07 with 84 %, maxReturn 50 %"),
    ]


def plan(**fields: Any) -> Plan:
    """Six moves, one of them for an Audit policy only."""
    values: dict[str, Any] = {
        "tool": "rescheduler 0.1.0",
        "cluster": ClusterRef(
            uid="2f6e0c1c-4b1c-4c47-9f59-0d5f2f0a9a11", version="v1.36.3", name="prod-gpu-1"
        ),
        "created": TAKEN,
        "expires": TAKEN + timedelta(minutes=30),
        "taken": TAKEN,
        "seed": 0,
        "totals": Totals(
            nodes=60,
            pods=431,
            candidates=41,
            moves=6,
            disruption=4.65,
            refused={"BUD002": 18, "ELG010": 9, "MRG001": 5, "FEA002": 3},
        ),
        "score": Change(before=71.2, after=93.4),
        "policies": policies(moved=True),
        "counts": found(moved=True),
        "readings": readings(),
        "schedulers": schedulers(),
        "moves": [move(number) for number in range(6)],
        "refused": refused(),
        "nodes": node_views(moved=True),
        "limits": {
            "movesPerCycle": 6,
            "movesPerNode": 1,
            "batchSize": 2,
            "margin": 0.05,
            "coolDown": "30m",
            "protectedNamespaces": ["kube-system"],
        },
        **fields,
    }
    return seal_plan(Plan(**values))


def empty() -> Plan:
    """Nothing is wrong but a few hot pods that may not move."""
    totals = Totals(
        nodes=60,
        pods=431,
        candidates=14,
        moves=0,
        disruption=0.0,
        refused={"MRG001": 9, "ELG010": 5},
    )
    kept = [refusal for refusal in refused() if refusal.code in totals.refused]
    return plan(
        moves=[], totals=totals, refused=kept, policies=policies(moved=False),
        counts=found(moved=False),
        nodes=node_views(moved=False), score=Change(before=96.0, after=96.0),
    )  # fmt: skip


def held() -> Plan:
    """A guard holds the cycle; the data itself has a flaw too."""
    guard = Problem(
        code="GRD001", message="31 of 60 nodes (51.7 %) are above their target; maxHotShare is 20 %"
    )
    note = Problem(code="DAT002", message="HorizontalPodAutoscaler: 403 Forbidden")
    totals = Totals(nodes=60, pods=431, candidates=220, moves=0, disruption=0.0)
    return plan(
        guards=[guard], notes=[note], moves=[], refused=[], totals=totals, mode="Enforce",
        policies=policies(moved=False),
        counts=found(moved=False), nodes=node_views(moved=False),
        score=Change(before=38.0, after=38.0),
    )  # fmt: skip


def no_data() -> Plan:
    """Prometheus lacks the GPU exporter: that policy is not evaluated, the other one is."""
    gpu, spread = policies(moved=True)
    missing = Problem(
        code="RDG009", message="node.gpu: Prometheus has no series DCGM_FI_DEV_GPU_UTIL"
    )
    none = Cost(before=0.0, after=0.0)
    gpu = structs.replace(gpu, cost=none, findings=[], counts=[], worst=0.0, problem=missing)
    unfit = reading("node.gpu", None, coverage=0.0, problem=missing)
    stale = reading(
        "pod.gpu", 4000.0, coverage=0.62,
        problem=Problem(code="RDG004", message="pod.gpu: oldest value 67 min, limit 120 s"),
    )  # fmt: skip
    views = node_views(moved=False)
    for view in views:
        view.load["node.gpu"] = Change(before=None, after=None)
    odd = Problem(code="FEA005", message="its plugin Coscheduling is not modelled")
    return plan(
        schedulers=schedulers(odd),
        policies=[gpu, spread], counts=[],
        readings=[unfit, stale, *readings()[1:3]], moves=[move(5, batch=1)],
        nodes=views, refused=[], score=Change(before=None, after=None), recorded=True,
        totals=Totals(
            nodes=60, pods=431, candidates=3, moves=1, disruption=1.15, refused={"FEA004": 2}
        ),
    )  # fmt: skip


def became(
    number: int,
    result: Result,
    code: str,
    message: str,
    landed: str | None = None,
    predicted: float | None = None,
    ready: float | None = None,
) -> MoveResult:
    """What became of the move with this number."""
    told = MoveResult.from_move(move(number), result, Problem(code=code, message=message))
    return structs.replace(told, landedOn=landed, predicted=predicted, readySeconds=ready)


def outcome_of(planned: Plan, *results: MoveResult, **fields: Any) -> Outcome:
    values: dict[str, Any] = {
        "started": TAKEN + timedelta(minutes=4),
        "finished": TAKEN + timedelta(minutes=9, seconds=12),
        "verdict": Problem(code="ACT013", message="Every move was tried."),
        "calibration": planned.calibration,
        **fields,
    }
    return Outcome(moves=results, plan=planned, **values)


def outcome() -> Outcome:
    """Two landed as predicted, one came back, one was refused, one unknown, one not tried."""
    results = [
        became(0, "evicted", "ACT001", "", COOL[0], 0.72, 41.0),
        became(1, "evicted", "ACT001", "", COOL[2], 0.24, 97.5),
        became(2, "evicted", "ACT012", "came back to gpu-a-11", HOT[2], 0.0, 38.0),
        became(3, "refused", "ACT004", "detect-batch-pdb: 0 disruptions allowed"),
        became(4, "unknown", "ACT009", "no answer within 30 s"),
        became(5, "skipped", "ACT010", "the run stopped: ACT009"),
    ]
    planned = plan(
        moves=[move(n, mode="Enforce") for n in range(6)],
        measuredMoves=brought.measured(TAKEN)[:1], policies=brought.helped(policies(moved=True)),
    )  # fmt: skip
    return outcome_of(
        planned,
        *results,
        verdict=Problem(code="ACT009", message="Stopped after move 5: its outcome is not known."),
        calibration=calibrated(trusted=True),
    )


def demoted() -> Plan:
    """A policy is demoted because its moves brought nothing; those of another bring too little."""
    return plan(
        mode="Enforce", policies=brought.demoting(policies(moved=True), TAKEN),
        moves=[move(n, mode="Audit") for n in range(5)], measuredMoves=brought.measured(TAKEN),
    )  # fmt: skip


def distrusted() -> Plan:
    """A plan in which pods of one kind stay, because their landings are not as predicted."""
    return plan(calibration=calibrated(trusted=False))


SAMPLES: dict[str, Callable[[], Report]] = {
    "plan": plan,
    "empty": empty,
    "held": held,
    "no-data": no_data,
    "outcome": outcome,
    "distrusted": distrusted,
    "demoted": demoted,
}
