"""`rescheduler pause` and `resume`: one field is written, after people were asked."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result

from rescheduler.acting.run import act
from rescheduler.cli.shared import confirmation
from tests.cli.recorded import call
from tests.fakes.apiserver import FakeServer, Fault, serving
from tests.fakes.moves import plan_of, planned
from tests.fakes.stage import Process, Stage, warm
from tests.fakes.truth import STATE


@pytest.fixture
def stage() -> Stage:
    return warm(Stage())


@pytest.fixture
def server(stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    with serving(stage.world) as running:
        config = {
            "current-context": "prod",
            "contexts": [{"name": "prod", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": running.url}}],
            "users": [{"name": "u", "user": {"token": "secret"}}],
        }
        path = tmp_path / "kubeconfig"
        path.write_text(yaml.safe_dump(config))
        monkeypatch.setenv("KUBECONFIG", str(path))
        yield running


def run(*arguments: str, answer: str = "") -> Result:
    return call(*arguments, "--kubeconfig", os.environ["KUBECONFIG"], input=answer)


def state(server: FakeServer) -> dict[str, Any]:
    found: dict[str, Any] = server.world.objects[STATE]
    return found


def test_a_pause_holds_evictions_until_it_is_resumed(stage: Stage, server: FakeServer) -> None:
    before = state(server)
    paused = run("pause", "--yes")
    assert (paused.exit_code, paused.stderr) == (0, "")
    assert "Evictions in cluster prod are paused." in paused.stdout
    assert state(server)["data"] == {**before["data"], "paused": "true"}
    assert state(server)["binaryData"] == before["binaryData"]
    pod = stage.world.add_pod("web-0", "n1", owner=("ReplicaSet", "rs-1"), app="a")
    held = act(plan_of(stage.world, [planned(pod)]), Process(stage, "a").actor())
    assert held.verdict.code == "GRD006"
    resumed = run("resume", "--yes")
    assert "The pause in cluster prod has ended." in resumed.stdout
    went = act(plan_of(stage.world, [planned(pod)]), Process(stage, "b").actor())
    assert went.moves[0].result == "evicted"


def test_what_is_so_already_is_not_written_again(server: FakeServer) -> None:
    assert "are not paused. Nothing was changed." in run("resume").stdout
    run("pause", "--yes")
    writes = len(server.sent("PUT", "configmaps"))
    assert "are paused already. Nothing was changed." in run("pause").stdout
    assert len(server.sent("PUT", "configmaps")) == writes


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_nothing_is_written_without_a_yes(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    if verb == "resume":
        run("pause", "--yes")
    before = state(server)["data"]
    refused = run(verb)
    assert refused.exit_code == 2
    assert "Give --yes" in refused.stderr
    monkeypatch.setattr(confirmation, "has_terminal", lambda: True)
    assert "Aborted" in run(verb, answer="n\n").stderr
    assert state(server)["data"] == before
    assert run(verb, answer="y\n").exit_code == 0
    assert state(server)["data"]["paused"] == str(verb == "pause").lower()


def test_a_pause_can_come_before_the_first_run(server: FakeServer) -> None:
    del server.world.objects[STATE]
    assert run("pause", "--yes").exit_code == 0
    assert state(server)["data"] == {"paused": "true"}


def test_a_write_that_meets_another_one_is_tried_again(server: FakeServer) -> None:
    server.faults.append(Fault("PUT", "configmaps", 409, times=2))
    assert run("pause", "--yes").exit_code == 0
    server.faults.append(Fault("PUT", "configmaps", 409, times=3))
    given_up = run("resume", "--yes")
    assert given_up.exit_code == 1
    assert "changed 3 times while it was written" in given_up.stderr
    assert state(server)["data"]["paused"] == "true"
