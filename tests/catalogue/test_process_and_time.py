"""F45-F60: process, time and state."""

import json
import random
import re
import subprocess
import sys
import threading
import time
import tracemalloc
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from apscheduler.triggers.interval import IntervalTrigger

from rescheduler.actions.lease import Durations
from rescheduler.kube.quantity import units
from rescheduler.model.cluster.readings import ReadingRequest
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.errors import ClusterUnavailable
from rescheduler.model.moves.plan import MoveResult, Outcome, Plan, Report, Result
from rescheduler.model.problem import Problem
from rescheduler.runtime.cycle import run_cycle
from rescheduler.runtime.servers.health import CycleHealth
from rescheduler.runtime.servers.telemetry import Telemetry
from rescheduler.runtime.service import cycles as service_cycles
from rescheduler.runtime.service.cron import parse_cron
from rescheduler.runtime.service.service import Service
from rescheduler.runtime.settings import Settings
from rescheduler.runtime.stopping import Stop
from rescheduler.sources.kubernetes.cluster import read_cluster
from rescheduler.sources.prometheus.prometheus import Prometheus, read_readings
from tests import cluster
from tests.catalogue.kit import codes, cycles, drawn, hot, moved, plan_of, sent
from tests.catalogue.large import PAGE, PAGES, Large
from tests.deploy.manifests import OVERLAYS, pods
from tests.deploy.policies_configmap import ROOT
from tests.fakes.stage import Process, Stage
from tests.runtime.firings import NIGHTS, on
from tests.runtime.skewed import parts
from tests.simulation.faults import FAULTS
from tests.simulation.weather import Strike
from tests.sources.connected import PODS, connected, kubeconfig, small
from tests.sources.objects import refusal
from tests.sources.server import Reply, serving

virtual = pytest.mark.usefixtures("virtual")


def strike(fault: str, phase: str, **more: Any) -> Strike:
    return Strike(fault, phase, random.Random(1), **more)


@virtual
def test_f45_what_was_done_is_known_to_the_next_process() -> None:
    """Counters in memory begin at zero with each run of a CronJob."""
    run = hot()
    process = run.process()
    process.weather = lambda _, phase, path: "killed after" if path.endswith("/eviction") else None
    assert process.run().code is None
    assert len(moved(run)) == 1
    run.cluster.timeline.advance(90.0)
    cycles(run, 2, every=30.0)
    assert len(moved(run)) == len(set(moved(run))), "its workload rests, no matter who looks"
    state = run.universe.state()
    assert state is not None
    assert state.history.moves[0].podUid == run.ground.evicted[0].uid


@virtual
def test_f46_of_two_runs_at_once_one_acts() -> None:
    """A CronJob may start twice, and a Deployment may run beside it."""
    run = hot()
    first, second = run.process(), run.process()
    started: list[Any] = []

    def overlap(process: Any, phase: str, _: str) -> None:
        if phase == "plan" and not started:
            started.append(second)
            process.apart(second.run)

    first.weather = overlap
    cycle = first.run()
    assert started
    assert {eviction.process for eviction in run.ground.evicted} == {first}
    held = run.universe.cycles[0]
    assert held.error.startswith("LockHeld") or "GRD005" in codes(held.report)
    assert cycle.code == 0


@virtual
@pytest.mark.parametrize("phase", ["lock", "state", "snap", "metric", "wal", "evict", "watch"])
def test_f47_a_cycle_that_hangs_ends_and_is_noticed(phase: str) -> None:
    """With `Forbid` one stuck run disabled everything for 50 days."""
    run = hot()
    process = run.process()
    process.weather = strike("hang", phase, times=10_000)
    cycle = process.run()
    assert cycle.code not in (0, None)
    assert cycle.ended - cycle.began <= 605, "the cycle's deadline, which is 10 minutes here"
    now = [0.0]
    health = CycleHealth(timedelta(seconds=100), lambda: now[0])
    health.begin()
    now[0] = 161.0
    assert health.live(), "the kubelet restarts it"
    path = ROOT / "deploy" / "kustomize" / "cronjob" / "cronjob.yaml"
    job = next(yaml.safe_load_all(path.read_text()))["spec"]
    pod = job["jobTemplate"]["spec"]["template"]["spec"]
    said = {
        yaml_object["name"]: yaml_object.get("value") for yaml_object in pod["containers"][0]["env"]
    }
    assert said["RESCHEDULER_CYCLE_DEADLINE"] == "10m"
    assert 600 < job["jobTemplate"]["spec"]["activeDeadlineSeconds"] < 900, "within its period"
    assert job["schedule"] == "*/15 * * * *"


