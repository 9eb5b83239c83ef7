"""F21-F32: the eviction API and PodDisruptionBudgets."""

import random
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from rescheduler.acting.run import act
from rescheduler.model.moves.plan import Outcome, PodRef
from rescheduler.policies.limits import Limits
from rescheduler.runtime.exit_codes import exit_code
from tests.catalogue.kit import GREAT, codes, cycles, drawn, hot, moved, plan_of, sent
from tests.deploy.manifests import OVERLAYS, rights
from tests.fakes import moves
from tests.fakes.stage import WIDE, Process, Stage, warm
from tests.planning.cases import Case, settled
from tests.planning.plan.rechecks import calm, cordon_source, gone, nothing, verdict
from tests.simulation.objects import Object, is_ready
from tests.simulation.scenario import Run
from tests.simulation.weather import Strike

virtual = pytest.mark.usefixtures("virtual")
SPREAD_OUT = {"web": ("n0", "n1", "n2"), "a": ("n0",), "b": ("n1",), "c": ("n2",)}
"""Three hot nodes, each with a pod of web and one that may not be moved."""
USE = dict.fromkeys(SPREAD_OUT, 1.4)
EAGER = GREAT.replace("movesPerNode: 2", "movesPerNode: 2\n  movesPerWorkload: 3").replace(
    "coolDown: 5m", "coolDown: 0s"
)


def ready_when_evicted(run: Run, app: str) -> list[int]:
    """How many pods of the app were Ready just before each accepted eviction; filled as it goes."""
    found: list[int] = []
    watched = run.cluster.on_accept

    def accepted(pod: Object, body: Object) -> None:
        pods = [p for p in run.cluster.of("pods") if p["metadata"]["labels"]["app"] == app]
        found.append(sum(is_ready(p) and "deletionTimestamp" not in p["metadata"] for p in pods))
        watched(pod, body)

    run.cluster.on_accept = accepted
    return found


def web(stage: Stage, name: str = "web-1", rs: str = "rs-1", **more: Any) -> dict[str, Any]:
    return stage.world.add_pod(name, "n1", owner=("ReplicaSet", rs), app=rs, **more)


def acted(stage: Stage, *pods: dict[str, Any], name: str = "a", **more: Any) -> Outcome:
    """One run over a plan that moves these pods, each in a batch of its own."""
    planned = [moves.planned(pod, batch=number) for number, pod in enumerate(pods, 1)]
    plan = moves.plan_of(stage.world, planned, expires=timedelta(hours=9))
    return act(plan, Process(stage, name, **more).actor())


@virtual
def test_f21_a_stale_budget_lets_no_more_pods_down_than_it_says() -> None:
    """The disruption controller lags, and the status still allows what was spent already."""
    run = drawn(SPREAD_OUT, USE, text=EAGER)
    run.cluster.add_pdb("web", unavailable=1)
    run.cluster.disruption = 3600.0
    before = ready_when_evicted(run, "web")
    cycles(run, 6, every=20.0)
    assert before
    assert set(before) == {3}
    assert run.ground.broken == []


@virtual
def test_f22_without_a_budget_replicas_go_one_at_a_time() -> None:
    """Three replicas on three hot nodes, no budget: all of them would go at once."""
    run = drawn(SPREAD_OUT, USE, text=EAGER)
    before = ready_when_evicted(run, "web")
    cycles(run, 6)
    assert before
    assert set(before) == {3}


@pytest.mark.parametrize("wanted", range(4))
@pytest.mark.parametrize("ready", range(4))
def test_f23_the_only_replica_stays(wanted: int, ready: int) -> None:
    """Without a second Ready pod an eviction is an outage."""

    def change(case: Case) -> None:
        for controller in case.snapshot.controllers:
            controller.spec.replicas = wanted
            controller.status.readyReplicas = ready
            controller.status.replicas = controller.status.updatedReplicas = max(wanted, ready)
        del case.snapshot.pods[max(ready, 1) :]

    assert (settled(change).verdict() == "") == (ready == wanted >= 2)


