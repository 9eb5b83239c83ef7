"""`steering: {by: Auto}` is a means that shows that it steers; otherwise none, and that is said."""

from dataclasses import replace
from functools import partial

import pytest
from msgspec.structs import replace as replace_in

from rescheduler.acting.automatic_steering import choose_automatic_steering
from rescheduler.model.errors import ClusterUnavailable
from rescheduler.model.moves.plan import Outcome, Plan, plan_in
from rescheduler.policies.files.policy_set import PolicySet, policy_set
from rescheduler.policies.limits import Limits
from rescheduler.policies.steering_fields import AUTOMATIC, SteeringFields
from rescheduler.runtime.cycle import run_cycle
from rescheduler.runtime.exit_codes import exit_code
from tests.fakes.stage import Process, Stage, warm
from tests.runtime.cycles import enforcing, populate
from tests.runtime.skewed import parts, spread
from tests.steering.readiness import NOT_STEERING, UNSTEERED, WHAT, missing, policies, ready

AUTO = SteeringFields.model_validate({"by": "Auto"})


def chosen(policies: PolicySet) -> list[tuple[str, str]]:
    steering = [policies.limits.steering_of(policy) for policy in policies.policies]
    return [(fields.by, fields.strength) for fields in steering]


def test_it_is_never_what_writes_nodes_or_needs_a_scheduler() -> None:
    assert AUTOMATIC == ("AdmissionPolicy", "Webhook")
    with pytest.raises(ValueError, match="Auto can only Prefer"):
        SteeringFields.model_validate({"by": "Auto", "strength": "Require"})


@pytest.mark.parametrize(
    ("version", "means"), [("v1.36.1", "AdmissionPolicy"), ("v1.33.2", "Webhook"), ("?", "Webhook")]
)
def test_what_is_ready_and_served_is_chosen(version: str, means: str) -> None:
    stage = warm(Stage())
    ready(stage)
    steering = Process(stage, "one").actor().steering
    for wanted in (policies(AUTO), policies(None, AUTO)):
        changed, notes = choose_automatic_steering(wanted, steering, lambda: version)
        assert (chosen(changed), notes) == ([(means, "Prefer")], [])


@pytest.mark.parametrize("what", WHAT)
def test_without_one_nothing_is_steered_and_it_is_said(what: str) -> None:
    steering = missing(warm(Stage()), what).actor().steering
    changed, notes = choose_automatic_steering(policies(None, AUTO), steering, lambda: "v1.36.1")
    assert chosen(changed) == [("None", "Prefer")]
    broken = ["STR002"] if what in NOT_STEERING else []
    assert [note.code for note in notes] == ["STR010", *broken]
    assert all(name in notes[0].message for name in AUTOMATIC)


def test_a_table_that_cannot_be_read_is_no_quiet_choice() -> None:
    stage = warm(Stage())
    ready(stage)
    process = Process(stage, "one")
    process.before = lambda _n, _m, path: 500 if "rescheduler-steering" in path else None
    changed, notes = choose_automatic_steering(
        policies(AUTO), process.actor().steering, lambda: "v1.36.1"
    )
    assert chosen(changed) == [("None", "Prefer")]
    assert [note.code for note in notes] == ["STR010", "STR001"]


def test_a_server_that_does_not_tell_its_version_is_not_steered() -> None:
    stage = warm(Stage())
    ready(stage)

    def silent() -> str:
        raise ClusterUnavailable("no answer", "")

    steering = Process(stage, "one").actor().steering
    changed, notes = choose_automatic_steering(policies(AUTO), steering, silent)
    assert chosen(changed) == [("None", "Prefer")]
    assert [note.code for note in notes] == ["STR010", "STR001"]
    assert all("no answer" in note.message for note in notes)


def test_only_who_wants_it_is_asked_for() -> None:
    process = missing(warm(Stage()), "right")
    wanted = policies(UNSTEERED, AUTO)
    changed, notes = choose_automatic_steering(wanted, process.actor().steering, str)
    assert (chosen(changed), notes) == (chosen(wanted), [])
    assert process.sent == []


@pytest.mark.parametrize("steers", [True, False])
def test_a_run_steers_by_what_was_chosen(steers: bool) -> None:
    stage = warm(Stage())
    populate(stage)
    if steers:
        ready(stage)
    acting = enforcing(stage, Process(stage, "one"))
    report = run_cycle(
        replace(acting, policies=lambda: policies(None, AUTO), version=lambda: "v1.36.1")
    )
    plan = plan_in(report)
    by = {move.steered.by for move in plan.moves if move.steered is not None}
    assert by <= ({"AdmissionPolicy"} if steers else set())
    assert ("STR010" in {note.code for note in plan.notes}) is not steers
    assert plan.limits["steering"]["by"] == ("AdmissionPolicy" if steers else "None")
    assert exit_code(report) == 0, "to steer nothing is no fault of what is automatic"


@pytest.mark.parametrize("what", WHAT)
def test_a_run_that_cannot_probe_acts_exactly_as_with_none(what: str) -> None:
    """Auto is the default, so it must be no less safe than steering nothing."""
    outcomes = []
    for limits in (Limits(minReplicas=1), Limits(minReplicas=1, steering=UNSTEERED)):
        stage = warm(Stage())
        populate(stage)
        acting = enforcing(stage, missing(stage, what))
        wanted = partial(policy_set, [spread()], limits, ())
        outcome = run_cycle(replace(acting, policies=wanted))
        assert isinstance(outcome, Outcome)
        outcomes.append((stage, outcome))
    (automatic_stage, automatic), (stage, unsteered) = outcomes
    assert stage.world.accepted == automatic_stage.world.accepted != []
    made = [[replace_in(move, readySeconds=None) for move in o.moves] for _, o in outcomes]
    assert made[0] == made[1], "but for the time that the world took"
    assert automatic.plan.digest == unsteered.plan.digest
    broken = what in NOT_STEERING
    assert (exit_code(automatic), exit_code(unsteered)) == (int(broken), 0)
    new = [note for note in automatic.plan.notes if note not in unsteered.plan.notes]
    assert [note.code for note in new] == ["STR010", *(["STR002"] if broken else [])]
    assert new[0].message.startswith("Nothing steers replacements here, so they go where ")


@pytest.mark.parametrize(
    ("shown", "means"),
    [
        (("AdmissionPolicy",), "AdmissionPolicy"),
        (("Webhook",), "Webhook"),
        (("AdmissionPolicy", "Webhook"), "AdmissionPolicy"),
        ((), "AdmissionPolicy"),  # of an earlier version, which does not tell its name
    ],
)
def test_what_shows_that_it_reads_the_table_is_chosen(shown: tuple[str, ...], means: str) -> None:
    stage = warm(Stage())
    ready(stage)
    stage.world.steers_by = shown
    steering = Process(stage, "one").actor().steering
    changed, notes = choose_automatic_steering(policies(AUTO), steering, lambda: "v1.36.1")
    assert (chosen(changed), notes) == ([(means, "Prefer")], [])
    for name in AUTOMATIC:
        assert (steering.confirm(name) is None) == (name in shown or not shown)


def test_where_nothing_was_chosen_it_plans_unsteered() -> None:
    plan = run_cycle(replace(parts(), policies=lambda: policies(None, AUTO)))
    unsteered = run_cycle(replace(parts(), policies=lambda: policies(None)))
    assert isinstance(plan, Plan)
    assert isinstance(unsteered, Plan)
    assert [move.pod for move in plan.moves] == [move.pod for move in unsteered.moves]
    assert not any(move.steered for move in plan.moves)
