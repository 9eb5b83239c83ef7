"""Steered moves on a stage with virtual time: what is in the table, and what is left in it."""

from datetime import timedelta

import pytest

from rescheduler.acting.reconcile import hold_lock
from rescheduler.model.moves.steering_entry import Strength
from rescheduler.policies.limits import Limits
from rescheduler.policies.steering_fields import SteeringFields
from rescheduler.runtime.exit_codes import exit_code
from rescheduler.steering.waiting import PENDING
from tests.fakes.outcomes import history
from tests.fakes.stage import WIDE, Killed, Process, Stage, warm
from tests.fakes.steering import TABLE_KEY
from tests.steering.runs import NODES, follows, names, run, stage, steered, table, web

__all__ = ["stage"]


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet"])
@pytest.mark.parametrize("strength", ["Prefer", "Require"])
def test_a_replacement_goes_where_it_is_told(stage: Stage, kind: str, strength: Strength) -> None:
    outcome = run(stage, steered(web(stage, kind=kind), strength))
    (move,) = outcome.moves
    assert (move.result, move.code, move.landedOn) == ("evicted", "ACT001", "n5"), outcome.verdict
    assert exit_code(outcome) == 0
    (past,) = history(stage)
    assert past.steered is not None
    assert (past.steered.open, past.steered.missed, past.compared) == (False, False, True)
    assert table(stage) == []


def test_the_entry_stands_from_the_intent_until_the_replacement_is_seen(
    stage: Stage,
) -> None:
    seen: list[tuple[str, int, str]] = []

    def look(_number: int, method: str, path: str) -> None:
        if TABLE_KEY in stage.world.objects:
            state = history_state(stage)
            seen.append((f"{method} {path.rsplit('/', 1)[1]}", len(table(stage)), state))

    run(stage, steered(web(stage)), process=Process(stage, "a", before=look))
    (evicting,) = [request for request in seen if request[0] == "POST eviction"]
    assert evicting[1:] == (1, "intended")
    writes = [n for n, request in enumerate(seen) if request[0] == "PUT rescheduler-steering"][1:]
    between = seen[writes[0] + 1 : writes[1] + 1]
    assert [request[1] for request in between] == [1] * len(between)
    (first, last) = (seen[writes[0]], seen[writes[1]])
    assert (first[1], first[2], last[2]) == (0, "intended", "evicted")
    # It is gone again before anything else is waited for.
    assert "pods" not in {request[0] for request in seen[writes[1] :]} or len(writes) == 2


def history_state(stage: Stage) -> str:
    key = ("configmaps", "rescheduler", "rescheduler-state")
    if key not in stage.world.objects:
        return ""
    moves = history(stage)
    return moves[-1].state if moves else ""


def test_another_pod_of_the_controller_is_steered_only_meanwhile(stage: Stage) -> None:
    """Scaled up right after the replacement was seen: the new pod goes where it likes."""
    run(stage, steered(web(stage)))
    more = stage.world.add_pod("more", "", owner=("ReplicaSet", "rs-1"), app="rs-1")
    assert names(more) == []


@pytest.mark.parametrize("fault", ["no policy", "frozen", "no table", "no rights", "lost"])
def test_nothing_is_evicted_where_it_cannot_be_steered(stage: Stage, fault: str) -> None:
    manifest = web(stage)
    process = Process(stage, "a")
    if fault == "no policy":
        stage.world.steers = False
    elif fault == "frozen":
        stage.world.frozen = dict(stage.world.objects[TABLE_KEY])
    elif fault == "no table":
        del stage.world.objects[TABLE_KEY]
        process.before = lambda _n, m, p: 403 if (m, p[-11:]) == ("POST", "/configmaps") else None
    elif fault == "no rights":
        process.before = lambda _n, _m, p: 403 if "rescheduler-steering" in p else None
    else:
        lost = [True, True, True]
        process.before = lambda _n, m, p: (
            "lost" if (m, p[-9:]) == ("PUT", "-steering") and lost and lost.pop() else None
        )
    outcome = run(stage, steered(manifest), process=process)
    (move,) = outcome.moves
    assert move.result == "refused"
    assert move.code in ("STR002", "STR004")
    assert stage.world.accepted == []
    assert exit_code(outcome) != 0
    assert [past.state for past in history(stage)] == ["refused"]
    if fault != "no table":
        assert table(stage) == []


