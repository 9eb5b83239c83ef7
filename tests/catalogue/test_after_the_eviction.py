"""F33-F44: after the eviction."""

import math
from datetime import timedelta
from typing import Any

import pytest

from rescheduler.acting.run import act
from rescheduler.kube import annotations as names
from rescheduler.model.dependencies import Dependencies
from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import Outcome
from rescheduler.planning.plan.planner import plan as planned
from rescheduler.policies.conformity.policy import Conformity
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.runtime.service.cron import parse_cron
from tests.catalogue.kit import codes, cycles, drawn, hot, moved, plan_of
from tests.catalogue.packing import PACK
from tests.cluster import deployment, node, pod, snapshot
from tests.fakes import moves
from tests.fakes.stage import Process, Stage, warm
from tests.planning.cases import settled
from tests.planning.eligibility import services as needs
from tests.planning.eligibility.services import METRICS, asking, service, webhooks
from tests.planning.evaluation.pending import codes as beside_a_pending_pod
from tests.planning.limits.budgets import cluster, spent
from tests.planning.limits.quotas import QUOTA
from tests.runtime.firings import NIGHTS, on
from tests.simulation.autoscaler import TAINT, Autoscaler
from tests.simulation.loads import constant
from tests.simulation.objects import Object
from tests.simulation.quiescence import POLICIES as DEFAULTS
from tests.simulation.scenario import Run

virtual = pytest.mark.usefixtures("virtual")


@virtual
def test_f33_a_replacement_that_stays_pending_is_the_last_one() -> None:
    """Each further eviction would add one more pod that runs nowhere."""
    run = hot()
    run.cluster.pick = lambda *_: ""
    made = cycles(run, 4)
    assert len(moved(run)) <= 2, "no more than the batch that was sent at once"
    assert made[0].code == 3
    assert "GRD003" in codes(made[-1].report)


@virtual
def test_f34_where_new_pods_are_refused_at_most_one_batch_is_evicted() -> None:
    """A quota, a LimitRange or a webhook does not admit the replacement."""
    run = hot()
    run.cluster.quota_refuses = True
    made = cycles(run, 4)
    assert len(moved(run)) <= 2
    assert made[0].code == 3
    assert "GRD003" in codes(made[-1].report)
    full = spent(cluster(quota=QUOTA), {}, 0).refusal(1)
    assert full is not None
    assert full.code == "BUD004", "a quota that is full is seen before anything is asked for"


@virtual
def test_f35_where_every_eviction_is_useless_acting_ends() -> None:
    """The scheduler is alive and does not do what is predicted: the outcome counts."""
    apps = {f"app{n}": ("n0", f"n{1 + n % 3}") for n in range(8)}
    run = drawn(apps, dict.fromkeys(apps, 0.5), nodes=12)

    def elsewhere(pod: Object, nodes: list[str]) -> str:
        state = run.universe.state()
        predicted = (
            {name for move in state.history.moves if move.in_flight for name in move.landing}
            if state
            else ()
        )
        return next((name for name in nodes if name not in predicted), nodes[0])

    run.cluster.pick = elsewhere
    made = cycles(run, 5, every=900.0)
    assert any("GRD009" in codes(cycle.report) for cycle in made if cycle.report), made[-1].error
    held = next(
        n for n, cycle in enumerate(made) if cycle.report and "GRD009" in codes(cycle.report)
    )
    assert all(cycle.code != 0 for cycle in made[held:])
    assert max(eviction.at for eviction in run.ground.evicted) <= made[held].began