@virtual
def test_f24_two_budgets_on_a_pod_are_seen_before_it_is_asked() -> None:
    """The API server answers 500 for ever; who retries does it for ever, too."""
    run = hot()
    for app in ("web", "api"):
        run.cluster.add_pdb(app)
        run.cluster.add_pdb(app, name=f"{app}-too")
    made = cycles(run, 3)
    assert sent(run) == []
    assert "BUD001" in codes(made[0].report)


@virtual
def test_f25_a_blocked_pod_is_asked_once_a_cycle() -> None:
    """Retries of every 100 ms, each with a list of all budgets, bring etcd down."""
    run = hot()
    process = run.process()
    process.weather = Strike("429 by a budget", "evict", random.Random(1), times=1000)
    cycle = process.run()
    posts = [request for request in run.universe.log if request.path.endswith("/eviction")]
    bodies = [post.body or {} for post in posts]
    uids = Counter(body["deleteOptions"]["preconditions"]["uid"] for body in bodies)
    assert cycle.code == 3
    assert set(uids.values()) <= {1}
    lists = [e for e in run.universe.log if e.path.endswith("/poddisruptionbudgets")]
    assert len(lists) <= 4, "not one for each eviction"
    emptied = hot()
    for app in ("web", "api"):
        emptied.cluster.add_pdb(app, unavailable=0)
    cycles(emptied, 1)
    assert sent(emptied) == [], "what a budget does not allow is not even asked for"


@pytest.mark.parametrize("phase", ["Pending", "Succeeded", "Failed", "Unknown", "Running"])
@pytest.mark.parametrize("ready", ["True", "False", "Unknown"])
def test_f26_only_running_and_ready_pods_are_moved(phase: str, ready: str) -> None:
    """For others the API server skips the budget, or never lets them go."""

    def change(case: Case) -> None:
        case.condition("Ready", ready)
        case.pod.status.phase = phase

    assert (settled(change).verdict() == "") == (phase == "Running" and ready == "True")


def test_f27_another_pod_of_the_same_name_is_not_evicted() -> None:
    """A StatefulSet's fresh replacement has the old one's name."""
    stage = warm(Stage())
    pod = stage.world.add_pod("db-0", "n1", owner=("StatefulSet", "db"), app="db")
    process = Process(stage, "a")

    def swap(_: int, method: str, path: str) -> None:
        if method == "POST" and path.endswith("/eviction"):
            stage.world.objects["pods", "default", "db-0"]["metadata"]["uid"] = "fresh"

    process.before = swap
    outcome = act(moves.plan_of(stage.world, [moves.planned(pod)]), process.actor())
    assert (outcome.moves[0].code, stage.world.accepted) == ("ACT003", [])
    stale = moves.planned(pod, pod=PodRef(namespace="default", name="db-0", uid="older"))
    outcome = act(moves.plan_of(stage.world, [stale]), Process(stage, "b").actor())
    assert (outcome.moves[0].result, stage.world.accepted) == ("refused", [])


@pytest.mark.parametrize("side", ["before", "after"])
def test_f28_an_unknown_outcome_is_charged_and_never_sent_again(side: str) -> None:
    """The request may have been lost, or its answer."""
    stage = warm(Stage())
    process = Process(stage, "a")

    def lose(_: int, method: str, path: str) -> str | None:
        return "lost" if method == "POST" and path.endswith("/eviction") else None

    setattr(process, side, lose)
    pods = [web(stage), web(stage, "api-1", "rs-2")]
    planned = [moves.planned(pod, batch=number) for number, pod in enumerate(pods, 1)]
    outcome = act(moves.plan_of(stage.world, planned), process.actor())
    posts = [path for method, path in process.sent if path.endswith("/eviction")]
    assert len(set(posts)) == len(posts)
    assert len(stage.world.accepted) <= len(posts)
    history = Process(stage, "reader").ledger.peek()
    assert [m.podUid for m in history.moves][:1] == [pods[0]["metadata"]["uid"]], "charged"
    if side == "before":
        assert outcome.moves[0].code == "ACT009"
        assert outcome.moves[1].result == "skipped"
        assert exit_code(outcome) == 1 or exit_code(outcome) == 3


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet"])
def test_an_eviction_that_a_proxy_repeats_is_charged(kind: str) -> None:
    """The pod is gone by then (404), or has a successor of its name (409)."""
    stage = warm(Stage())
    stage.world.grace = 0

    def repeat(_: int, method: str, path: str) -> str | None:
        return "repeated" if method == "POST" and path.endswith("/eviction") else None

    pods = [
        stage.world.add_pod(f"{app}-0", "n1", owner=(kind, app), app=app) for app in ("a", "b", "c")
    ]
    limits = Limits(**WIDE | {"movesPerCycle": 1})
    process = Process(stage, "a", limits=limits)
    process.after = repeat
    plan = moves.plan_of(stage.world, [moves.planned(pod) for pod in pods])
    outcome = act(plan, process.actor())
    said = [(move.result, move.code) for move in outcome.moves]
    assert said == [("evicted", "ACT001"), ("refused", "PAC001"), ("refused", "PAC001")]
    assert stage.world.accepted == [pods[0]["metadata"]["uid"]]
    assert [move.charged for move in Process(stage, "reader").ledger.peek().moves] == [True]


