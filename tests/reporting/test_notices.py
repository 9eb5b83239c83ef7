"""What people outside of the cluster are told, in sentences and in the form of each receiver."""

import json
from datetime import timedelta
from typing import Any, get_args

import pytest
from msgspec import structs

from rescheduler.model.idle_holder import IdleHolder
from rescheduler.model.moves.plan import Plan, Report
from rescheduler.model.notice import Notice, Occasion
from rescheduler.model.problem import Problem
from rescheduler.policies.notifications import Receiver
from rescheduler.reporting.notice_bodies import Receives, notice_body
from rescheduler.reporting.notices import MOST_LINES, notices
from tests.reporting import brought
from tests.reporting.hostile import poisoned
from tests.reporting.samples import TAKEN, demoted, empty, held, move, outcome, outcome_of, plan

DAY = timedelta(days=1)


def told(report: Report) -> dict[Occasion, Notice]:
    return {notice.occasion: notice for notice in notices(report)}


def idle(owners: int = 2) -> Plan:
    holders = [
        IdleHolder(namespace="ml", owner=f"Deployment/lab-{n}", pods=1, gpus=n + 1.0, use=0.05,
                   hours=10.0)
        for n in range(owners)
    ]  # fmt: skip
    made = empty()
    policies = [structs.replace(policy, idle=holders) for policy in made.policies]
    return structs.replace(made, policies=policies)


def test_moves_of_an_audit_run_await_review() -> None:
    notice = told(plan())["PlanAwaitsReview"]
    assert notice.title.startswith(f"Plan {plan().id} awaits review. Moves 6 pods")
    assert notice.lines[0].startswith("ml/bert-train-3: from gpu-a-0")
    assert ", expected on gpu-" in notice.lines[0]
    assert notice.cluster == "prod-gpu-1"
    assert not notice.warning


def test_nothing_awaits_review_without_moves_or_while_a_guard_holds() -> None:
    assert notices(empty()) == []
    guard = Problem("GRD006", "Evictions are paused.")
    assert set(told(plan(guards=[guard]))) == {"Hold"}


def test_another_plan_for_the_same_pods_says_the_same_again() -> None:
    later = plan(taken=TAKEN + timedelta(minutes=5))
    first, second = told(plan())["PlanAwaitsReview"], told(later)["PlanAwaitsReview"]
    assert first.plan != second.plan
    assert first.subject == second.subject
    fewer = told(plan(moves=[move(0)]))["PlanAwaitsReview"]
    assert fewer.subject != first.subject


def test_moves_that_were_made_say_where_each_replacement_is() -> None:
    notice = told(outcome())["MovesMade"]
    assert notice.title.startswith("Moved 2 of 6 pods")
    moved = [line for line in notice.lines if line.startswith(("ml/", "vision/"))]
    assert moved[0].endswith("was Ready after 41 s")
    assert len(moved) == 3


def test_moves_that_were_made_say_whether_earlier_ones_helped() -> None:
    measured = [structs.replace(one, at=TAKEN) for one in brought.measured(TAKEN)]
    lines = told(plan(mode="Enforce", measuredMoves=measured))["MovesMade"].lines
    assert any(line.endswith("earlier moves helped: 5.40 of 10.0 promised") for line in lines)
    worse = [structs.replace(measured[1], measured={"hot": -0.2}, promised={"hot": 4.1})]
    [line] = told(plan(measuredMoves=worse))["MovesMade"].lines
    assert line == "Policy hot: 1 earlier move did not help: -0.20 of 4.10 promised"


def test_what_was_measured_in_an_earlier_cycle_is_not_told_again() -> None:
    at = TAKEN - timedelta(minutes=5)
    assert "MovesMade" not in told(plan(measuredMoves=brought.measured(at)))


def test_a_run_that_evicted_nothing_made_no_moves() -> None:
    results = [structs.replace(result, result="refused") for result in outcome().moves]
    made = structs.replace(outcome().plan, measuredMoves=[])
    assert "MovesMade" not in told(outcome_of(made, *results))


def test_a_hold_names_its_code_and_what_to_do() -> None:
    notice = told(held())["Hold"]
    assert notice.warning
    assert notice.code == "GRD001"
    assert notice.title == (
        "No pod is evicted. All moves are held: Too many nodes are above their targets at once: a "
        "query is wrong, or the cluster is overloaded."
    )
    assert notice.lines[0].startswith("GRD001 31 of 60 nodes")
    assert "maxHotShare" in notice.lines[0]