@virtual
@pytest.mark.parametrize(
    ("fault", "phase", "code", "reason"),
    [
        ("connection refused", "metric", 1, "RDG001"),
        ("401 or 403", "snap", 1, "answered 401"),
        ("503 or 504", "state", 1, "rescheduler-state: 503"),
        ("30% NotReady", "snap", 3, "GRD002"),
        ("429 by a budget", "evict", 3, "ACT004"),
        ("reply lost", "evict", 1, "ACT016"),
    ],
)
def test_f48_a_failure_is_never_reported_as_success(
    fault: str, phase: str, code: int, reason: str
) -> None:
    """Exit code 0 means that all was done, or held on purpose."""
    well, run = hot(nodes=12), hot(nodes=12)
    (good,) = cycles(well, 1)
    assert (good.code, bool(moved(well))) == (0, True), "without the fault it is a success"
    process = run.process()
    process.weather = strike(fault, phase, times=10_000)
    cycle = process.run()
    assert process.weather.struck
    assert (cycle.code, moved(run)) == (code, [])
    moves = cycle.report.moves if isinstance(cycle.report, Outcome) else ()
    reasons = {move.code for move in moves} | (codes(cycle.report) if cycle.report else set())
    assert reason in reasons or reason in cycle.error, "and it says why"
    assert good.report is not None
    assert service_cycles._verdict(good.report) == "good"
    if code == 1 and cycle.report is not None:
        assert service_cycles._verdict(cycle.report) != "good", "nor does a metric say success"


@virtual
@pytest.mark.parametrize("when", ["killed", "killed after"])
def test_f49_half_of_a_move_is_carried_on_or_given_back(when: str) -> None:
    """Between the intent, the request and its answer a process may die anywhere."""
    run = hot()
    process = run.process()
    process.weather = lambda _, phase, path: when if path.endswith("/eviction") else None
    process.run()
    assert len(moved(run)) == (when == "killed after")
    run.cluster.timeline.advance(300.0)
    cycles(run, 2)
    state = run.universe.state()
    assert state is not None
    assert [move for move in state.history.moves if move.state == "intended"] == []
    assert len({eviction.uid for eviction in run.ground.evicted}) == len(run.ground.evicted) >= 1
    assert run.ground.broken == []


def test_f50_the_lock_of_a_dead_holder_is_taken_after_its_time() -> None:
    """Its node is gone, and nobody will ever release it."""
    stage = Stage()
    dead, next_one = Process(stage, "a"), Process(stage, "b")
    dead.lease.acquire()
    began = stage.seconds
    next_one.lease.acquire()
    lasts = Durations().hold
    assert lasts <= stage.seconds - began <= lasts + 3 * Durations().retry
    assert next_one.lease.held


@virtual
def test_f51_who_has_lost_the_lock_sends_nothing_more() -> None:
    """Stopped for minutes, it wakes up and believes that it still leads."""
    run = hot()
    process = run.process()
    struck: list[float] = []

    def stolen(struck_process: Any, phase: str, path: str) -> str | None:
        if phase != "wal" or struck:
            return None
        FAULTS["lease stolen"](struck_process, phase, random.Random(1))
        struck.append(run.ground.seconds)
        return None

    process.weather = stolen
    cycle = process.run()
    assert struck
    late = [e for e in run.ground.evicted if e.process is process and e.at >= struck[0]]
    assert late == []
    assert cycle.code != 0
    assert run.ground.broken == []


@virtual
@pytest.mark.parametrize("offset", [3600.0, -3600.0, 45.0])
def test_f52_clocks_that_differ_hold_everything(offset: float) -> None:
    """Cool-downs and ages are compared with times of the API server."""
    run = hot()
    cycle = run.process(offset=offset).run()
    assert sent(run) == []
    assert cycle.code == 1
    assert "GRD007" in codes(cycle.report) or "clock" in cycle.error


@pytest.mark.parametrize("zone", NIGHTS)
def test_f53_a_daily_run_comes_once_also_when_the_clock_changes(zone: str) -> None:
    """02:30 comes twice in one night of autumn, and never in one of spring."""
    for night in NIGHTS[zone]:
        for minute in (0, 15, 30, 45):
            for hour in range(4):
                assert len(on(parse_cron(f"{minute} {hour} * * *", zone), night)) == 1


