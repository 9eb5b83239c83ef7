"""The exit code is 0 only if all was done, or held on purpose."""

from functools import cache
from typing import get_args

import pytest
from msgspec import structs

from rescheduler.model.moves.assessment import Assessment, AssessmentState
from rescheduler.model.moves.plan import Mode, MoveResult, Outcome, Plan, Result
from rescheduler.model.moves.plan_basis import ReadingResult
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import CATALOG
from rescheduler.runtime.cycle import run_cycle
from rescheduler.runtime.exit_codes import exit_code
from rescheduler.runtime.servers.telemetry import Telemetry
from rescheduler.runtime.service.cycles import _verdict
from tests.cases import every
from tests.runtime.servers.metric_lines import lines
from tests.runtime.skewed import parts

SUCCESS = "rescheduler_cycle_last_success_timestamp_seconds"


@cache
def planned() -> Plan:
    made = run_cycle(parts())
    assert isinstance(made, Plan)
    return made


def ended(verdict: str, *moves: tuple[Result, str]) -> Outcome:
    """An outcome with this verdict, and these results of its moves."""
    plan = planned()
    results = [
        MoveResult.from_move(plan.moves[0], result, Problem(code=code, message=""))
        for result, code in moves
    ]
    return Outcome(
        started=plan.taken,
        finished=plan.taken,
        verdict=Problem(code=verdict, message=""),
        moves=tuple(results),
        plan=structs.replace(plan, moves=plan.moves * len(results)),
    )


def test_a_plan_that_could_not_heed_a_damaged_state_is_a_fault() -> None:
    noted = {
        code: structs.replace(planned(), notes=(Problem(code=code, message=""),))
        for code in ("GRD004", "DAT002", "DAT004")
    }
    codes = {code: exit_code(plan) for code, plan in noted.items()}
    assert codes == {"GRD004": 1, "DAT002": 0, "DAT004": 1}


def not_judged(policy: str, *readings: str, mode: Mode = "Audit") -> int:
    """The exit code where a policy, and these readings, have problems of these codes."""
    plan = planned()
    result = structs.replace(plan.policies[0], problem=Problem(code=policy, message=""))
    fields = {"coverage": 0.0, "ageSeconds": None, "windowSeconds": 0.0, "maxAgeSeconds": 0.0}
    readings_of_plan = [
        ReadingResult(
            name="node.gpu",
            minCoverage=0.9,
            unit="",
            query="",
            problem=Problem(code=code, message=""),
            **fields,  # type: ignore[arg-type]
        )
        for code in readings
    ]
    return exit_code(structs.replace(plan, mode=mode, policies=[result], readings=readings_of_plan))


def test_an_exporter_that_was_never_there_is_no_fault() -> None:
    assert not_judged("RDG017", "RDG017") == 0
    assert not_judged("RDG017", "RDG017", mode="Enforce") == 1, "a run that acts needs it"
    assert not_judged("RDG009", "RDG009") == 1, "it has stopped"
    assert not_judged("RDG017", "RDG017", "RDG004") == 1, "another one is at fault"


UNTRIED: tuple[Result, str] = ("skipped", "ACT010")
DONE: tuple[Result, str] = ("evicted", "ACT001")
GUARDS = {
    "GRD001": 3,
    "GRD002": 3,
    "GRD003": 3,
    "GRD004": 1,
    "GRD005": 0,
    "GRD006": 0,
    "GRD007": 1,
    "GRD008": 3,
    "GRD009": 3,
    "GRD010": 1,
    "GRD011": 1,
}


@pytest.mark.parametrize("verdict", [code for code in CATALOG if code.startswith("GRD")])
def test_a_guard_that_held_everything(verdict: str) -> None:
    outcome = ended(verdict, UNTRIED)
    assert exit_code(outcome) == GUARDS.get(verdict, 3)
    # Who asks for just these moves is told also where another instance holds the lock.
    assert exit_code(outcome, applying=True) == (3 if verdict == "GRD005" else exit_code(outcome))


@pytest.mark.parametrize("verdict", ["GRD005", "GRD006"])
def test_held_on_purpose_after_a_move_is_not_all_that_was_asked(verdict: str) -> None:
    assert exit_code(ended(verdict, DONE, UNTRIED)) == 3


