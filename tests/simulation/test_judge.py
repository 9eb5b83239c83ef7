"""The judge sees: with a guard taken out of the program, it names the promise that is broken."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from rescheduler.acting.gate_checks import Gates
from rescheduler.actions import ledger
from rescheduler.actions.events import EventWriter
from rescheduler.actions.steering.soft_taints import SoftTaints
from rescheduler.model.moves.history import History
from rescheduler.model.moves.selection import SelectionRecord
from rescheduler.planning.eligibility import back_off, eligibility, node_checks
from rescheduler.planning.limits import guards
from rescheduler.planning.plan import decision
from rescheduler.sources.prometheus import series_values
from tests.actions.state import past
from tests.simulation.crash_points import play
from tests.simulation.matrix import sure
from tests.simulation.objects import STATE, owner_uid
from tests.simulation.policies import POLICIES
from tests.simulation.scenario import Run, simulated
from tests.simulation.storms import storm
from tests.simulation.virtual_time import running

SEEDS = 60
TIGHT = POLICIES.replace("movesPerHour: 6", "movesPerHour: 2").replace(
    "coolDown: 5m", "coolDown: 40m"
)


def never(*_: Any, **__: Any) -> None:
    return None


def none(*_: Any, **__: Any) -> list[Any]:
    return []


def forgetful(history: History, _now: object, *_: Any) -> History:
    in_flight = [move for move in history.moves if move.in_flight]
    return History(in_flight, history.landings, acceptSelections=True)


def graceless(move: Any, notes: dict[str, str], **_: Any) -> tuple[str, dict[str, Any]]:
    pod = move.pod
    options = {"preconditions": {"uid": pod.uid}, "gracePeriodSeconds": 0}
    metadata = {"name": pod.name, "namespace": pod.namespace, "annotations": notes}
    body = {"kind": "Eviction", "metadata": metadata, "deleteOptions": options}
    return f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/eviction", body


Patch = Callable[[pytest.MonkeyPatch], None]
Scene = Callable[[Run], None] | None
"""What is done to a cluster that is sure to move something; None: it shows in storms."""
MUTANTS: dict[str, tuple[str, Patch, Scene]] = {}
SEEN = {"no_hour": 20, "no_cool_down": 9}
"""The storms in which it showed when this was written: they are played first."""


def mutant(number: str, scene: Scene = None) -> Callable[[Patch], Patch]:
    def register(patch: Patch) -> Patch:
        MUTANTS[patch.__name__] = number, patch, scene
        return patch

    return register


def nothing(_: Run) -> None:
    return None


def opted_out(run: Run) -> None:
    mark(run, "annotations", "rescheduler.io/opt-out", "true")


def in_a_gang(run: Run) -> None:
    mark(run, "labels", "pod-group.scheduling.sigs.k8s.io", "train")


def mark(run: Run, where: str, key: str, value: str) -> None:
    """Every movable pod is protected by this mark."""
    for pod in run.cluster.of("pods"):
        pod["metadata"][where] = {**pod["metadata"][where], key: value}
    run.ground.protected |= {"web", "db", "api"}


def cordoned(run: Run) -> None:
    node = run.cluster.objects["nodes", "", "n0"]
    node["spec"] = {"unschedulable": True}
    run.universe.forbid("node/n0")
    run.cluster.timeline.advance(60.0)


def lied_about(run: Run) -> None:
    for name in run.metrics.exporters:
        run.metrics.set_exporter(name, "hundredfold" if name == "n0" else "negative")


def dark(run: Run) -> None:
    for number in range(4, 8):
        run.cluster.add_node(f"n{number + 1}", zone="a")
        run.cluster.set_ready(run.cluster.objects["nodes", "", f"n{number + 1}"], ready=False)


def paused(run: Run) -> None:
    stored = run.cluster.objects[STATE]
    stored["data"]["paused"] = "true"
    run.universe.paused()


def edited(run: Run) -> None:
    """Since the cycle before, the policy has another target."""
    run.universe.text = run.universe.text.replace("cpu: {high: 60%}", "cpu: {high: 55%}")


def broken_off(run: Run) -> None:
    """An eviction of each workload has just got no clear answer."""
    process = run.process()
    with running(process):
        state = process.open_state()
        state.lease.acquire()
        history, now = state.ledger.open(), run.cluster.timeline.now()
        for pod in run.cluster.of("pods"):
            workload = run.ground.workload_of(owner_uid(pod))
            move = past(
                f"earlier-{pod['metadata']['name']}",
                workload=workload,
                at=now,
                brokeOff=True,
                unwatched=True,
            )
            move.give_back(now)
            history.moves.append(move)
        state.ledger.write(history)
        state.lease.release()
    process.dead = True


@mutant("I04", nothing)
def no_grace(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("rescheduler.actions.evict.eviction", graceless)


@mutant("I08")
def no_cool_down(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(back_off.BackOff, "_quiet", lambda *_: timedelta(0))


@mutant("I07")
def no_hour(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(History, "charged_since", none)


@mutant("I10", lied_about)
def any_value(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(series_values.Trust, "_sound", lambda *_: True)


@mutant("I12", dark)
def no_guards(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(guards, "active_guards", none)
    patch.setattr(decision, "active_guards", none)


@mutant("I13", opted_out)
def no_opt_outs(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(eligibility, "refuse_opt_out", never)


@mutant("I13", in_a_gang)
def no_gangs(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(eligibility.Eligibility, "_refuse_gang", never)


@mutant("I14", cordoned)
def any_node(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(node_checks, "refuse_node", never)


@mutant("I21")
def short_memory(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ledger, "prune_history", forgetful)


@mutant("I19", paused)
def no_gate(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Gates, "ready", never)


@mutant("I36", edited)
def no_trial(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SelectionRecord, "next_record", lambda record, *_: record)


@mutant("I37", broken_off)
def no_rest(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(back_off.BackOff, "refuse_resting", never)


@mutant("I26", nothing)
def no_events(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(EventWriter, "__call__", never)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_promise_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    number, patch, scene = MUTANTS[name]
    patch(monkeypatch)
    seen: Counter[str] = Counter()
    with simulated():
        if scene is not None:
            run = sure(1, Counter(), nodes=5)
            scene(run)
            run.process().run()
            assert {violation[:3] for violation in run.ground.broken} >= {number}, run.ground.broken
            return
        for seed in dict.fromkeys((SEEN.get(name, 0), *range(SEEDS))):
            broken = storm(seed, Counter(), cycles=12, policies=TIGHT).ground.broken
            seen.update(violation[:3] for violation in broken)
            if seen[number]:
                return
    pytest.fail(f"{name} was not seen as {number}, but as {seen}")


def test_a_taint_that_nobody_takes_off_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with simulated():
        run, _ = play(-1, "killed", tainting=True)
        assert run.ground.broken == []
        monkeypatch.setattr(SoftTaints, "remove", never)
        run, _ = play(-1, "killed", tainting=True)
    assert "I33 a taint of ours is left on n0 after all faults" in run.ground.broken


def test_nothing_is_named_where_nothing_is_taken_out() -> None:
    with simulated():
        scenes = (opted_out, in_a_gang, cordoned, lied_about, dark, paused, edited, broken_off)
        for scene in (nothing, *scenes):
            run = sure(1, Counter(), nodes=5)
            scene(run)
            run.process().run()
            assert run.ground.broken == [], scene
            assert bool(run.ground.evicted) == (scene is nothing), scene
