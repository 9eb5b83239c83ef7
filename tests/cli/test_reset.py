"""`rescheduler reset`: by name, of what is there, and never of a budget that can be believed."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from rescheduler.acting.run import act
from rescheduler.model.moves.calibration import LandingRecord, WorkloadLandings
from rescheduler.model.moves.gains import GainRecord
from rescheduler.model.moves.history import History
from tests.cli.recorded import call
from tests.cluster import NOW
from tests.fakes.apiserver import FakeServer, serving
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
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": running.url}}],
            "users": [{"name": "u", "user": {"token": "secret"}}],
        }
        path = tmp_path / "kubeconfig"
        path.write_text(yaml.safe_dump(config))
        monkeypatch.setenv("KUBECONFIG", str(path))
        yield running


def reset(*arguments: str) -> str:
    result = call("reset", *arguments, "--kubeconfig", os.environ["KUBECONFIG"])
    assert result.exit_code == 0, result.output
    return str(result.stdout)


def known(stage: Stage, change: Any = None) -> History:
    """The history in the state; change: is made to it first."""
    process = Process(stage, f"at {stage.seconds} {change}")
    if change is None:
        return process.ledger.peek()
    process.lease.acquire()
    history = process.ledger.open()
    change(history)
    process.ledger.write(history)
    process.lease.release()
    stage.seconds += 60
    return history


def lost(stage: Stage) -> None:
    stage.world.place = lambda _: ""
    pods = [
        stage.world.add_pod(f"web-{n}", "n1", owner=("ReplicaSet", "rs-1"), app="a")
        for n in range(2)
    ]
    act(plan_of(stage.world, [planned(pods[0])]), Process(stage, "a").actor())
    stage.seconds += 60


@pytest.mark.parametrize("name", ["default", "default/web-0"])
def test_a_missing_replacement_is_forgiven(stage: Stage, server: FakeServer, name: str) -> None:
    lost(stage)
    assert "nothing to reset: no hold of other" in reset("hold", "other")
    assert "reset" not in stage.world.objects[STATE]["data"]
    assert "pod default/web-0 holds nobody any more" in reset("hold", name)
    (move,) = known(stage, lambda _: None).moves
    assert (move.forgiven, move.charged, move.state) == (True, True, "lost"), "no budget is back"
    assert "reset" not in stage.world.objects[STATE]["data"], "it is done once"
    assert "nothing to reset" in reset("hold", name)


def test_what_is_forgiven_holds_nobody(stage: Stage, server: FakeServer) -> None:
    lost(stage)
    other = stage.world.add_pod("api-0", "n2", owner=("ReplicaSet", "rs-2"), app="b")
    stage.world.place = lambda _: "spare"
    held = act(plan_of(stage.world, [planned(other)]), Process(stage, "b", missed=True).actor())
    assert held.verdict.code == "GRD003"
    reset("hold", "default")
    went = act(plan_of(stage.world, [planned(other)]), Process(stage, "c", missed=True).actor())
    assert went.moves[0].code == "ACT001"


def test_a_slow_namespace_is_read_again(stage: Stage, server: FakeServer) -> None:
    known(stage, lambda history: history.slow.update({"big": stage.now()}))
    assert "namespace big is read again" in reset("hold", "big")
    assert known(stage, lambda _: None).slow == {}


@pytest.mark.parametrize(("name", "kept"), [("ReplicaSet", 0), ("ReplicaSet/evil", 1)])
def test_landings_are_forgotten_by_kind(
    stage: Stage, server: FakeServer, name: str, kept: int
) -> None:
    def learn(history: History) -> None:
        for kind in ("ReplicaSet", "Job"):
            record = LandingRecord(kind=kind, version="1.36", compared=2, weight=2.0)
            record.workloads = {n: WorkloadLandings(n, NOW, 0.0) for n in ("evil", "good")}
            history.landings.append(record)

    known(stage, learn)
    assert "no landings of StatefulSet is known" in reset("landings", "StatefulSet")
    assert "with ReplicaSet pods under scheduler 1.36 are forgotten" in reset("landings", name)
    left = {landing.kind: len(landing.workloads) for landing in known(stage).landings}
    assert left == {"ReplicaSet": kept, "Job": 2}


def test_a_demotion_ends_by_name(stage: Stage, server: FakeServer) -> None:
    def demote(history: History) -> None:
        for name in ("hot", "spread"):
            record = GainRecord(policy=name)
            record.demote(stage.now(), "measured 0 of 8")
            history.gains.append(record)

    known(stage, demote)
    assert "nothing to reset" in reset("demotion", "other")
    assert "policy hot is demoted no more" in reset("demotion", "hot")
    assert [gain.policy for gain in known(stage).gains] == ["spread"]


def test_a_state_that_can_be_believed_is_never_reset(stage: Stage, server: FakeServer) -> None:
    lost(stage)
    assert "nothing to reset: the state can be believed" in reset("state")
    assert "budgets" not in stage.world.objects[STATE]["data"]
    assert len(known(stage, lambda _: None).moves) == 1


@pytest.mark.parametrize("fault", ["lost", "gone", "damaged"])
def test_a_lost_state_is_accepted_again(stage: Stage, server: FakeServer, fault: str) -> None:
    lost(stage)
    if fault == "gone":
        del stage.world.objects[STATE]
    elif fault == "lost":
        stage.world.put(*STATE, {**stage.world.objects[STATE], "binaryData": {}})
    else:
        stored = stage.world.objects[STATE]
        stage.world.put(*STATE, {**stored, "data": {**stored["data"], "checksum": "0"}})
    held = act(plan_of(stage.world, []), Process(stage, "b").actor())
    assert held.verdict.code == "GRD004"
    assert "The next run begins with an empty state" in reset("state")
    stage.seconds += 60
    went = act(plan_of(stage.world, []), Process(stage, "c").actor())
    assert went.verdict.code == "ACT013"
    assert known(stage).moves == []


@pytest.mark.parametrize("arguments", [("hold",), ("state", "x"), ("budgets",)])
def test_what_is_not_said_in_full_is_refused(arguments: tuple[str, ...]) -> None:
    assert call("reset", *arguments).exit_code == 2