def test_without_a_node_that_can_be_named_nothing_is_evicted(stage: Stage) -> None:
    manifest = web(stage)
    outcome = run(stage, steered(manifest, nodes=["n5", "gone"]))
    assert outcome.moves[0].code == "STR004"
    outcome = run(stage, steered(manifest, nodes=["n5"]))
    assert outcome.moves[0].code == "STR003"
    assert stage.world.accepted == []


@pytest.mark.parametrize("answer", ["refused", "stopped"])
def test_what_is_not_evicted_is_taken_out_again(stage: Stage, answer: str) -> None:
    manifest = web(stage)
    process = Process(stage, "a")

    def fault(_number: int, method: str, path: str) -> int | None:
        if answer == "stopped" and method == "PUT" and path.endswith("-steering?dryRun=All"):
            process.stopped = "SIGTERM"
        if answer == "refused" and path.endswith("eviction"):
            return 403
        return None

    process.before = fault
    run(stage, steered(manifest), process=process)
    assert stage.world.accepted == []
    assert table(stage) == []
    assert [past.steered.open for past in history(stage) if past.steered] == [False]


def test_stopped_while_it_is_awaited_leaves_nothing_in_the_table(stage: Stage) -> None:
    """The replacement of a StatefulSet comes after the grace period, and then unsteered."""
    stage.world.grace = 60.0
    process = Process(stage, "a")

    def stops(_number: int, _method: str, path: str) -> None:
        if path.endswith("eviction"):
            process.stopped = "SIGTERM"

    process.after = stops
    run(stage, steered(web(stage, kind="StatefulSet")), process=process)
    assert table(stage) == []
    (past,) = history(stage)
    assert (past.state, past.compared) == ("evicted", True)


def test_killed_at_any_point_the_next_start_sweeps(stage: Stage) -> None:
    sent = probe_of(stage)
    assert sent > 15
    for number in range(sent):
        stage = fresh()

        def dies(index: int, _method: str, _path: str, at: int = number) -> None:
            if index == at:
                raise Killed

        process = Process(stage, "a", before=dies)
        with pytest.raises(Killed):
            run(stage, steered(web(stage)), process=process)
        stage.seconds += 120
        with hold_lock(Process(stage, "b").actor()):
            assert table(stage) == [], number
        left = [past for past in history(stage) if past.steered is not None and past.steered.open]
        assert not left, number
        assert len(stage.world.accepted) <= 1


def probe_of(stage: Stage) -> int:
    process = Process(stage, "a")
    run(stage, steered(web(stage)), process=process)
    return len(process.sent)


def fresh() -> Stage:
    made = warm(Stage())
    for number, name in enumerate(NODES):
        made.world.add_pod(f"t-{number}", name, owner=("ReplicaSet", f"o-{number}"), app="o")
    made.world.put(*TABLE_KEY, {"apiVersion": "v1", "kind": "ConfigMap"})
    made.world.steers = True
    made.world.place = follows
    return made


def test_what_an_unsteered_replacement_does_blames_no_prediction(
    stage: Stage,
) -> None:
    """Another API server, or a webhook that replaces the affinity."""
    stage.world.on_accept = lambda *_: setattr(stage.world, "steers", False)
    outcome = run(stage, steered(web(stage)))
    (move,) = outcome.moves
    assert (move.result, move.landedOn) == ("evicted", "spare")
    assert "without the node affinity" in move.message
    records = Process(stage, "reader").ledger.peek().landings
    assert sum(record.compared for record in records) == 0