@virtual
def test_f36_images_that_cannot_be_pulled_stop_the_run() -> None:
    """The registry throttles; each further replacement only joins the herd."""
    run = hot()
    run.cluster.sound = lambda _: False
    run.cluster.crashing = throttled
    made = cycles(run, 4)
    assert len(moved(run)) <= 2
    assert made[0].code == 3
    outcome = made[0].report
    assert isinstance(outcome, Outcome)
    assert {move.code for move in outcome.moves if move.result == "evicted"} == {"ACT011"}
    assert "GRD003" in codes(made[-1].report)

    own = {app: f"{app}:1" for app in "abcd"}
    together, apart = pulling(own), pulling(dict.fromkeys(own, "base:1"))
    for trial, together_at_once in ((together, True), (apart, False)):
        (cycle,) = cycles(trial, 1)
        assert cycle.code == 0, "nobody was throttled"
        assert len(moved(trial)) == 2
        first, second = (e.at for e in trial.ground.evicted)
        assert (second - first < PULL) == together_at_once, "one image is pulled by one at a time"

    lacking, held = pulling(own), pulling(own)
    for host in held.cluster.of("nodes"):
        report = host["status"]["images"]
        if host["metadata"]["name"] in ("n4", "n5"):
            report += [{"names": [image]} for image in own.values()]
        for image in report:
            image["sizeBytes"] = 2**30
    for trial, nodes in ((lacking, {"n3", "n4", "n5"}), (held, {"n4", "n5"})):
        (cycle,) = cycles(trial, 1)
        assert len(moved(trial)) == 2
        landing = {share.node for move in plan_of(cycle).moves for share in move.landing}
        assert landing == nodes, "they go to nodes that have the image, where there are such"


PULL = 20.0
"""Seconds in which nobody else may pull the same image."""


def throttled(pod: Object) -> None:
    waiting = {"waiting": {"reason": "ErrImagePull", "message": "429 Too Many Requests"}}
    pod["status"] = {
        "phase": "Pending",
        "conditions": [],
        "containerStatuses": [
            {"name": "main", "restartCount": 0, "ready": False, "state": waiting}
        ],
    }


def pulling(images: dict[str, str]) -> Run:
    """One hot node, and a registry that throttles who pulls what another one is pulling.

    images: that of each app, which has a pod on the hot node.
    """
    apps = {app: ("n0", f"n{1 + number % 2}") for number, app in enumerate(images)}
    run = drawn(apps, dict.fromkeys(apps, 0.9))
    cluster, pulled = run.cluster, dict[str, float]()
    for node_object in cluster.of("nodes"):
        node_object["status"]["images"] = [{"names": ["pause:1"], "sizeBytes": 1000}]
    for manifest in [*cluster.of("replicasets"), *cluster.of("pods")]:
        spec = (
            manifest["spec"]["template"]["spec"]
            if "template" in manifest["spec"]
            else manifest["spec"]
        )
        app = manifest["metadata"]["name"].partition("-")[0]
        spec["containers"] = [{**spec["containers"][0], "image": images[app]}]
        if "nodeName" in spec:
            report = cluster.objects["nodes", "", spec["nodeName"]]["status"]["images"]
            report.append({"names": [images[app]], "sizeBytes": 1000})

    def sound(pod: Object) -> bool:
        image, now = pod["spec"]["containers"][0]["image"], cluster.timeline.seconds
        node = cluster.objects["nodes", "", pod["spec"]["nodeName"]]
        if any(image in node_image["names"] for node_image in node["status"]["images"]):
            return True
        if now - pulled.get(image, -PULL) < PULL:
            return False
        pulled[image] = now
        node["status"]["images"].append({"names": [image], "sizeBytes": 2**20})
        return True

    cluster.sound, cluster.crashing, cluster.pick = sound, throttled, run.as_predicted
    return run


@pytest.mark.parametrize(("nodes", "tied"), [(["n1"], True), (["n1", "n4"], False)])
def test_f37_a_pod_whose_volume_is_on_its_node_stays(nodes: list[str], tied: bool) -> None:
    """Its replacement could only run there again, or nowhere."""
    case = settled(lambda c: c.claim(nodes=nodes))
    assert (case.verdict() == "ELG017") == tied


