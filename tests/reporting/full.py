"""A plan in which every field has something to change, and its outcome."""

from msgspec import structs

from rescheduler.model.finding_count import FindingCount
from rescheduler.model.idle_holder import IdleHolder
from rescheduler.model.moves.assessment import Assessment
from rescheduler.model.moves.gang_room import GangRoom
from rescheduler.model.moves.move_reason import LoadChange, MoveReason, RequestChange
from rescheduler.model.moves.plan import Outcome, Plan
from rescheduler.model.moves.plan_basis import CountedPods
from rescheduler.model.moves.restart_cost import StopRef
from rescheduler.model.moves.search_summary import SearchSummary
from rescheduler.model.moves.steering_entry import Steered
from rescheduler.model.moves.suggestion import Suggestion, TrialResult, WorstNode
from rescheduler.model.problem import Problem
from tests.reporting import brought
from tests.reporting.samples import TAKEN, became, outcome_of, plan
from tests.reporting.trust import calibrated, schedulers

FOUND = FindingCount(one="hot GPU", many="hot GPUs", before=5, after=1)
ROOM = GangRoom(gang="ml/llama", pods=2, gpus=16.0, before=False, after=True)
ASSESSMENT = Assessment(state="Powerless", why=Problem(code="FEA020", message="stuck"))
SUGGESTION = Suggestion(
    code="FEA002",
    change="Turn on steering",
    how="Write `steering: {by: AdmissionPolicy}` in the Limits",
    pods=35,
    trial=TrialResult(
        movesNow=6,
        moves=41,
        gainNow=2.5,
        gain=30.25,
        worst=WorstNode(reading="node.gpu", now=0.95, changed=0.46),
        counts=[FOUND],
    ),
    untried="not tried",
    risk="it is less safe",
    decides="the owners",
)
IDLE = IdleHolder(namespace="lab", owner="Pod nb", pods=1, gpus=2.0, use=0.01, hours=11.9)
REASON = MoveReason(
    code="UTL001",
    policy="hot",
    gain=0.5,
    weight=2.0,
    subject="node n",
    finding="too busy",
    later=True,
    loads=[LoadChange("node.cpu", 0.9, 0.6)],
    pod="ml/a",
    node="m",
    gang="ml/g",
    others=2,
    requests=[RequestChange("cpu", "1", "3")],
    like="its template",
)


def rich() -> Plan:
    """A plan in which every field has something to change."""
    full = plan(
        guards=[Problem(code="GRD001", message="hot")],
        ownReadings=[{"kind": "Readings", "spec": {"presets": ["amd"]}}],
        assessment=ASSESSMENT,
        suggestions=[SUGGESTION],
        countedPods=[CountedPods(limit="movesPerDay", group="", pods=340)],
        search=SearchSummary(
            stopped="steps",
            steps=9,
            gain=1.5,
            bound=2.5,
            chained=2,
            alone=0.5,
            singly=1.0,
            resumed=0.5,
        ),
        notes=[Problem(code="DAT001", message="odd")],
        calibration=calibrated(trusted=False),
        schedulers=schedulers(Problem(code="FEA005", message="odd")),
        measuredMoves=[
            structs.replace(move, problem=Problem(code="MSR003", message="odd"))
            for move in brought.measured(TAKEN)[2:3]
        ],
    )
    told = Steered(by="SoftTaint", strength="Prefer", nodes=["n"], shunned=["m"])
    stops = StopRef(name="w", uid="u")
    moves = [
        structs.replace(
            move,
            steered=steered,
            unsteered=move.landing[:1],
            after=["u"],
            stops=stops,
            reasons=[REASON],
        )
        for move, steered in zip(full.moves[2:4], (told, None), strict=True)
    ]
    short = {"nodes": full.nodes[:1], "refused": full.refused[:1], "moves": moves}
    short["totals"] = structs.replace(full.totals, unsteered={"ELG031": 1})
    policies = [
        structs.replace(
            policy,
            findings=policy.findings[:1],
            brought=brought.demoted(TAKEN),
            selection=brought.changed(TAKEN),
            idle=[IDLE],
            counts=[FOUND],
            assessment=ASSESSMENT,
            room=[ROOM],
        )
        for policy in full.policies
    ]
    readings = [structs.replace(reading, notes=["odd"]) for reading in full.readings[:1]]
    values = structs.asdict(full) | short
    values |= {"policies": policies, "readings": readings, "counts": [FOUND]}
    return plan(**{name: value for name, value in values.items() if name not in ("id", "digest")})


def acted_on() -> Outcome:
    """The outcome of that plan."""
    told = became(2, "evicted", "ACT001", "", "gpu-b-17", 0.6, 38.0)
    return outcome_of(rich(), told, became(3, "refused", "ACT004", "0 disruptions allowed"))