def test_a_guard_is_a_hold_but_not_that_another_instance_leads() -> None:
    paused, other = (
        outcome_of(held_by_none(), verdict=Problem(code, "...")) for code in ("GRD006", "GRD005")
    )
    assert told(paused)["Hold"].subject == "GRD006"
    assert (
        told(paused)["Hold"].title == "No pod is evicted. All moves are held: Evictions are paused."
    )
    assert (
        "1 other guard holds them too."
        in told(outcome_of(held(), verdict=Problem("GRD006", "...")))["Hold"].title
    )
    assert "Hold" not in told(other)


def held_by_none() -> Plan:
    return structs.replace(empty(), mode="Enforce")


def test_a_demotion_names_the_policy_and_why() -> None:
    notice = told(demoted())["Demotion"]
    assert notice.code in ("MSR001", "SEL001")
    assert "as Audit for now." in notice.title
    assert all(" MSR001 " in line or " SEL00" in line for line in notice.lines)


def test_idle_gpus_are_told_by_owner_the_most_first() -> None:
    notice = told(idle())["IdleOwners"]
    assert notice.title == "2 owners hold GPUs that are hardly used: 68.4 GPU-hours a day."
    assert notice.lines[0] == ("ml/Deployment/lab-1: 2 GPUs, 5 % in use, 45.6 GPU-hours idle a day")


def test_a_long_list_is_cut_and_says_so() -> None:
    notice = told(idle(MOST_LINES + 3))["IdleOwners"]
    assert len(notice.lines) == MOST_LINES + 1
    assert notice.lines[-1] == "and 3 more"


def test_each_occasion_has_its_example_here() -> None:
    every = {
        notice.occasion
        for report in (plan(), outcome(), held(), demoted(), idle())
        for notice in notices(report)
    }
    assert every == set(get_args(Occasion))


def test_receivers_are_the_types_of_the_document() -> None:
    assert get_args(Receives) == get_args(Receiver.model_fields["type"].annotation)


def body(notice: Notice, receives: Receives, **fields: Any) -> Any:
    return json.loads(notice_body(notice, receives, DAY, **fields))


def test_a_webhook_gets_each_part_by_its_name() -> None:
    made = body(told(held())["Hold"], "Webhook")
    assert made["schemaVersion"] == "1"
    assert made["severity"] == "warning"
    assert made["cluster"] == "prod-gpu-1"
    assert made["at"] == "2026-11-21T14:02:07Z"


def test_text_cannot_mention_people_or_link_in_chat() -> None:
    notice = structs.replace(
        told(held())["Hold"], title="<!channel> a & b", lines=("<https://x|y> [a](b) *c*",)
    )
    slack = body(notice, "Slack")
    assert slack["text"] == "[prod-gpu-1] &lt;!channel&gt; a &amp; b"
    assert {block["text"]["type"] for block in slack["blocks"]} == {"plain_text"}
    card = body(notice, "Teams")["attachments"][0]["content"]
    assert {block["type"] for block in card["body"]} == {"RichTextBlock"}
    assert card["body"][1]["inlines"][0]["text"] == "• <https://x|y> [a](b) *c*"


@pytest.mark.parametrize("receives", get_args(Receives))
def test_no_message_is_longer_than_receivers_take(receives: Receives) -> None:
    notice = structs.replace(told(held())["Hold"], lines=("x" * 1000,) * 40, title="y" * 4000)
    made = notice_body(notice, receives, DAY)
    assert len(made) < 28 * 1024
    if receives == "Slack":
        texts = [block["text"]["text"] for block in json.loads(made)["blocks"]]
        assert max(map(len, texts)) <= 3000


@pytest.mark.parametrize("receives", get_args(Receives))
def test_names_from_the_cluster_cannot_draw(receives: Receives) -> None:
    for notice in notices(poisoned("plan", "\x1b[31m\u202e")):
        made = notice_body(notice, receives, DAY).decode()
        assert "\\u001b" not in made
        assert "\u202e" not in made


def test_an_alert_keeps_its_labels_and_ends_with_its_state() -> None:
    notice = told(held())["Hold"]
    [alert] = body(notice, "Alertmanager")
    [ended] = body(notice, "Alertmanager", ended=True)
    assert alert["labels"] == ended["labels"]
    assert alert["annotations"]["code"] == "GRD001"
    assert alert["endsAt"] == "2026-11-22T15:02:07.000+00:00"
    assert ended["endsAt"] == "2026-11-21T14:02:07.000+00:00"
    [event] = body(told(outcome())["MovesMade"], "Alertmanager")
    assert event["endsAt"] == "2026-11-21T15:02:07.000+00:00"