def test_f38_no_move_causes_a_preemption() -> None:
    """A cascade of preemptions took a service down for half an hour."""
    assert "GRD008" in beside_a_pending_pod(priority=10), "who waits comes first"
    top, owner = deployment("web")
    low_top, low = deployment("low", replicas=1)
    same = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": HOSTNAME}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [same]}}
    pods = [
        pod(f"web-{n}", "n1", owner=owner, labels=WEB, affinity=apart, priority=9) for n in "abc"
    ]
    full = pod("low-1", "n2", owner=low, labels={"app": "low"}, requests={"cpu": "8"}, priority=0)
    nodes = [node("n1", allocatable=ROOM), node("n2", allocatable=ROOM)]
    owners = [top, owner, low_top, low]
    policy = Conformity(name="apart", match=ALL, podAntiAffinity=True)
    for others, code in (([full], {"FEA009"}), ([], set())):
        before = snapshot(nodes, [*pods, *others], controllers=owners)
        made = planned(before, policy_set([policy]), History(), mode="Enforce")
        assert bool(made.moves) != bool(code)
        assert {refusal.code for refusal in made.refused} >= code


ROOM = {"cpu": "8", "memory": "32Gi", "pods": "20"}
HOSTNAME = "kubernetes.io/hostname"
WEB = {"app": "web"}
ALL: Any = {"all": True}


@virtual
@pytest.mark.parametrize(
    ("where", "name"),
    [
        ("labels", "pod-group.scheduling.sigs.k8s.io"),
        ("labels", "scheduling.x-k8s.io/pod-group"),
        ("labels", "jobset.sigs.k8s.io/jobset-name"),
        ("labels", "kueue.x-k8s.io/pod-group-name"),
        *(("notes", gang) for gang in sorted(names.GANGS)),
    ],
)
def test_f39_no_pod_is_taken_out_of_a_gang(where: str, name: str) -> None:
    """One pod of each of ten jobs kills ten jobs."""
    marked: Any = {where: {name: "train"}}
    apps = {"train": ("n0", "n1", "n2"), "web": ("n0", "n3")}
    run = drawn(apps, {"train": 2.0, "web": 0.6}, kind="Job", **marked)
    (cycle,) = cycles(run, 1)
    assert moved(run) == []
    assert codes(cycle.report) & {"ELG016", "ELG028"}


def test_f40_requests_in_flight_are_left_the_time_that_the_pod_asks_for() -> None:
    """preStop and grace are the pod's; a new one counts once it has been Ready for a while."""
    stage = warm(Stage())
    stage.world.grace = 590.0
    slow = stage.world.add_pod("db-0", "n1", owner=("StatefulSet", "db"), app="db")
    slow["spec"]["terminationGracePeriodSeconds"] = 600
    other = stage.world.add_pod("web-1", "n1", owner=("ReplicaSet", "web"), app="web")
    sent: list[tuple[float, Object]] = []
    stage.world.on_accept = lambda _, body: sent.append((stage.seconds, body))
    process = Process(stage, "a")
    plan = [moves.planned(slow), moves.planned(other, batch=2)]
    act(moves.plan_of(stage.world, plan, expires=timedelta(hours=9)), process.actor())
    (first, _), (second, _) = sent
    enough = stage.world.grace + process.limits.minReadyTime.total_seconds()
    assert second - first >= enough, "also where no readiness probe says when it serves"
    assert all(set(body["deleteOptions"]) == {"preconditions"} for _, body in sent)

    night = "*/15 22-23,0-4 * * mon-fri"
    for day in NIGHTS["Europe/Paris"]:
        hours = {int(slot[4:6]) for slot in on(parse_cron(night, "Europe/Paris"), day, 7)}
        assert hours == {22, 23, 0, 1, 2, 3, 4}, "outside of business hours, in winter and summer"


