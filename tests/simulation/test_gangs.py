"""A gang that Kueue runs: stopped once, told while it waits, and what the judge sees of it."""

from collections.abc import Callable
from typing import Any

import pytest

from rescheduler.acting import reconcile
from rescheduler.actions.kueue_workloads import KueueWorkloads, deletion_answer
from rescheduler.model.cluster.gangs import Gangs
from rescheduler.model.moves.plan import Outcome
from rescheduler.planning.gates import reread_checks
from rescheduler.planning.limits import holds
from tests.simulation.crash_points import AT_EVERY_CALL
from tests.simulation.gangs import GANG, broken, hot, running
from tests.simulation.kueue import Kueue
from tests.simulation.loads import constant
from tests.simulation.process import Process
from tests.simulation.scenario import PERIOD, Run, simulated

STEP = 25


@pytest.mark.long
@pytest.mark.parametrize(("first", "fault"), [(8 * n, f) for n, f in enumerate(AT_EVERY_CALL)])
def test_a_gang_is_stopped_once_whatever_happens_in_between(first: int, fault: str) -> None:
    assert list(broken(fault, first, STEP)) == []


def killed_at_the_request(process: Process, phase: str, path: str) -> str | None:
    return "killed after" if "/workloads/" in path else None


def never_admitted(run: Run, kueue: Kueue) -> None:
    """Its quota is taken while it is stopped, and then another workload becomes hot."""
    kueue.refuses = True
    run.process().run()
    run.cluster.timeline.advance(900.0)
    run.metrics.loads["web"] = constant(1.5)
    run.cluster.timeline.advance(900.0)
    run.process().run()


def killed(run: Run, kueue: Kueue) -> None:
    """Kueue sees only much later what the process asked for that was killed then."""
    kueue.sees = 1000.0
    process = run.process()
    process.weather = killed_at_the_request
    process.run()
    run.cluster.timeline.advance(PERIOD)
    run.process().run()


def budgeted(run: Run, kueue: Kueue) -> None:
    """A budget that allows none of its pods comes between the plan and the request."""
    process = run.process()

    def weather(_process: Process, phase: str, _path: str) -> None:
        if phase == "evict" and ("poddisruptionbudgets", "default", GANG) not in objects:
            run.cluster.add_pdb(GANG, unavailable=0)

    objects = run.cluster.objects
    process.weather = weather
    process.run()


def calm(run: Run, kueue: Kueue) -> None:
    run.process().run()


def test_a_gang_that_is_never_admitted_again_is_told_and_holds_all_else() -> None:
    with simulated():
        run, kueue = hot()
        never_admitted(run, kueue)
    assert run.ground.broken == []
    assert len(run.ground.stops) == 1
    assert running(run) == []
    last = run.universe.cycles[-1]
    assert isinstance(last.report, Outcome)
    assert (last.report.verdict.code, last.code) == ("GRD003", 3)
    assert run.ground.reached["stopped gang waits"] == 1


@pytest.mark.parametrize("scene", [calm, killed, budgeted])
def test_nothing_is_named_where_nothing_is_taken_out(scene: Callable[[Run, Kueue], None]) -> None:
    with simulated():
        run, kueue = hot()
        scene(run, kueue)
    assert run.ground.broken == []
    assert len(run.ground.stops) == (0 if scene is budgeted else 1)


def unfound(*_: Any) -> bool:
    return False


def never(*_: Any, **__: Any) -> None:
    return None


def none(*_: Any, **__: Any) -> list[Any]:
    return []


def careless(self: KueueWorkloads, workload: Any) -> Any:
    metadata = workload.metadata
    path = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads"
    return deletion_answer(self._call("DELETE", f"{path}/{metadata.name}", None))


MUTANTS: dict[str, tuple[Callable[[Run, Kueue], None], list[tuple[Any, str, Any]]]] = {
    "I04": (calm, [(KueueWorkloads, "restart", careless)]),
    "I05": (budgeted, [(reread_checks, "refuse_changed", never)]),
    "I12": (never_admitted, [(holds, "missing_replacements", none)]),
    "I17": (calm, [(Gangs, "gang_of", never)]),
    "I21": (killed, [(reconcile, "was_stopped", unfound)]),
}
"""By the promise that breaks: a scene, and what is taken out."""


@pytest.mark.parametrize("number", MUTANTS)
def test_a_broken_promise_is_named(number: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scene, taken_out = MUTANTS[number]
    for owner, name, instead in taken_out:
        monkeypatch.setattr(owner, name, instead)
    with simulated():
        run, kueue = hot()
        scene(run, kueue)
    assert {violation[:3] for violation in run.ground.broken} >= {number}, run.ground.broken
