"""Moves steered by soft taints, on a stage with virtual time: which nodes bear one, and when."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from msgspec import structs

from rescheduler.acting.actor import Actor
from rescheduler.acting.reconcile import hold_lock
from rescheduler.acting.run import act
from rescheduler.kube.objects import Node
from rescheduler.kube.pods.tolerations import SOFT_TAINT
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import LandingShare, Outcome, PlannedMove
from rescheduler.model.moves.steering_entry import Steered
from rescheduler.model.moves.taint_value import TaintValue, read, taint_value
from rescheduler.model.problem import Problem
from rescheduler.policies.limits import Limits
from rescheduler.runtime.exit_codes import exit_code
from tests.fakes.moves import plan_of, planned
from tests.fakes.outcomes import history
from tests.fakes.stage import START, WIDE, Killed, Objecting, Process, Stage, warm

THEIRS = {"key": "maintenance", "value": "soon", "effect": "PreferNoSchedule"}
SHUNNED = ["n1", "spare"]


def new_stage() -> Stage:
    made = warm(Stage())
    world = made.world
    for number, name in enumerate(("spare", "n5")):
        world.add_pod(f"there-{number}", name, owner=("ReplicaSet", f"other-{number}"), app="o")
    world.objects["nodes", "", "spare"]["spec"]["taints"] = [dict(THEIRS)]
    world.place = lambda _: next(n for n in (*SHUNNED, "n5") if not marks(made, n))
    return made


@pytest.fixture
def stage() -> Stage:
    return new_stage()


def marks(stage: Stage, name: str) -> list[TaintValue]:
    """Of our taints on the node."""
    taints = stage.world.objects["nodes", "", name]["spec"].get("taints") or []
    found = [read(taint["value"]) for taint in taints if taint["key"] == SOFT_TAINT.key]
    return [mark for mark in found if mark is not None]


def tainted(stage: Stage) -> list[str]:
    """The nodes with a taint of ours; others' must always be there."""
    assert THEIRS in stage.world.objects["nodes", "", "spare"]["spec"]["taints"]
    names = [key[2] for key in stage.world.objects if key[0] == "nodes"]
    return sorted(name for name in names if marks(stage, name))


def web(stage: Stage, name: str = "web-1", rs: str = "rs-1", kind: str = "ReplicaSet") -> Any:
    return stage.world.add_pod(name, "n1", owner=(kind, rs), app=rs)


def steered(manifest: Any, *shunned: str, **more: Any) -> PlannedMove:
    names = list(shunned or SHUNNED)
    landing = [LandingShare(node="n5", probability=1.0)]
    told = Steered(by="SoftTaint", strength="Prefer", nodes=["n5"], shunned=names)
    return planned(manifest, landing=landing, steered=told, **more)


def run(stage: Stage, *moves: PlannedMove, process: Process | None = None) -> Outcome:
    process = process or Process(stage, "a")
    plan = plan_of(stage.world, moves)
    return act(structs.replace(plan, id=f"plan of {process.name}"), process.actor())


def at_eviction(see: Callable[[], None]) -> Callable[[int, str, str], None]:
    def before(_number: int, _method: str, path: str) -> None:
        if path.endswith("eviction"):
            see()

    return before


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet"])
def test_a_replacement_is_kept_off_and_nothing_is_left(stage: Stage, kind: str) -> None:
    seen: list[Any] = []

    def see() -> None:
        (past,) = history(stage)
        assert past.steered is not None
        seen.append((tainted(stage), past.state, past.steered.shunned, past.steered.open))
        (mark,) = marks(stage, "n1")
        assert (mark.fence, mark.until > stage.now()) == (past.fence, True)

    process = Process(stage, "a", before=at_eviction(see))
    outcome = run(stage, steered(web(stage, kind=kind)), process=process)
    assert seen == [(SHUNNED, "intended", SHUNNED, True)]
    (move,) = outcome.moves
    assert (move.result, move.code, move.landedOn) == ("evicted", "ACT001", "n5")
    assert exit_code(outcome) == 0
    (past,) = history(stage)
    assert past.steered is not None
    assert (past.steered.open, past.compared) == (False, True)
    assert tainted(stage) == []