@every(
    [
        ("ACT013", DONE, 0),
        ("ACT013", ("evicted", "ACT012"), 0),
        ("ACT013", ("evicted", "ACT011"), 3),
        ("ACT013", ("evicted", "ACT017"), 3),
        ("ACT013", ("evicted", "ACT018"), 3),
        ("ACT019", ("evicted", "ACT019"), 3),
        ("ACT013", ("evicted", "ACT023"), 3),
        ("ACT014", DONE, 3),
        ("ACT014", UNTRIED, 3),
        ("ACT009", ("unknown", "ACT009"), 3),
        ("ACT005", ("refused", "ACT005"), 3),
        ("ACT015", DONE, 1),
        ("ACT016", UNTRIED, 1),
    ]
)
def test_how_acting_ended(verdict: str, move: tuple[Result, str], code: int) -> None:
    assert exit_code(ended(verdict, move)) == code


def test_nothing_to_do_is_done() -> None:
    assert exit_code(ended("ACT013")) == 0


@every([("GRD002", 3), ("GRD007", 1), ("GRD010", 1), ("GRD011", 1)])
def test_a_plan_that_a_guard_holds(guard: str, code: int) -> None:
    held = structs.replace(planned(), moves=[], guards=[Problem(code=guard, message="")])
    assert exit_code(held) == code
    assert exit_code(held, proposed=True) == code


@every(["STR001", "STR002", "STR014", "ACT022"])
def test_what_is_not_set_up_is_a_fault_though_all_moves_were_made(code: str) -> None:
    done = ended("ACT013", DONE)
    noted = structs.replace(done.plan, notes=[Problem(code=code, message="")])
    assert exit_code(structs.replace(done, plan=noted)) == 1


def test_drift_of_all_moves_is_drift_of_the_plan() -> None:
    outcome = ended("ACT013", ("refused", "DRF005"), ("refused", "ELG013"))
    assert exit_code(outcome) == 3
    assert exit_code(outcome, applying=True) == 5
    assert exit_code(ended("ACT013", DONE, ("refused", "DRF005")), applying=True) == 3


@every(
    [
        (ended("ACT013", DONE), "good"),
        (ended("GRD005", UNTRIED), "held"),
        (ended("GRD006", UNTRIED), "held"),
        (ended("GRD007", UNTRIED), "held"),
        (ended("GRD003", DONE, UNTRIED), "held"),
        (ended("ACT014", DONE), "held"),
        (ended("ACT019", ("evicted", "ACT019")), "held"),
        (ended("GRD004", UNTRIED), "failed"),
        (ended("ACT015", DONE), "failed"),
        (ended("ACT016", UNTRIED), "failed"),
    ]
)
def test_only_a_good_cycle_refreshes_the_last_success(outcome: Outcome, verdict: str) -> None:
    telemetry = Telemetry()
    telemetry.lead()
    assert _verdict(outcome) == verdict
    telemetry.count_cycle(_verdict(outcome))
    assert (lines(telemetry)[SUCCESS] > 0) == (verdict == "good")


@pytest.mark.parametrize("code", ["ACT018", "ACT019"])
def test_what_was_not_replaced_is_counted(code: str) -> None:
    telemetry = Telemetry()
    telemetry.observe(ended("GRD003", ("evicted", code)))
    assert lines(telemetry)[f'rescheduler_reverted_moves_total{{reason="{code}"}}'] == 1


STATES: dict[AssessmentState, int] = {"Healthy": 0, "Powerless": 7, "NotJudged": 8}


@pytest.mark.parametrize("state", STATES)
def test_a_plan_without_moves_tells_its_answers_apart_where_asked(state: AssessmentState) -> None:
    still = structs.replace(planned(), moves=[], assessment=Assessment(state=state))
    assert exit_code(still, proposed=True) == STATES[state]
    assert exit_code(still) == 0
    moving = structs.replace(planned(), assessment=Assessment(state="Improvable"))
    assert exit_code(moving, proposed=True) == 4
    earlier = structs.replace(planned(), moves=[], assessment=None)
    assert exit_code(earlier, proposed=True) == 0


@pytest.mark.parametrize("state", get_args(AssessmentState))
def test_metrics_tell_the_answers_apart(state: AssessmentState) -> None:
    telemetry = Telemetry()
    own = [
        structs.replace(policy, assessment=Assessment(state=state)) for policy in planned().policies
    ]
    telemetry.observe(structs.replace(planned(), policies=own, assessment=Assessment(state=state)))
    found = lines(telemetry)
    for other in get_args(AssessmentState):
        assert found[f'rescheduler_assessment{{state="{other}"}}'] == (other == state)
        labels = f'policy="{own[0].name}",state="{other}"'
        assert found[f"rescheduler_policy_assessment{{{labels}}}"] == (other == state)
