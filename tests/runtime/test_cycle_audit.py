"""Cycles and evictions in the audit trail, also where processes die at any point."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from rescheduler.acting.reconcile import hold_lock
from rescheduler.acting.run import act
from rescheduler.actions.trail_file import TrailFile
from rescheduler.actions.trail_writer import Trail
from rescheduler.model.cluster.readings import Reading, ReadingRequest, Readings
from rescheduler.model.errors import PolicyError, TrailUnwritable
from rescheduler.model.moves.plan import Outcome, PlannedMove
from rescheduler.model.trails.trail import (
    AnswerRecord,
    AnyRecord,
    CycleEnd,
    CycleStart,
    FollowUpRecord,
    Input,
    Intent,
    MoveEnd,
    Observed,
    Planned,
    PlannedStep,
    Record,
    read_record,
)
from rescheduler.model.trails.trail_chain import TrailChain
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.runtime.cycle import Parts, run_cycle
from rescheduler.runtime.exit_codes import exit_code
from rescheduler.sources.trail_reader import read_lines
from tests.fakes.moves import plan_of, planned
from tests.fakes.stage import Killed, Process, Stage
from tests.runtime.cycles import enforcing, populate
from tests.runtime.skewed import hot, parts, skewed, spread


def written(path: Path) -> list[AnyRecord]:
    """The records in the trail, whose chain is whole."""
    chain, records = TrailChain(), []
    for line in read_lines(str(path)):
        entry = chain.add(line.data, line.file, line.number)
        record = None if entry is None else read_record(entry)
        if record is not None:
            records.append(record)
    chain.finish()
    assert (chain.broken, chain.warnings) == (0, [])
    return records


def trail(path: Path, stage: Stage) -> Trail:
    return Trail(TrailFile(path, most_bytes=1 << 20, keep=5), now=stage.now)


def with_trail(made: Parts, process: Process, record: Any) -> Parts:
    """The parts, whose cycle and actor write to that trail."""
    actor = made.actor
    assert actor is not None
    return replace(
        made, record=record, actor=lambda argument: replace(actor(argument), record=record)
    )


class Broken:
    """A trail that takes so many records of a kind, and then cannot be written."""

    def __init__(self, *kinds: type[Record]) -> None:
        self.kinds = kinds
        self.records: list[Record] = []

    def __call__(self, record: Record) -> None:
        if isinstance(record, self.kinds):
            raise TrailUnwritable("the audit trail t cannot be written: no room", "make room.")
        self.records.append(record)


def test_a_cycle_leaves_all_that_it_did(tmp_path: Path) -> None:
    stage = Stage()
    populate(stage)
    process = Process(stage, "one")
    made = trail(tmp_path / "t", stage)
    outcome = run_cycle(with_trail(enforcing(stage, process), process, made.record))
    assert isinstance(outcome, Outcome)
    records = written(tmp_path / "t")
    start, seen, plan, move, intent, answer, landed, ready, became, end = records
    assert isinstance(start, CycleStart)
    assert isinstance(seen, Observed)
    assert isinstance(plan, Planned)
    assert isinstance(move, PlannedStep)
    assert isinstance(intent, Intent)
    assert isinstance(answer, AnswerRecord)
    assert isinstance(landed, FollowUpRecord)
    assert isinstance(ready, FollowUpRecord)
    assert isinstance(became, MoveEnd)
    assert isinstance(end, CycleEnd)
    (result,) = outcome.moves
    assert (start.mode, len(start.policies)) == ("Enforce", 64)
    assert (seen.nodes, seen.pods) == (3, 4)
    assert (plan.id, plan.digest, plan.moves) == (outcome.plan.id, outcome.plan.digest, 1)
    assert [policy.name for policy in plan.policies] == ["zones"]
    assert plan.policies[0].before > plan.policies[0].after
    assert move.move == outcome.plan.moves[0]
    assert (move.move.pod.uid, move.move.source) == (result.pod.uid, "n1")
    assert {record.uid for record in (intent, answer, landed, ready, became)} == {result.pod.uid}
    assert intent.fence == process.ledger.fence
    assert (answer.result, answer.code) == ("evicted", "ACT001")
    assert (landed.state, landed.node, landed.predicted) == (
        "evicted",
        result.landedOn,
        result.predicted,
    )
    assert (ready.state, ready.predicted, ready.seconds) == ("ready", None, result.readySeconds)
    assert (end.verdict, end.exit, end.code, end.evicted) == ("done", 0, "ACT013", 1)


def test_an_audit_cycle_says_what_it_would_do_and_how_good_readings_are() -> None:
    records: list[Record] = []
    made = replace(parts(policies=lambda: policy_set([spread(), hot()])), record=records.append)
    plan = run_cycle(made)
    kinds = [type(record) for record in records]
    assert kinds[0] is CycleStart
    assert kinds[-2:] == [PlannedStep, CycleEnd]
    end = records[-1]
    assert isinstance(end, CycleEnd)
    assert end.verdict == "partly"
    assert end.exit == exit_code(plan) == 1
    states = {
        policy.name: policy.problem
        for policy in next(r for r in records if isinstance(r, Planned)).policies
    }
    assert states["zones"] is None
    assert states["hot"] is not None


def reading() -> Reading:
    """The processor load of two of three nodes."""
    return Reading(
        request=ReadingRequest("node.cpu"),
        unit="ratio",
        values=np.array([0.5, 0.25, np.nan]),
        ages=np.array([10.0, 30.0, np.nan]),
        expected=np.array([True, True, True]),
        notes=("n9: no such node",),
    )


def test_readings_are_recorded_with_what_is_missing() -> None:
    records: list[Record] = []
    observe = replace(skewed(), readings=Readings((reading(),)))
    run_cycle(replace(parts(observe=lambda *_: observe), record=records.append))
    (found,) = [record for record in records if isinstance(record, Input)]
    assert (found.reading, found.series, found.missing) == ("node.cpu", 2, 1)
    assert found.maxAgeSeconds == 30.0
    assert found.warnings == ["n9: no such node"]


def test_policies_that_cannot_be_used_are_a_failed_cycle() -> None:
    def load() -> Any:
        raise PolicyError("zones.yaml:3:1: no such field")

    records: list[Record] = []
    with pytest.raises(PolicyError):
        run_cycle(replace(parts(policies=load), record=records.append))
    start, end = records
    assert isinstance(start, CycleStart)
    assert isinstance(end, CycleEnd)
    assert (end.verdict, end.exit) == ("failed", 2)
    assert "zones.yaml" in end.message


@pytest.mark.parametrize("kind", [CycleStart, Observed, Planned, PlannedStep, Intent])
def test_nothing_is_evicted_where_what_announces_it_cannot_be_written(kind: type[Record]) -> None:
    stage = Stage()
    populate(stage)
    process = Process(stage, "one")
    made = with_trail(enforcing(stage, process), process, Broken(kind))
    if kind is Intent:
        outcome = run_cycle(made)
        assert isinstance(outcome, Outcome)
        assert outcome.verdict.code == "ACT016"
        assert "no room" in outcome.verdict.message
        assert exit_code(outcome) == 1
    else:
        with pytest.raises(TrailUnwritable, match="no room"):
            run_cycle(made)
    assert stage.world.accepted == []
    assert Process(stage, "reader").ledger.peek().moves == []
    assert not process.lease.held


def test_an_outcome_whose_end_cannot_be_written_keeps_what_was_done() -> None:
    stage = Stage()
    populate(stage)
    process = Process(stage, "one")
    outcome = run_cycle(with_trail(enforcing(stage, process), process, Broken(CycleEnd)))
    assert isinstance(outcome, Outcome)
    assert outcome.moves[0].result == "evicted"
    assert outcome.verdict.code == "ACT016"
    assert "no room" in outcome.verdict.message
    assert "ACT013" in outcome.verdict.message
    assert exit_code(outcome) == 1


def test_a_plan_whose_end_cannot_be_written_is_a_failure() -> None:
    with pytest.raises(TrailUnwritable, match="no room"):
        run_cycle(replace(parts(), record=Broken(CycleEnd)))


def test_two_faults_are_both_reported() -> None:
    def load() -> Any:
        raise PolicyError("zones.yaml:3:1: no such field")

    with pytest.raises(TrailUnwritable, match=r"zones.yaml.*no room"):
        run_cycle(replace(parts(policies=load), record=Broken(CycleEnd)))


def moves(stage: Stage) -> list[PlannedMove]:
    first = stage.world.add_pod("web-1", "n1", owner=("ReplicaSet", "rs-1"), app="web")
    second = stage.world.add_pod("api-1", "n2", owner=("ReplicaSet", "rs-2"), app="api")
    return [planned(first), planned(second, batch=2)]


@pytest.mark.parametrize("number", range(40))
@pytest.mark.parametrize("when", ["before", "after"])
def test_i26_each_accepted_eviction_has_its_answer_wherever_a_process_dies(
    tmp_path: Path, when: str, number: int
) -> None:
    stage = Stage()
    plan = plan_of(stage.world, moves(stage))

    def die(at: int, *_: str) -> None:
        if at == number:
            raise Killed

    first = Process(stage, "first")
    setattr(first, when, die)
    made = trail(tmp_path / "t", stage)
    try:
        act(plan, replace(first.actor(), record=made.record))
    except Killed:
        made._close()  # as the kernel does
    stage.seconds += 600
    second = Process(stage, "second")
    with hold_lock(replace(second.actor(), record=trail(tmp_path / "t", stage).record)):
        pass
    records = written(tmp_path / "t") if (tmp_path / "t").exists() else []
    for uid in stage.world.accepted:
        mine = [record for record in records if getattr(record, "uid", "") == uid]
        kinds = [type(record) for record in mine]
        accepted = [
            isinstance(record, AnswerRecord) and record.result == "evicted" for record in mine
        ]
        found = [
            isinstance(record, FollowUpRecord) and record.result == "evicted" for record in mine
        ]
        assert kinds[0] is Intent
        assert kinds.count(Intent) == 1
        assert sum(accepted) <= 1
        assert any(accepted) or any(found)


def test_a_lost_replacement_and_its_late_return_are_recorded() -> None:
    stage = Stage()
    stage.world.place = lambda _: ""
    records: list[Record] = []
    process = Process(stage, "a")
    first = moves(stage)[:1]
    act(plan_of(stage.world, first), replace(process.actor(), record=records.append))
    assert [type(record) for record in records] == [Intent, AnswerRecord, FollowUpRecord]
    lost = records[-1]
    assert isinstance(lost, FollowUpRecord)
    assert (lost.state, lost.code, lost.node) == ("lost", "ACT011", "")


def test_a_refused_eviction_has_an_answer_and_the_plan_is_named() -> None:
    stage = Stage()
    records: list[Record] = []

    def refuse(_number: int, method: str, path: str) -> int | None:
        return 403 if method == "POST" and path.endswith("/eviction") else None

    process = Process(stage, "a", before=refuse)
    plan = plan_of(stage.world, moves(stage)[:1])
    act(plan, replace(process.actor(), record=records.append))
    intent, answer = records
    assert isinstance(answer, AnswerRecord)
    assert (answer.result, answer.code, answer.plan) == ("refused", "ACT007", plan.id)
    assert structs.asdict(intent)["source"] == "n1"
