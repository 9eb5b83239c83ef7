"""What a gang that is moved as a whole leaves in the state, also where its run is killed."""

import pytest

from rescheduler.actions.evict import EvictionAnswer
from rescheduler.actions.steering.steering_format import read
from rescheduler.model.moves.plan import PlannedMove
from rescheduler.model.moves.steering_entry import Steered
from tests.acting.gang_runs import ROOM, gang, run, stage
from tests.fakes.outcomes import history, results
from tests.fakes.stage import Killed, Process, Stage, warm
from tests.fakes.steering import TABLE_KEY

__all__ = ["stage"]


def test_a_crash_at_any_request_evicts_nothing_twice_and_forgets_no_budget() -> None:
    whole = warm(Stage())
    moves = gang(whole)
    sent = Process(whole, "a", limits=ROOM)
    run(whole, *moves, process=sent)
    count = len(sent.sent)
    assert count > 10
    for moment in ("before", "after"):
        for number in range(count):
            stage = warm(Stage())
            moves = gang(stage)
            process = Process(stage, "a", limits=ROOM)

            def dies(at: int, *_: object, number: int = number) -> None:
                if at == number:
                    raise Killed

            setattr(process, moment, dies)
            with pytest.raises(Killed):
                run(stage, *moves, process=process)
            evicted = list(stage.world.accepted)
            stage.seconds += 600
            stage.world.tick()
            following = Process(stage, "b", limits=ROOM)
            run(stage, process=following)
            assert stage.world.accepted == evicted, "a later run evicts none of it by itself"
            assert len(set(evicted)) == len(evicted)
            found = {past.podUid: past for past in history(stage)}
            for uid in evicted:
                assert found[uid].charged, "no budget is forgotten"
            assert not [past for past in found.values() if past.state == "intended"]


def test_a_steering_entry_is_in_the_state_before_it_is_in_the_table(
    stage: Stage,
) -> None:
    """A process that ends right then must find in the state what it has to sweep."""
    stage.world.put(*TABLE_KEY, {"apiVersion": "v1", "kind": "ConfigMap"})
    stage.world.steers = True
    for number, name in enumerate(("n5", "n6")):
        stage.world.add_pod(f"t-{number}", name, owner=("ReplicaSet", f"o-{number}"), app="o")
    told = Steered(by="AdmissionPolicy", strength="Prefer", nodes=["n5", "n6"])
    seen: list[tuple[int, bool]] = []

    def before(_number: int, _method: str, _path: str) -> None:
        table = read(stage.world.objects[TABLE_KEY].get("data") or {})[0]
        entered = {entry.pod for entry in table}
        if entered:
            opened = {past.podUid for past in history(stage) if past.steered and past.steered.open}
            seen.append((len(entered), entered <= opened))

    process = Process(stage, "a", before=before, limits=ROOM)
    busy = [EvictionAnswer("refused", "ACT005", "later", retry_after=2.0)]
    evict = process._evict
    missing: list[str] = []

    def evicted(move: PlannedMove, plan: str, fence: int) -> EvictionAnswer:
        table = read(stage.world.objects[TABLE_KEY].get("data") or {})[0]
        if move.pod.uid not in {entry.pod for entry in table}:
            missing.append(move.pod.name)
        return busy.pop() if busy else evict(move, plan, fence)

    process._evict = evicted  # type: ignore[method-assign]
    outcome = run(stage, *gang(stage, 2, steered=told), process=process)
    assert results(outcome) == [("evicted", "ACT001")] * 2
    assert not busy
    assert missing == []
    assert set(seen) == {(1, True), (2, True)}