@virtual
def test_pods_that_do_not_tell_when_they_serve_are_named() -> None:
    """F40: without a readiness probe a replacement gets requests before it serves."""
    cases = (((), "api", False), (("web",), "api", True), (("web",), "web", False))
    for probed, served, named in (*cases, (("web", "api"), "api", False)):
        run = hot()
        selecting = {"spec": {"selector": {"app": served}, "ports": [{"port": 80}]}}
        run.cluster.put("services", "default", served, selecting)
        for pod_object in run.cluster.of("pods"):
            app = pod_object["metadata"]["labels"]["app"]
            probe = {"readinessProbe": {"httpGet": {"path": "/"}}} if app in probed else {}
            first = pod_object["spec"]["containers"][0]
            pod_object["spec"]["containers"] = [{**first, **probe}]
        (cycle,) = cycles(run, 1)
        assert moved(run) == ["api"]
        said = [note.message for note in plan_of(cycle).notes if note.code == "DAT003"]
        assert said == ["without a readiness probe: Deployment default/api"] * named


@virtual
@pytest.mark.parametrize(("desired", "ago"), [(3, 3600), (2, 60)])
def test_f41_a_workload_that_is_being_scaled_is_left_alone(desired: int, ago: float) -> None:
    """An autoscaler that removes the pod that we have just moved, and so on."""
    run = hot()
    for app in ("web", "api"):
        scaled(run, app, desired, ago)
    (cycle,) = cycles(run, 1)
    assert moved(run) == []
    assert "ELG013" in codes(cycle.report)


def scaled(run: Run, app: str, desired: int, ago: float) -> None:
    """An autoscaler over the app's two pods, which scaled so many seconds ago."""
    last = run.cluster.now() - timedelta(seconds=ago)
    status = {
        "currentReplicas": 2,
        "desiredReplicas": desired,
        "lastScaleTime": last.isoformat(),
    }
    spec = {"scaleTargetRef": {"kind": "Deployment", "name": app}, "maxReplicas": 9}
    run.cluster.put("horizontalpodautoscalers", "default", app, {"spec": spec, "status": status})


@virtual
def test_f42_a_node_that_has_just_come_is_neither_left_nor_counted_on() -> None:
    """It may be gone again in five minutes, or hold only what was started first."""
    born = hot().cluster.now().isoformat()
    for odd in (
        {"metadata": {"creationTimestamp": born}},
        {"spec": {"taints": [TAINT]}},
        {"spec": {"unschedulable": True}},
        {"metadata": {"deletionTimestamp": born}},
    ):
        run, young = hot(), hot()
        for name in ("n4", "n5"):
            spoilt(run, name, odd)
        (cycle,) = cycles(run, 1)
        landing = {share.node for move in plan_of(cycle).moves for share in move.landing}
        # Where the scheduler would still go to such a node, nothing is moved.
        want = ["api"] if "spec" in odd else []
        assert moved(run) == want
        assert landing == ({"n3"} if want else set())
        spoilt(young, "n0", odd)
        (cycle,) = cycles(young, 1)
        assert moved(young) == []
        assert "ELG020" in codes(cycle.report)


def spoilt(run: Run, name: str, odd: dict[str, dict[str, Any]]) -> None:
    node = run.cluster.objects["nodes", "", name]
    for part, values in odd.items():
        node[part] = {**node[part], **values}


