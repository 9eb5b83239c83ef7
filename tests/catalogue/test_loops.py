"""F01-F10: loops and oscillation."""

from collections.abc import Callable

import pytest

from rescheduler.policies.conformity.policy import Conformity
from rescheduler.runtime.servers.telemetry import Telemetry
from tests.catalogue.kit import GREAT, codes, cycles, drawn, hot, moved, plan_of
from tests.catalogue.packing import PACK
from tests.cluster import deployment, node, pod, snapshot
from tests.picture import proposed
from tests.planning.roomy import ROOMY
from tests.simulation.loads import constant
from tests.simulation.objects import Object
from tests.simulation.policies import POLICIES, SPREAD
from tests.simulation.quiescence import POLICIES as DEFAULTS
from tests.simulation.quiescence import watch
from tests.simulation.scenario import Run

pytestmark = pytest.mark.usefixtures("virtual")
HOUR = 3600.0


def test_f01_a_pod_that_always_comes_back_is_left_alone_ever_longer() -> None:
    """Evicted, bound to the same node, evicted again, all night long."""
    run = hot(text=DEFAULTS)
    run.cluster.pick = lambda _pod, nodes: "n0" if "n0" in nodes else nodes[0]
    made = cycles(run, 30 * 2, every=HOUR / 2)
    for app in ("web", "api"):
        times = evicted_at(run, app)
        assert most_in_a_day(times) == 2
        assert times[1] - times[0] >= HOUR, "twice the cool-down"
        assert times[2] - times[1] >= 24 * HOUR, "moving it is futile, no matter who looks"
    assert run.ground.broken == []
    said = [
        refusal.message for refusal in plan_of(made[24 * 2]).refused if refusal.code == "ELG022"
    ]
    assert any("so moving it is futile" in message for message in said)
    for sign in (max, min):
        crowd = {f"a{n}": ("n0", f"n{2 + n}") for n in range(6)}
        crowd |= {f"b{n}": ("n1", f"n{2 + n}") for n in range(6)}
        run = drawn(crowd, dict.fromkeys(crowd, 0.5), text=DEFAULTS, nodes=12)
        run.cluster.pick = leaning(run, sign)
        cycles(run, 24, every=HOUR)
        assert len(moved(run)) > 4
        most = max(most_in_a_day(evicted_at(run, app)) for app in crowd)
        assert most <= 2, "nor does a pod go from one hot node to another for ever"
        assert run.ground.broken == []


def leaning(run: Run, sign: Callable[..., str]) -> Callable[[Object, list[str]], str]:
    return lambda _pod, _nodes: sign(("n0", "n1"), key=run.metrics.true_load)


def evicted_at(run: Run, app: str) -> list[float]:
    """When the pods of an app were evicted."""
    return [e.at for e, name in zip(run.ground.evicted, moved(run), strict=True) if name == app]


def most_in_a_day(times: list[float]) -> int:
    """The most of these moments that are within 24 hours."""
    return max((sum(at <= time < at + 24 * HOUR for time in times) for at in times), default=0)


def test_f02_a_pod_larger_than_the_imbalance_stays() -> None:
    """Wherever it went it would overload that node, and the next cycle would move it on."""
    others = ("n2", "n3", "n4", "n5")
    apps = {"large": ("n0", "n1"), "alone": ("n0",), "rest": others}
    use = {"large": 1.9, "alone": 0.9, "rest": 0.9}
    run = drawn(apps, use, text=GREAT)
    (cycle,) = cycles(run, 1)
    assert (moved(run), cycle.code) == ([], 0)
    roomy = drawn(apps, use, text=GREAT, nodes=7)
    cycles(roomy, 1)
    assert moved(roomy) == ["large"], "where there is room it moves"


def test_f03_more_replicas_than_nodes_are_no_duplicates_to_remove() -> None:
    """Five pods on three nodes can never be one on each."""
    text = POLICIES.partition("---")[0] + SPREAD.replace("topology.kubernetes.io/zone", HOSTNAME)
    run = drawn({"web": ("n0", "n0", "n1", "n1", "n2")}, {"web": 0.1}, nodes=3, text=text)
    first = run.process().run()
    assert (first.code, plan_of(first).moves) == (0, [])
    crowded = drawn({"web": ("n0", "n0", "n0", "n0", "n1")}, {"web": 0.1}, nodes=3, text=text)
    cycles(crowded, 1)
    assert moved(crowded) == ["web"], "a worse placement than the best one is repaired"


HOSTNAME = "kubernetes.io/hostname"


def test_f04_two_spread_rules_come_to_rest_together() -> None:
    """Judged one at a time, zones and hosts undo one another for ever."""
    rules = SPREAD + SPREAD.replace("name: zones", "name: hosts").replace(
        "topology.kubernetes.io/zone", HOSTNAME
    )
    where = ("n0", "n0", "n2", "n2", "n1", "n3")
    run = drawn({"web": where}, {"web": 0.1}, nodes=4, text=POLICIES + rules)
    run.cluster.objects["nodes", "", "n3"]["spec"] = {
        "taints": [{"key": "reserved", "effect": "NoSchedule"}]
    }
    run.cluster.pick = run.as_predicted
    made = cycles(run, 6, every=HOUR)
    assert plan_of(made[-1]).moves == []
    assert len(moved(run)) <= 3