def test_f54_weekdays_are_those_of_kubernetes() -> None:
    """APScheduler counts from Monday: `1-5` would be Tuesday to Saturday."""
    monday = date(2026, 6, 1)
    assert [slot[:3] for slot in on(parse_cron("0 9 * * 1-5", "UTC"), monday, 7)] == [
        *("Mon", "Tue", "Wed", "Thu", "Fri")
    ]
    assert on(parse_cron("0 9 * * 7", "UTC"), monday, 7) == on(
        parse_cron("0 9 * * 0", "UTC"), monday, 7
    )


def test_f55_a_late_cycle_is_run_once_and_missed_ones_are_counted() -> None:
    """By default one second late is too late, and nothing says so."""
    stop = Stop()
    inside, most = [0], [0]
    runs: list[Report] = []

    def observe(*_: Any) -> Snapshot:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        time.sleep(0.25)
        inside[0] -= 1
        return parts().observe([])

    def report(made: Report) -> None:
        runs.append(made)
        if len(runs) == 2:
            stop.request("enough")

    telemetry = Telemetry()
    trigger = IntervalTrigger(seconds=0.05, timezone=UTC)
    made = replace(parts(), observe=observe)
    service = Service(
        Settings(every=timedelta(seconds=1)), made, trigger, stop, telemetry, report=report
    )
    assert service.run() == 0
    assert most == [1]
    skipped = telemetry.registry.get_sample_value(
        "rescheduler_cycles_total", {"verdict": "skipped"}
    )
    missed = telemetry.registry.get_sample_value("rescheduler_cycles_total", {"verdict": "missed"})
    assert (skipped or 0) + (missed or 0) >= 1


def test_f56_nothing_is_believed_of_a_broken_list(tmp_path: Path) -> None:
    """No watch to go stale: pages of one list, begun again when they expire, or an error."""
    api = small(pods=5, page=2)
    with connected(api, tmp_path) as (connection, served):
        assert len(read_cluster(connection).pods) == 5
    assert not any("watch" in request.query for request in served.requests)
    expired = small(pods=5, page=2)
    expired.fail = lambda r: refusal(410, "expired") if r.query.get("continue") else None
    broken = small()
    broken.fail = lambda r: Reply(b'{"items": [{"metadata"') if r.path == PODS else None
    for server in (expired, broken):
        with connected(server, tmp_path) as (connection, _), pytest.raises(ClusterUnavailable):
            read_cluster(connection)


def test_f57_a_pod_costs_little_memory(tmp_path: Path) -> None:
    """Typed models of 5,000 pods took 415 MB: pages are projected as they come."""
    count = 1000
    api = small(pods=count, page=500)
    size = len(json.dumps(api.lists[PODS]))
    with connected(api, tmp_path) as (connection, served):
        tracemalloc.start()
        snapshot = read_cluster(connection)
        kept, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert len(snapshot.pods) == count
    pages = [request for request in served.requests if request.path == PODS]
    assert [page.query["limit"] for page in pages] == ["500"] * 2
    assert kept / count < 2500, f"bytes a pod, of {size / count:.0f} in the list"


def test_the_program_stays_within_the_memory_that_the_manifests_give_it(tmp_path: Path) -> None:
    """F57, whole: 50,000 pods, 240 MB of JSON, are read over HTTP and planned for."""
    api, out = Large(), tmp_path / "plan.json"
    with serving(api) as served:
        given = ("--kubeconfig", kubeconfig(tmp_path, served.url), "--policies", SPREAD_FILE)
        command = [sys.executable, "-c", MEASURED, str(tmp_path / "status"), "plan"]
        command += [*map(str, given), "--search-steps", "50", "-o", "json", "--out", str(out)]
        program = subprocess.run(command, cwd=ROOT, check=False)
    assert program.returncode == 0
    assert api.asked == ["500"] * PAGES, "each page once"
    plan = json.loads(out.read_text())
    assert plan["totals"]["pods"] == PAGES * PAGE
    assert plan["moves"]
    (told,) = re.findall(r"VmHWM:\s+(\d+) kB", (tmp_path / "status").read_text())
    for name in OVERLAYS:
        (pod,) = pods(name)
        limit = units(pod["containers"][0]["resources"]["limits"]["memory"])
        assert 100 << 20 < 1024 * int(told) < limit / 2, name