def test_f29_a_pod_that_lives_for_hours_after_its_eviction_keeps_its_slot() -> None:
    """A finalizer, a long grace period, a live migration: it is still there, and so is its slot."""
    stage = warm(Stage())
    stage.world.stuck = lambda pod: pod["metadata"]["name"] == "web-1"
    bodies: list[dict[str, Any]] = []
    stage.world.on_accept = lambda _, body: bodies.append(body)
    first, second = web(stage), web(stage, "web-2")
    outcome = acted(stage, first)
    assert outcome.moves[0].code == "ACT019", "it is said that it stays"
    assert exit_code(outcome) == 3
    for number in range(6):
        stage.seconds += 1800
        again = acted(stage, second, name=f"later-{number}")
        assert again.moves[0].result != "evicted"
    assert stage.world.accepted == [first["metadata"]["uid"]]
    (past,) = Process(stage, "reader").ledger.peek().moves
    assert past.in_flight
    assert "gracePeriodSeconds" not in str(bodies)


@virtual
def test_f30_nothing_is_deleted_and_no_grace_is_cut() -> None:
    """A grace of zero breaks at-most-one; a forced path is a path around every budget."""
    run = hot()
    cycles(run, 2)
    assert moved(run)
    assert {request.method for request in run.universe.log} <= {"GET", "POST", "PUT"}
    evictions = [
        request.body or {} for request in run.universe.log if request.path.endswith("/eviction")
    ]
    assert {tuple(body["deleteOptions"]) for body in evictions} == {("preconditions",)}
    for name in OVERLAYS:
        assert {verb for _, _, verb, _ in rights(name)}.isdisjoint({"delete", "deletecollection"})


@pytest.mark.parametrize(
    ("change", "code"),
    [(nothing, ""), (calm, "DRF004"), (cordon_source, "DRF003"), (gone, "ACT002")],
)
def test_f31_a_decision_is_not_executed_after_its_reason_is_gone(change: Any, code: str) -> None:
    """Between plan and request the node cooled down, was cordoned, or the pod left."""
    assert verdict(change) == code


TAINTS = [
    {"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"},
    {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"},
    {"key": "maintenance", "effect": "NoExecute"},
    {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
]


@virtual
@pytest.mark.parametrize("taint", TAINTS)
def test_f32_a_node_that_another_actor_works_on_is_left_to_it(taint: Object) -> None:
    """Two actors that decide about one node take more than either meant to."""
    run = hot()
    nodes = {node["metadata"]["name"]: node for node in run.cluster.of("nodes")}
    nodes["n0"]["spec"] = {
        "taints": [taint],
        "unschedulable": taint["key"].endswith("unschedulable"),
    }
    cycles(run, 1)
    assert moved(run) == []
    arriving = hot()
    for name in ("n4", "n5"):
        arriving.cluster.objects["nodes", "", name]["spec"] = {"taints": [taint]}
    (cycle,) = cycles(arriving, 1)
    landing = {share.node for move in plan_of(cycle).moves for share in move.landing}
    assert landing.isdisjoint({"n4", "n5"})