def test_a_taint_stays_until_the_replacement_is_placed_not_only_made(stage: Stage) -> None:
    """Without room it is Pending for a while, and the scheduler looks at the taints then."""
    stage.world.place = lambda _: ""

    def placed(number: int, _method: str, path: str) -> None:
        pods = [v for k, v in stage.world.objects.items() if k[0] == "pods" and "-r" in k[2]]
        if pods and stage.now() >= START.replace(minute=0, second=20):
            assert pods[0]["spec"]["nodeName"] or tainted(stage) == SHUNNED, (number, path)
            pods[0]["spec"]["nodeName"] = "n5"

    run(stage, steered(web(stage)), process=Process(stage, "a", before=placed))
    assert history(stage)[0].landedOn == "n5"
    assert tainted(stage) == []


def test_at_its_deadline_it_goes_and_what_comes_then_is_not_compared(stage: Stage) -> None:
    stage.world.place = lambda _: ""
    run(stage, steered(web(stage)))
    (past,) = history(stage)
    assert past.steered is not None
    assert (past.state, past.compared, past.steered.open) == ("lost", True, False)
    assert tainted(stage) == []


def test_one_replacement_is_steered_at_a_time(stage: Stage) -> None:
    """Where the second lands was predicted without the taints of the first."""
    seen: list[list[str]] = []
    limits = Limits.model_validate({**WIDE, "inFlightPerWorkload": 5})
    stage.world.grace = 20.0
    one, two = web(stage, kind="StatefulSet"), web(stage, "api-1", "rs-2")
    process = Process(stage, "a", before=at_eviction(lambda: seen.append(tainted(stage))))
    process.limits = limits
    outcome = run(stage, steered(one), steered(two, "n1", "n5"), process=process)
    assert seen == [SHUNNED, ["n1", "n5"]]
    assert [move.landedOn for move in outcome.moves] == ["n5", "spare"]
    assert tainted(stage) == []


def test_where_one_is_lost_while_it_is_awaited_nothing_follows(stage: Stage) -> None:
    stage.world.place = lambda _: ""
    process = Process(stage, "a", missed=True)
    process.limits = Limits.model_validate({**WIDE, "readyTimeout": "30s"})
    outcome = run(stage, steered(web(stage)), steered(web(stage, "api-1", "rs-2")), process=process)
    assert [move.result for move in outcome.moves] == ["evicted", "skipped"]
    assert (outcome.verdict.code, tainted(stage)) == ("GRD003", [])


@pytest.mark.parametrize(
    ("grace", "timeout", "again"), [(20.0, "5m", False), (45.0, "30s", True), (70.0, "5m", True)]
)
def test_after_a_long_wait_the_guards_are_asked_anew(
    stage: Stage, grace: float, timeout: str, again: bool
) -> None:
    """A minute has passed since the snapshot, or the replacement has become overdue meanwhile."""
    held = Problem("GRD003", "a replacement is overdue")
    process = Process(stage, "a", guarding=lambda: [held] if process.observed > 1 else [])
    process.limits = Limits.model_validate({**WIDE, "readyTimeout": timeout})
    stage.world.grace = grace
    other = planned(web(stage, "api-1", "rs-2"))
    outcome = run(stage, steered(web(stage, kind="StatefulSet")), other, process=process)
    assert [move.result for move in outcome.moves] == ["evicted", "skipped" if again else "evicted"]
    assert (outcome.verdict.code, len(stage.world.accepted)) == (
        ("GRD003", 1) if again else ("ACT013", 2)
    )
    assert outcome.moves[0].landedOn == "n5", "it is followed all the same"
    assert tainted(stage) == []


