"""Plans that were saved: shown again, approved, refused once edited, and what to type next."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rescheduler.model.moves.plan import ClusterRef
from rescheduler.model.moves.search_summary import SearchSummary
from rescheduler.model.problem import Problem
from rescheduler.reporting.formats.plan_json import to_json
from rescheduler.runtime.cycle import withheld
from tests.cli.recorded import NOWHERE, PLAN, call, edit, here, made, write_plan
from tests.sources.connected import kubeconfig
from tests.sources.objects import named
from tests.sources.server import Reply, serving

__all__ = ["here"]


def test_a_saved_plan_is_rendered_again(here: Path) -> None:
    call(*PLAN, "-o", "json", "--out", "plan.json")
    shown = re.split(r"\n(?:Review|Plan live):", call("render", "plan.json", "-o", "table").stdout)
    made = re.split(r"\n(?:Review|Plan live):", call(*PLAN).stdout)
    assert shown[0] == made[0], "only the next commands name what is known of each"
    assert len(shown) == len(made) == 3
    again = call("render", "plan.json", "-o", "json").stdout
    assert again == Path("plan.json").read_text()


def test_a_plan_goes_on_from_one_whose_time_was_up(here: Path) -> None:
    search = SearchSummary(stopped="time", steps=1, gain=0.0, bound=0.0)
    plan = write_plan(search=search)
    again = (*PLAN, "--last-plan", "plan.json", "--search-steps", "1")
    result = call(*again, "-o", "json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert [move["pod"]["uid"] for move in found["moves"]] == [m.pod.uid for m in plan.moves]
    assert found["search"]["resumed"] == pytest.approx(sum(move.gain for move in plan.moves))
    table = " ".join(call(*again).stdout.split())
    assert "is gained by moves of the last plan" in table
    assert "last plan" not in call(*PLAN).stdout


@pytest.mark.parametrize(
    ("cluster", "file", "code", "said"),
    [
        ("other", "plan.json", 5, "was made for cluster other"),
        ("cluster-1", "text.txt", 2, "text.txt"),
        ("cluster-1", "absent.json", 2, "absent.json cannot be read"),
    ],
)
def test_what_is_no_last_plan_of_this_cluster_is_told(
    here: Path, cluster: str, file: str, code: int, said: str
) -> None:
    write_plan(cluster=ClusterRef(uid=cluster, name="c"))
    result = call(*PLAN, "--last-plan", file)
    assert result.exit_code == code, result.output
    assert said in result.stderr
    assert "Maybe" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("changes", "code", "said"),
    [
        ({"recorded": True}, 5, "recorded snapshot"),
        ({"expires": datetime(2026, 1, 1, tzinfo=UTC)}, 5, "expired at 2026-01-01"),
        ({"schemaVersion": "99"}, 2, "99"),
        ({}, 1, "127.0.0.1:1"),
    ],
)
def test_apply_refuses_what_is_not_a_fresh_plan(
    here: Path, changes: dict[str, Any], code: int, said: str
) -> None:
    write_plan(**changes)
    result = call("apply", "plan.json", "--yes", *NOWHERE)
    assert result.exit_code == code, result.output
    assert said in result.stderr
    assert result.stdout == ""


def test_a_plan_for_another_cluster_is_not_applied_and_nothing_written(here: Path) -> None:
    """Not even the lock and the state of the rescheduler that runs there are touched."""
    write_plan(cluster=ClusterRef(uid="uid-of-production", name="production"))
    namespace = json.dumps(named("kube-system")).encode()
    with serving(lambda _: Reply(namespace)) as staging:
        kubeconfig(here, staging.url)
        result = call("apply", "plan.json", "--yes", *NOWHERE)
    assert (result.exit_code, result.stdout) == (5, "")
    assert "was made for cluster uid-of-production (production)" in result.stderr
    assert "here is uid-kube-system" in result.stderr
    assert {request.method for request in staging.requests} == {"GET"}


def test_an_outcome_cannot_be_applied_and_is_shown(here: Path) -> None:
    plan = made()
    done = Problem(code="GRD006", message="paused")
    Path("outcome.json").write_bytes(to_json(withheld(plan, done, plan.taken)))
    refused = call("apply", "outcome.json", "--yes", *NOWHERE)
    assert refused.exit_code == 2
    assert f"the outcome of plan {plan.id}, which was carried out already" in refused.stderr
    shown = call("render", "outcome.json")
    assert f"OUTCOME {plan.id}" in shown.stdout
    assert call("render", "outcome.json", "-o", "json").stdout == Path("outcome.json").read_text()
    outcome = json.loads(Path("outcome.json").read_text())
    outcome["plan"]["limits"]["movesPerHour"] = 900
    Path("outcome.json").write_text(json.dumps(outcome))
    edited = call("render", "outcome.json")
    assert (edited.exit_code, edited.stdout) == (5, "")
    assert "changed: `plan.limits`" in edited.stderr


@pytest.mark.parametrize("verb", [("apply", "--yes", *NOWHERE), ("render",)])
def test_an_edited_plan_is_neither_applied_nor_shown(here: Path, verb: tuple[str, ...]) -> None:
    plan = write_plan()
    edit(limits={**plan.limits, "movesPerHour": 900})
    result = call(*verb, "plan.json", "--out", "shown")
    assert (result.exit_code, result.stdout) == (5, "")
    assert f"plan.json was changed after it was written: its digest is {plan.digest}" in (
        result.stderr
    )
    assert "changed: `limits`\n  Maybe make a new plan" in result.stderr
    assert not Path("shown").exists()


def test_apply_carries_out_no_plan_but_the_approved_one(here: Path) -> None:
    plan = write_plan()
    apply = ("apply", "plan.json", "--yes", *NOWHERE)
    for approved in (plan.id, plan.digest, plan.digest[:20].upper()):
        fine = call(*apply, "--digest", approved)
        assert fine.exit_code == 1, "it got as far as the cluster, which is not there"
        assert "127.0.0.1:1" in fine.stderr
    other = "0" * 12 if plan.id != "0" * 12 else "1" * 12
    for approved in (other, plan.digest[:-1] + ("0" if plan.digest[-1] != "0" else "1")):
        refused = call(*apply, "--digest", approved)
        assert (refused.exit_code, refused.stdout) == (5, "")
        assert f"plan.json holds plan {plan.digest}, and {approved} was approved" in refused.stderr
    assert call(*apply, env={"RESCHEDULER_DIGEST": other}).exit_code == 5


@pytest.mark.parametrize("approved", ["", "latest", "1f0c42aa91d", "0x1f0c42aa91d3", "1" * 65])
def test_an_approval_that_is_no_digest_is_refused(here: Path, approved: str) -> None:
    write_plan()
    apply = ("apply", "plan.json", "--yes", *NOWHERE)
    assert call(*apply, "--digest", approved).exit_code == 2
    told = call(*apply, env={"RESCHEDULER_DIGEST": approved})
    assert told.exit_code == 2
    assert "127.0.0.1" not in told.stderr


def test_apply_needs_yes_where_nobody_can_be_asked(here: Path) -> None:
    write_plan()
    result = call("apply", "plan.json", *NOWHERE)
    assert result.exit_code == 2
    assert "--yes" in result.stderr


def test_the_next_commands_can_be_run_as_they_stand(here: Path) -> None:
    plan = write_plan()
    told = call("render", "plan.json").stdout
    assert "\nReview: rescheduler render plan.json -o html --out plan.html\n" in told
    assert f"\nApply:  rescheduler apply plan.json --digest {plan.id} --yes\n" in told
    Path("my plan.json").write_text(Path("plan.json").read_text())
    again = call("render", "my plan.json").stdout
    assert f"rescheduler apply 'my plan.json' --digest {plan.id} --yes\n" in again