# What wait4 tells counts the process that started it, too.
MEASURED = """
import atexit, pathlib, sys
to = pathlib.Path(sys.argv.pop(1))
atexit.register(lambda: to.write_text(pathlib.Path("/proc/self/status").read_text()))
from rescheduler.cli.main import main
main()
"""
SPREAD_FILE = ROOT / "policies" / "spread.yaml"


def test_f58_a_server_that_stays_silent_is_left_in_time(tmp_path: Path) -> None:
    """No client has a deadline by default, and one with 2 s takes 14, as it tries again."""
    end = threading.Event()
    with serving(lambda _: Reply(hang=end)) as served:
        prometheus = Prometheus(served.url, timeout=0.2)
        began = time.monotonic()
        readings = read_readings(
            prometheus,
            [ReadingRequest("node.memory"), ReadingRequest("node.cpu")],
            cluster.snapshot([cluster.node("n1")], []),
        )
        took = time.monotonic() - began
        end.set()
        prometheus.close()
    assert len(served.requests) <= 1, "it is not tried again, and not for the next query either"
    assert took < 8
    assert {reading.problem.code for reading in readings.entries if reading.problem} == {"RDG001"}
    mute = small()
    mute.fail = lambda _: Reply(hang=silent)
    silent = threading.Event()
    with connected(mute, tmp_path) as (connection, _):
        connection.read_timeout = 0.2
        with pytest.raises(ClusterUnavailable, match="cannot be read"):
            read_cluster(connection)
        silent.set()


@virtual
def test_f59_counters_follow_what_is_reported() -> None:
    """A success that was lost in a race, an eviction that was never counted."""
    plan = run_cycle(parts())
    assert isinstance(plan, Plan)
    telemetry = Telemetry("Enforce")
    results: list[Result] = ["evicted", "refused", "unknown", "evicted"]
    for result in results:
        move = MoveResult.from_move(plan.moves[0], result, Problem("ACT001", ""))
        now = datetime(2026, 11, 21, tzinfo=UTC)
        telemetry.observe(
            Outcome(
                started=now, finished=now, verdict=Problem("ACT013", ""), plan=plan, moves=(move,)
            )
        )
    name = "rescheduler_moves_total"
    counted = {
        result: telemetry.registry.get_sample_value(name, {"outcome": result, "policy": "zones"})
        for result in set(results)
    }
    assert counted == {"evicted": 2, "refused": 1, "unknown": 1}
    run, whole = hot(), Telemetry("Enforce")
    for cycle in cycles(run, 4):
        assert cycle.report is not None
        whole.observe(cycle.report)
    done = whole.registry.get_sample_value(name, {"outcome": "evicted", "policy": "hot"})
    assert done == len(moved(run)) > 0, "as many as the API server has accepted"


@virtual
def test_f60_odd_nodes_are_neither_left_nor_reached() -> None:
    """Cordoned, not Ready, the only one, of another architecture."""
    single = drawn({"web": ("n0", "n0")}, {"web": 1.6}, nodes=1)
    (cycle,) = cycles(single, 1)
    assert (moved(single), plan_of(cycle).moves) == ([], [])
    run = hot()
    for name, ready in (("n4", False), ("n5", False)):
        run.cluster.set_ready(run.cluster.objects["nodes", "", name], ready)
    (cycle,) = cycles(run, 1)
    landing = {share.node for move in plan_of(cycle).moves for share in move.landing}
    assert landing.isdisjoint({"n4", "n5"})
    source = hot()
    source.cluster.set_ready(source.cluster.objects["nodes", "", "n0"], ready=False)
    cycles(source, 1)
    assert moved(source) == []
    arm = hot(notes={})
    for pod in arm.cluster.of("pods"):
        pod["spec"]["nodeSelector"] = {"kubernetes.io/arch": "amd64"}
    for node in arm.cluster.of("nodes"):
        kind = "amd64" if node["metadata"]["name"] in ("n0", "n1", "n2") else "arm64"
        node["metadata"]["labels"]["kubernetes.io/arch"] = kind
    (cycle,) = cycles(arm, 1)
    landing = {share.node for move in plan_of(cycle).moves for share in move.landing}
    assert landing <= {"n1", "n2"}