@pytest.mark.parametrize("strength", ["Prefer", "Require"])
@pytest.mark.parametrize("lands", ["n7", "n1"])
def test_means_that_were_seen_to_steer_nobody_are_used_no_more_in_the_run(
    stage: Stage, strength: Strength, lands: str
) -> None:
    """They show the table, and pods come as they were made: two API servers, or a wrong clock."""
    stage.world.place = lambda _: lands
    stage.world.blind = True
    moves = [steered(web(stage, f"web-{n}", f"rs-{n}"), strength) for n in range(3)]
    limits = Limits.model_validate({**WIDE, "movesPerHour": 50})
    outcome = run(stage, *moves, process=Process(stage, "a", limits=limits))
    assert [(move.result, move.code) for move in outcome.moves][1:] == [("refused", "STR002")] * 2
    assert "default/web-0" in outcome.moves[1].message
    assert len(stage.world.accepted) == 1
    (note,) = outcome.plan.notes
    assert (note.code, "default/web-0" in note.message) == ("STR005", True)
    assert exit_code(outcome) != 0


def test_a_miss_of_the_last_move_does_not_pass_for_a_success(stage: Stage) -> None:
    stage.world.blind = True
    outcome = run(stage, steered(web(stage)))
    assert [(move.result, move.code) for move in outcome.moves] == [("evicted", "ACT001")]
    assert exit_code(outcome) == 1
    stage.world.blind = False
    outcome = run(stage, steered(web(stage, "web-2", "rs-2")), process=Process(stage, "b"))
    assert exit_code(outcome) == 0, "another run asks them again"


def test_a_preference_that_the_scheduler_overrules_is_no_miss(stage: Stage) -> None:
    stage.world.place = lambda _: "n7"
    moves = [steered(web(stage, f"web-{n}", f"rs-{n}"), "Prefer") for n in range(2)]
    outcome = run(stage, *moves)
    assert [move.landedOn for move in outcome.moves] == ["n7", "n7"]
    assert exit_code(outcome) == 0


def test_a_replacement_of_another_template_was_not_to_be_steered(stage: Stage) -> None:
    """A StatefulSet rolls out meanwhile: the table is for pods like the old one."""
    manifest = web(stage, kind="StatefulSet")
    manifest["metadata"]["labels"]["controller-revision-hash"] = "old"
    outcome = run(stage, steered(manifest))
    (past,) = history(stage)
    assert past.steered is not None
    assert (past.replacement != "", past.steered.missed, past.compared) == (True, False, True)
    assert exit_code(outcome) == 0


def test_garbage_in_the_table_is_swept_and_told(stage: Stage) -> None:
    stage.world.objects[TABLE_KEY]["data"] = {"rs-1": "junk"}
    process = Process(stage, "a")
    process.limits = process.limits.model_copy(
        update={"steering": SteeringFields(by="AdmissionPolicy")}
    )
    outcome = run(stage, steered(web(stage)), process=process)
    assert outcome.moves[0].landedOn == "n5"
    assert process.warned


def test_two_of_one_controller_are_steered_one_after_the_other(stage: Stage) -> None:
    one, two = web(stage, "web-1"), web(stage, "web-2")
    limits = Limits.model_validate({**WIDE, "inFlightPerWorkload": 5})
    process = Process(stage, "a", limits=limits)
    outcome = run(stage, steered(one), steered(two, nodes=["n6", "n7"]), process=process)
    assert [move.landedOn for move in outcome.moves] == ["n5", "n6"]
    assert timedelta(0) < outcome.finished - outcome.started


def test_a_run_has_one_clock_for_moves_and_their_deadlines(stage: Stage) -> None:
    """Requests may be answered by API servers whose clocks differ."""
    gaps: set[timedelta] = set()

    def look(_number: int, _method: str, path: str) -> None:
        if "/pods" in path:
            process.clock.hear(stage.now() + timedelta(seconds=20))
        if path.endswith("eviction"):
            (past,) = Process(stage, "reader").ledger.peek().moves
            assert past.steered is not None
            gaps.add(past.steered.until - past.at)

    process = Process(stage, "a", before=look)
    run(stage, steered(web(stage)), process=process)
    (gap,) = gaps
    assert gap == timedelta(seconds=30) + PENDING, "the grace period of the pod, and a minute"