def test_f05_a_preference_that_no_node_can_satisfy_moves_nothing() -> None:
    """Evicting in the hope that an autoscaler buys a spot node is a loop that costs money."""
    top, owner = deployment("web")
    wish = [{"weight": 100, "preference": {"matchExpressions": [SPOT]}}]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": wish}}
    pods = [
        pod(f"web-{n}", f"n{n}", owner=owner, labels={"app": "web"}, affinity=affinity)
        for n in (1, 2, 3)
    ]
    names = [node(f"n{n}") for n in (1, 2, 3, 4)]
    policy = Conformity.model_validate(
        {"kind": "Conformity", "name": "c", "match": {"all": True}, "nodeAffinity": PREFERRED}
    )
    assert proposed(snapshot(names, pods, controllers=[top, owner]), policy, limits=ROOMY) == []
    spot = node("n4", labels={"pool": "spot"})
    now = snapshot([*names[:3], spot], pods, controllers=[top, owner])
    assert [move.destination for move in proposed(now, policy, limits=ROOMY)][:1] == ["n4"]


SPOT = {"key": "pool", "operator": "In", "values": ["spot"]}
PREFERRED = {"required": False, "preferred": True}


def test_f06_two_policies_with_opposite_goals_come_to_rest() -> None:
    """One objective with weights: what one has done the other does not undo."""
    apps = {"web": ("n0", "n1", "n2"), "api": ("n0", "n1", "n3"), "job": ("n4", "n5")}
    run = drawn(apps, {"web": 0.8, "api": 0.9, "job": 0.2}, text=POLICIES + SPREAD + PACK)
    run.cluster.pick = run.as_predicted
    made = cycles(run, 8, every=HOUR)
    assert moved(run)
    assert [plan_of(cycle).moves for cycle in made[-4:]] == [[]] * 4
    assert run.ground.broken == []


def test_f07_the_only_fit_is_the_node_that_it_leaves() -> None:
    """A pod whose room is nowhere but where it is would come back each time."""
    where = tuple(f"n{n}" for n in range(5))
    run = drawn(
        {"big": where[:2], "fill": where[1:]}, {"big": 2.6, "fill": 0.2}, nodes=5, text=GREAT
    )
    for node_object in run.cluster.of("nodes")[1:]:
        node_object["status"]["allocatable"] = {
            **node_object["status"]["allocatable"],
            "cpu": "0.5",
        }
    (cycle,) = cycles(run, 1)
    assert moved(run) == []
    assert codes(cycle.report) & {"FEA001", "FEA002"}


def test_f08_moves_that_the_window_does_not_show_yet_are_counted() -> None:
    """A five-minute mean calls the node hot long after its pods have left."""
    apps = {f"app{n}": ("n0", f"n{1 + n % 5}") for n in range(8)}
    text = POLICIES.replace("coolDown: 5m", "coolDown: 0s").replace(
        "movesPerHour: 6", "movesPerHour: 60"
    )
    run = drawn(apps, dict.fromkeys(apps, 0.4), text=text)
    cycles(run, 6, every=20.0)
    enough = 2
    """3.2 CPUs are used on n0, and 2.4 are 60 %."""
    assert enough <= len([e for e in run.ground.evicted if e.node == "n0"]) <= enough + 1


@pytest.mark.parametrize("lasting", [False, True])
def test_f09_a_spike_is_no_reason_to_act(lasting: bool) -> None:
    """Only what has lasted is acted on, and the wait outlives a restart."""
    run = drawn({"web": ("n0", "n0", "n2", "n2")}, {"web": 0.1}, nodes=4, text=WAITING)
    run.metrics.loads["web"] = lambda at: 3.9 if at > run.cluster.timeline.seconds - 20 else 0.1
    cycles(run, 1)
    run.metrics.loads["web"] = constant(0.1)
    for number in range(5):
        if number == 2 and not lasting:
            for zone, node in zip("aabb", run.cluster.of("nodes"), strict=True):
                node["metadata"]["labels"]["topology.kubernetes.io/zone"] = zone
        cycles(run, 1)
    assert bool(moved(run)) == lasting


WAITING = POLICIES + SPREAD.replace("  maxSkew", "  stableFor: 15m\n  maxSkew")


def test_f10_a_cluster_under_constant_load_is_left_alone() -> None:
    """Churn that nobody sees: every cycle moves something, and nothing gets better."""
    run, telemetry = hot(text=DEFAULTS), Telemetry("Enforce")
    run.cluster.pick = lambda _pod, nodes: "n0" if "n0" in nodes else nodes[0]
    made = cycles(run, 2 * 48, every=HOUR / 2)
    assert 4 <= len(moved(run)) <= 8, "nor is it churned where each replacement comes back"
    for cycle in made:
        assert cycle.report is not None
        telemetry.observe(cycle.report)
    name = "rescheduler_reverted_moves_total"
    useless = telemetry.registry.get_sample_value(name, {"reason": "ACT012"})
    assert useless == len(moved(run)), "and each useless move is counted"
    rest = watch("constant", days=1.0, period=1800.0, seed=1)
    assert (rest.early > 0, rest.late, rest.broken) == (True, 0, ())