def test_after_a_long_wait_moves_are_checked_beside_their_batch(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    by: list[object] = []
    check = Objecting.check

    def noted(its: Objecting, move: PlannedMove, made: Sequence[PastMove]) -> PlannedMove | Problem:
        by.append(its)
        return check(its, move, made)

    monkeypatch.setattr(Objecting, "check", noted)
    process, stage.world.grace = Process(stage, "a"), 70.0
    moves = [steered(web(stage, kind="StatefulSet")), planned(web(stage, "api-1", "rs-2"))]
    run(stage, *moves, process=process)
    assert (process.observed, len(by)) == (2, 2)
    assert by[0] is by[1], "as it was before the batch, and what was moved since"


def test_an_unsteered_move_waits_for_taints_to_go_too(stage: Stage) -> None:
    seen: list[list[str]] = []
    process = Process(stage, "a", before=at_eviction(lambda: seen.append(tainted(stage))))
    stage.world.grace = 20.0
    other = planned(web(stage, "api-1", "rs-2"))
    run(stage, steered(web(stage, kind="StatefulSet")), other, process=process)
    assert seen == [SHUNNED, []]


def test_a_gang_waits_for_taints_to_go_too(stage: Stage) -> None:
    seen: list[list[str]] = []
    process = Process(stage, "a", before=at_eviction(lambda: seen.append(tainted(stage))))
    process.limits = Limits.model_validate({**WIDE, "gangs": "Whole"})
    stage.world.grace = 20.0
    members = [web(stage, f"ring-{n}", f"rs-{n + 2}") for n in range(2)]
    for member in members:
        member["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] = "ring"
    group = "default/ring (scheduling.x-k8s.io/pod-group)"
    gang = [planned(member, group=group) for member in members]
    run(stage, steered(web(stage, kind="StatefulSet")), *gang, process=process)
    assert seen == [SHUNNED, [], []]


@pytest.mark.parametrize("fault", ["no right", "foreign", "lost", "gone", "too many", "nowhere"])
def test_nothing_is_evicted_where_nodes_cannot_be_tainted(stage: Stage, fault: str) -> None:
    manifest = web(stage)
    process = Process(stage, "a")
    move = steered(manifest)
    if fault == "no right":
        stage.world.may_taint = False
    elif fault == "foreign":
        foreign = {"key": SOFT_TAINT.key, "value": "mine", "effect": SOFT_TAINT.effect}
        stage.world.objects["nodes", "", "spare"]["spec"]["taints"].append(foreign)
    elif fault == "lost":
        lost = [True]
        process.before = lambda _n, m, p: (
            "lost" if m == "PATCH" and p.endswith("spare") and lost and lost.pop() else None
        )
    elif fault == "gone":
        move = steered(manifest, "n1", "gone")
    elif fault == "too many":
        process.limits = Limits.model_validate({**WIDE, "taintedNodes": 1})
    else:
        assert move.steered is not None
        move = structs.replace(move, steered=structs.replace(move.steered, shunned=[]))
    outcome = run(stage, move, process=process)
    assert (outcome.moves[0].result, outcome.moves[0].code) == ("refused", "STR014")
    assert exit_code(outcome) != 0
    assert stage.world.accepted == []
    assert [past.state for past in history(stage)] == ["refused"]
    assert tainted(stage) == []


@pytest.mark.parametrize("answer", ["refused", "stopped"])
def test_where_nothing_is_evicted_taints_go_again(stage: Stage, answer: str) -> None:
    process = Process(stage, "a")

    def fault(_number: int, method: str, path: str) -> int | None:
        if answer == "stopped" and method == "PATCH":
            process.stopped = "SIGTERM"
        return 403 if answer == "refused" and path.endswith("eviction") else None

    process.before = fault
    run(stage, steered(web(stage)), process=process)
    assert stage.world.accepted == []
    assert tainted(stage) == []


def test_stopped_while_it_is_awaited_leaves_no_taint(stage: Stage) -> None:
    stage.world.grace = 60.0
    process = Process(stage, "a")
    process.after = at_eviction(lambda: setattr(process, "stopped", "SIGTERM"))
    run(stage, steered(web(stage, kind="StatefulSet")), process=process)
    assert tainted(stage) == []
    (past,) = history(stage)
    assert (past.state, past.compared) == ("evicted", True)


@pytest.mark.parametrize("after", [False, True])
def test_killed_at_any_point_the_next_start_sweeps(after: bool) -> None:
    probe = Process(new_stage(), "a")
    run(probe.stage, steered(web(probe.stage)), process=probe)
    assert len(probe.sent) > 20
    reached: set[tuple[str, ...]] = set()
    for number in range(len(probe.sent)):
        stage = new_stage()

        def dies(index: int, _method: str, _path: str, at: int = number) -> None:
            if index == at:
                raise Killed

        process = Process(stage, "a")
        setattr(process, "after" if after else "before", dies)
        with pytest.raises(Killed):
            run(stage, steered(web(stage)), process=process)
        reached.add(tuple(tainted(stage)))
        stage.seconds += 120
        with hold_lock(Process(stage, "b").actor()):
            assert tainted(stage) == [], number
        assert not [past for past in history(stage) if past.steered and past.steered.open], number
        assert len(stage.world.accepted) <= 1
    assert reached >= {(), ("n1",), tuple(SHUNNED)}


def test_who_may_not_take_them_off_does_not_act_either(stage: Stage) -> None:
    """The component was removed after a crash: somebody has to look."""
    killed = Process(stage, "a", before=at_eviction(_die))
    with pytest.raises(Killed):
        run(stage, steered(web(stage)), process=killed)
    stage.seconds += 120
    stage.world.may_taint = False
    outcome = run(stage, steered(web(stage, "other", "rs-2")), process=Process(stage, "b"))
    assert outcome.verdict.code == "ACT016"
    assert stage.world.accepted == []
    assert tainted(stage) == SHUNNED


def _die() -> None:
    raise Killed


def test_a_node_that_another_holder_tainted_later_is_not_written(stage: Stage) -> None:
    """We stood still, and lost the lock without knowing."""
    manifest = web(stage)
    mark = TaintValue(99, stage.now())
    later = {"key": SOFT_TAINT.key, "value": taint_value(mark), "effect": SOFT_TAINT.effect}

    def taints(_number: int, method: str, path: str) -> None:
        if method == "GET" and path.endswith("nodes/n1") and stage.seconds > 0:
            stage.world.objects["nodes", "", "n1"]["spec"]["taints"] = [later]

    outcome = run(stage, steered(manifest), process=Process(stage, "a", before=taints))
    assert outcome.verdict.code == "ACT015"
    assert stage.world.accepted == []
    assert marks(stage, "n1") == [mark._replace(until=mark.until.replace(microsecond=0))]


def stray(stage: Stage, name: str = "n1", fence: int = 99) -> None:
    """A taint of ours of which no move knows, as the state was lost."""
    value = taint_value(TaintValue(fence, stage.now()))
    taint = {"key": SOFT_TAINT.key, "value": value, "effect": SOFT_TAINT.effect}
    stage.world.objects["nodes", "", name]["spec"].setdefault("taints", []).append(taint)


def seen(process: Process) -> Snapshot:
    """What the process observes, with the nodes as they are."""
    nodes = [v for k, v in process.stage.world.objects.items() if k[0] == "nodes"]
    return replace(process._observe(), nodes=[msgspec.convert(node, Node) for node in nodes])


def looking(process: Process) -> Actor:
    return replace(process.actor(), observe=lambda: seen(process))


def test_a_stray_taint_is_taken_off(stage: Stage) -> None:
    manifest = web(stage)
    stray(stage)
    plan = plan_of(stage.world, [planned(manifest)])
    process = Process(stage, "a")
    outcome = act(plan, looking(process))
    assert tainted(stage) == []
    assert outcome.moves[0].result == "evicted"
    assert (outcome.plan.notes, exit_code(outcome)) == ([], 0)
    assert "swept a taint of ours" in process.warned


@pytest.mark.parametrize("applying", [False, True])
def test_a_stray_taint_that_stays_shows(stage: Stage, applying: bool) -> None:
    """It is a wish among the scheduler's scores only, so the moves are made; somebody must look."""
    manifest = web(stage)
    stray(stage)
    stage.world.may_taint = False
    plan = plan_of(stage.world, [planned(manifest), planned(web(stage, "api", "rs-2"), batch=2)])
    outcome = act(plan, looking(Process(stage, "a")))
    assert [move.code for move in outcome.moves] == ["ACT001", "ACT001"]
    (note,) = outcome.plan.notes
    assert note.code == "STR014"
    assert "node n1" in note.message
    assert "kubectl taint node n1 rescheduler.io/relieved:PreferNoSchedule-" in note.message
    assert exit_code(outcome, applying=applying) == 1
    assert outcome.plan.digest == plan.digest
    assert tainted(stage) == ["n1"]


def test_who_has_lost_the_lock_while_it_looked_takes_no_taint_off(stage: Stage) -> None:
    """The next holder's taint is not a stray one."""
    web(stage)
    first, second = Process(stage, "a"), Process(stage, "b")
    first.lease.acquire()
    first.ledger.open()
    stage.seconds += 70
    second.lease.acquire(forever=True)
    second.ledger.open()
    until = stage.now() + timedelta(minutes=2)
    taints = second.steering_port().taints
    assert taints is not None
    assert taints.add("n1", second.ledger.fence, until) is None
    assert first.actor().steering.sweep_strays(seen(first)) == []
    assert tainted(stage) == ["n1"]
    assert second.actor().steering.sweep_strays(seen(second)) == []
    assert tainted(stage) == []