@virtual
def test_an_autoscaler_and_it_come_to_rest_beside_each_other() -> None:
    """F42: one fills the nodes that the other takes away, and makes it buy new ones."""
    bought: dict[str, int] = {}
    for mode in ("Enforce", "Audit"):
        apps = {f"a{n}": ("n0", f"n{1 + n % 5}", f"n{1 + (n + 2) % 5}") for n in range(4)}
        run = drawn(apps, {app: 0.6 + 0.1 * n for n, app in enumerate(apps)}, **ROOMY)
        run.metrics.loads["a1"] = lambda at: 0.7 + 0.6 * math.sin(math.tau * at / (4 * 3600))
        scaler = Autoscaler(run, fewest=3)
        for hours in range(18):
            if hours == 6:
                for kind, name in (("deployments", "a0"), ("replicasets", "a0-1")):
                    run.cluster.objects[kind, "default", name]["spec"]["replicas"] = 9
                run.cluster.sync_soon()
            for _ in range(4):
                run.process(mode).run()
                run.cluster.timeline.advance(900.0)
        assert scaler.removed
        bought[mode] = len(scaler.added)
        for eviction in run.ground.evicted:
            assert eviction.move is not None, eviction
            known = {eviction.node, *eviction.move.landing}
            young = {n for n, at in scaler.added.items() if eviction.at - 600 <= at <= eviction.at}
            leaving = {n for n, at in scaler.removed.items() if at <= eviction.at}
            assert known.isdisjoint(young | leaving), eviction
        assert len(run.ground.evicted) <= len(apps) * 2
        assert [eviction for eviction in run.ground.evicted if eviction.at > 9 * 3600] == [], (
            "it is at rest"
        )
        assert bool(run.ground.evicted) == (mode == "Enforce")
        assert run.ground.broken == []
    assert 1 <= bought["Enforce"] <= bought["Audit"], "no node is bought because of it"


ROOMY: Any = {"nodes": 8, "cpu": 0.8, "text": DEFAULTS + PACK}


@virtual
def test_f43_what_it_needs_itself_is_never_evicted() -> None:
    """Itself, DNS, the metrics pipeline, everything of kube-system, and what is critical."""
    run = drawn({"web": ("n3", "n4")}, {"web": 0.1})
    add = run.cluster.add_workload
    add("Deployment", "dns", ["n0", "n1"], namespace="kube-system")
    add("StatefulSet", "prometheus", ["n0", "n2"], labels=PROMETHEUS)
    add("Deployment", "rescheduler", ["n0", "n2"], labels={"app.kubernetes.io/name": "rescheduler"})
    run.metrics.loads |= {"dns": constant(1.0), "prometheus": constant(1.0)}
    run.metrics.loads["rescheduler"] = constant(1.0)
    run.metrics.begin()
    (cycle,) = cycles(run, 1)
    assert moved(run) == []
    assert "ELG008" in codes(cycle.report)
    case = settled(lambda c: setattr(c.pod.spec, "priorityClassName", "system-node-critical"))
    case.limit(maxPriority=2_000_001_000)
    assert case.verdict() == "ELG009", "no limit switches that off"
    hooks = webhooks(service={"name": "hook", "namespace": "policy"})
    scheduler = needs.label(needs.cluster(), "hook", component="bin-pack-scheduler")
    scheduler.pods[-1].spec.schedulerName = "bin-pack"
    for app, needed in (
        ("metrics", needs.cluster(METRICS, dependencies=asking("prom.monitoring"))),
        ("web", needs.cluster(dependencies=Dependencies(namespace="default", pod="web-1"))),
        ("web", needs.cluster(service("kube-dns", "default", "web"))),
        ("hook", needs.cluster(service("hook", "policy", "hook"), validating_webhooks=hooks)),
        ("hook", scheduler),
    ):
        assert list(needs.refused(needed)) == [app], "found by what asks for it, not by a name"


PROMETHEUS = {"app.kubernetes.io/name": "prometheus"}
TYPED = ("true", "True", "ture", "yes", "1", "", " ", "on", "until", "until tomorrow", "fals")


@pytest.mark.parametrize("value", TYPED)
@pytest.mark.parametrize("name", [names.OPT_OUT, names.DO_NOT_DISRUPT])
def test_f44_an_opt_out_that_is_mistyped_still_protects(name: str, value: str) -> None:
    """Taken for absent, a slip of the hand would cost the pod its protection."""
    assert settled(lambda case: case.annotate(**{name: value})).verdict() == "ELG011"
