"""`rescheduler status`, against an API server: what it reads, shows, and never writes."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result
from msgspec import structs

from rescheduler.acting.run import act
from rescheduler.runtime.report_keeping import LAST_REPORT, ReportKeeper, report_store
from rescheduler.sources.kubernetes.client import Connection
from tests.cli.recorded import call
from tests.fakes.apiserver import FakeServer, Fault, serving
from tests.fakes.moves import plan_of, planned
from tests.fakes.stage import Process, Stage, warm
from tests.fakes.truth import STATE
from tests.reporting import samples
from tests.runtime.skewed import SPREAD

KEY = ("configmaps", "rescheduler", LAST_REPORT)
CRON_JOB = ("cronjobs", "rescheduler", "rescheduler")


@pytest.fixture
def stage() -> Stage:
    return warm(Stage())


@pytest.fixture
def kubeconfig(server: FakeServer, tmp_path: Path) -> Path:
    config = {
        "current-context": "prod",
        "contexts": [{"name": "prod", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server.url}}],
        "users": [{"name": "u", "user": {"token": "secret"}}],
    }
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path


@pytest.fixture
def server(stage: Stage) -> Iterator[FakeServer]:
    with serving(stage.world) as running:
        stage.world.put(*KEY, {"apiVersion": "v1", "kind": "ConfigMap"})
        yield running


def keep(server: FakeServer, stage: Stage, minutes: float = 2) -> None:
    """A cycle ended so long ago, and its report was kept."""
    keeper = ReportKeeper(report_store(Connection(server.client(), "prod")), "pod-a")
    keeper.next_at = lambda: stage.now() + timedelta(minutes=3)
    keeper.keep_report(samples.outcome(), stage.now() - timedelta(minutes=minutes), 40.0)


def show(kubeconfig: Path, *arguments: str) -> Result:
    result = call("status", *arguments, "--kubeconfig", str(kubeconfig))
    assert "Traceback" not in result.output
    return result


def read(kubeconfig: Path, *arguments: str) -> dict[str, Any]:
    result = show(kubeconfig, "-o", "json", *arguments)
    assert result.exit_code == 0, result.output
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


def test_a_run_that_acts_shows_what_it_does(
    stage: Stage, server: FakeServer, kubeconfig: Path
) -> None:
    stage.world.place = lambda _: ""
    pods = [
        stage.world.add_pod(f"web-{n}", "n1", owner=("ReplicaSet", "rs-1"), app="a")
        for n in range(2)
    ]
    act(plan_of(stage.world, [planned(pods[0])]), Process(stage, "a").actor())
    keep(server, stage)
    status = read(kubeconfig)
    assert (status["cluster"], status["mode"], status["paused"]) == ("prod", "Enforce", False)
    assert status["reasons"] == []
    assert [record["instance"] for record in status["cycles"]] == ["pod-a"]
    used = {row["limit"]: row["used"] for row in status["budgets"] if not row["group"]}
    assert used["movesPerDay"] == 1
    assert [offer["command"] for offer in status["resets"]] == [
        "rescheduler reset hold default/web-0"
    ]
    assert "Last report  plan" in show(kubeconfig).stdout


def test_it_only_reads(server: FakeServer, stage: Stage, kubeconfig: Path) -> None:
    keep(server, stage)
    server.requests.clear()
    assert show(kubeconfig).exit_code == 0
    writes = [(method, path) for method, path, *_ in server.requests if method != "GET"]
    assert writes == []


def test_who_holds_the_lock_is_shown(server: FakeServer, stage: Stage, kubeconfig: Path) -> None:
    assert read(kubeconfig)["lock"] == {
        "holder": "", "renewed": read(kubeconfig)["lock"]["renewed"],
        "expires": read(kubeconfig)["lock"]["expires"], "live": False,
    }  # fmt: skip
    process = Process(stage, "holder-1")
    process.lease.acquire()
    lock = read(kubeconfig)["lock"]
    assert (lock["holder"], lock["live"]) == ("holder-1", True)
    stage.seconds += 120
    assert read(kubeconfig)["lock"]["live"] is False


def test_a_pause_is_the_first_thing_that_is_told(server: FakeServer, kubeconfig: Path) -> None:
    stored = server.world.objects[STATE]
    server.world.put(*STATE, {**stored, "data": {**stored["data"], "paused": "true"}})
    table = show(kubeconfig).stdout
    assert "paused by people" in table
    assert "GRD006 Evictions are paused. `rescheduler resume` lets them go on." in table


def test_a_state_that_was_lost_is_told_with_its_reset(server: FakeServer, kubeconfig: Path) -> None:
    server.world.put(*STATE, {**server.world.objects[STATE], "binaryData": {}})
    status = read(kubeconfig)
    assert status["reasons"][0]["code"] == "GRD004"
    assert status["resets"][0]["command"] == "rescheduler reset state"


def test_what_may_not_be_read_is_not_known_and_said(
    server: FakeServer, stage: Stage, kubeconfig: Path
) -> None:
    keep(server, stage)
    for path in ("leases", LAST_REPORT, "cronjobs"):
        server.faults.append(Fault("GET", path, 403, times=9))
    status = read(kubeconfig)
    assert status["lock"] is None
    assert status["cycles"] == []
    assert not any(reason["code"] == "GRD004" for reason in status["reasons"])
    assert [note.split(":")[0] for note in status["notes"]] == [
        "Who holds the lock is not known",
        "The last cycles are not known",
        "CronJob rescheduler could not be read",
        "Budgets are not known",
    ]


def test_without_a_report_the_limits_come_from_policies(
    server: FakeServer, kubeconfig: Path, tmp_path: Path
) -> None:
    assert read(kubeconfig)["budgets"] == []
    policies = tmp_path / "spread.yaml"
    policies.write_text(SPREAD)
    budgets = read(kubeconfig, "--policies", str(policies))["budgets"]
    assert {"movesPerCycle", "movesPerHour", "movesPerDay"} == {row["limit"] for row in budgets}


def test_a_cronjob_says_when_the_next_cycle_begins(
    server: FakeServer, stage: Stage, kubeconfig: Path
) -> None:
    spec = {"schedule": "*/15 * * * *", "timeZone": "Etc/UTC", "suspend": False}
    server.world.put(*CRON_JOB, {"spec": spec})
    status = read(kubeconfig)
    at = datetime.fromisoformat(status["next"]["at"])
    assert at > stage.now()
    assert at.astimezone(UTC).minute % 15 == 0
    server.world.put(*CRON_JOB, {"spec": {**spec, "suspend": True}})
    assert "CronJob rescheduler is suspended" in show(kubeconfig).stdout
    server.world.put(*CRON_JOB, {"spec": {**spec, "schedule": "@reboot"}})
    assert read(kubeconfig)["next"]["at"] is None


def test_the_page_of_the_last_report(server: FakeServer, stage: Stage, kubeconfig: Path) -> None:
    missing = show(kubeconfig, "-o", "html")
    assert missing.exit_code == 1
    assert "no report is kept in cluster prod" in missing.stderr
    keep(server, stage)
    assert show(kubeconfig, "-o", "html").stdout.startswith("<!doctype html>")


def test_watching_shows_it_until_it_is_stopped(
    server: FakeServer, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []

    def sleep(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("rescheduler.cli.status.time.sleep", sleep)
    watched = show(kubeconfig, "--watch")
    assert watched.stdout.count("Status of cluster prod") == 2
    assert watched.exit_code == 130
    assert show(kubeconfig, "--watch", "-o", "json").exit_code == 2


def test_an_empty_cluster_is_told_from_one_where_nothing_is_kept(
    server: FakeServer, stage: Stage, kubeconfig: Path
) -> None:
    del server.world.objects[KEY]
    assert "The cycles of this cluster are not kept" in show(kubeconfig).stdout
    del server.world.objects[STATE]
    server.world.objects.pop(("leases", "rescheduler", "rescheduler"), None)
    assert "Nothing of the rescheduler is in this cluster" in show(kubeconfig).stdout


def test_a_hostile_cause_cannot_draw_on_the_terminal(
    server: FakeServer, stage: Stage, kubeconfig: Path
) -> None:
    keeper = ReportKeeper(report_store(Connection(server.client(), "prod")), "pod\x1b[31m")
    failed = "\x1b]0;owned\x07 did not answer"
    keeper.keep_failure(failed, stage.now(), 1.0, mode="Enforce")
    assert "\x1b" not in show(kubeconfig).stdout


def test_a_report_with_policies_of_another_version_stops_nothing(
    server: FakeServer, stage: Stage, kubeconfig: Path
) -> None:
    plan = samples.plan()
    (first, *rest) = plan.policies
    other = structs.replace(first, document={**first.document, "kind": "FromTheFuture"})
    keeper = ReportKeeper(report_store(Connection(server.client(), "prod")), "pod-a")
    keeper.keep_report(structs.replace(plan, policies=[other, *rest]), stage.now(), 1.0)
    status = read(kubeconfig)
    assert status["cycles"]
    assert status["notes"][0].startswith("The policies of the last report are not known to this")
