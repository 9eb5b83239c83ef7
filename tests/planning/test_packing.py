"""Packing frees whole nodes, and leaves those alone that would not be free in the end."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import Plan
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.policies.utilization.policy import Utilization
from rescheduler.policies.utilization.targets import PressedTarget, Targets
from rescheduler.scheduler.config.scheduler import Scheduler
from tests.picture import picture
from tests.planning.packing import FULL_FIRST, LIMITS

EVERYTHING: Any = {"all": True}
PACK = Utilization(
    name="pack",
    nodes=EVERYTHING,
    match=EVERYTHING,
    strategy="Pack",
    cold=0.3,
    targets=Targets(cpu=PressedTarget(high=0.8)),
)


def cluster() -> Snapshot:
    return picture(
        """
            zone a | n1 | web web web
            zone a | n2 | api dns
        """,
        requests={"web": {"cpu": "1"}, "api": {"cpu": "1"}, "dns": {"cpu": "100m"}},
        readings={
            "node.cpu": {"n1": "40%", "n2": "14%"},
            "pod.cpu": {"web": 1.0, "api": 1.0, "dns": 0.1},
        },
        policies=[PACK],
    )


def planned(
    before: Snapshot, policy: Utilization = PACK, limits: Limits = LIMITS, **more: Any
) -> Plan:
    schedulers = more.pop("schedulers", (FULL_FIRST,))
    history = more.pop("history", History())
    return plan(before, policy_set([policy], limits, schedulers), history, mode="Enforce")


def moved(before: Snapshot, policy: Utilization = PACK) -> list[tuple[str, str]]:
    return sorted((move.owner.name, move.source) for move in planned(before, policy).moves)


def left_alone(made: Plan) -> bool:
    """Whether no node is to be freed: nothing to gain, and nothing moves."""
    [result] = made.policies
    costs = sum(finding.cost for finding in result.findings)
    return not made.moves and result.cost.before == 0 and costs == result.immovable


def test_a_cold_node_is_freed() -> None:
    assert moved(cluster()) == [("api", "n2"), ("dns", "n2")]


@pytest.mark.parametrize(
    "what",
    [
        {"priorityClassName": "system-cluster-critical", "priority": 2_000_000_000},
        {"schedulingGroup": {"podGroupName": "gang"}},
    ],
)
def test_no_pod_leaves_a_node_that_another_one_will_not_leave(what: dict[str, Any]) -> None:
    before = cluster()
    staying = next(pod for pod in before.pods if pod.metadata.name.startswith("dns"))
    for pod in before.pods:
        if pod.metadata.labels == staying.metadata.labels:
            pod.spec = msgspec.structs.replace(pod.spec, **what)
    assert moved(before) == []


def test_no_pod_leaves_for_a_policy_that_may_not_move_the_others() -> None:
    before = cluster()
    for pod in before.pods:
        if (pod.metadata.labels or {}).get("app") == "dns":
            pod.spec = msgspec.structs.replace(pod.spec, priority=500)
    assert moved(before, PACK.model_copy(update={"maxPriority": 100})) == []
    assert moved(before, PACK.model_copy(update={"maxPriority": 500})) != []


def with_pod(before: Snapshot, app: str, **fields: Any) -> Snapshot:
    """The cluster in which the pods of that workload have these fields in their spec."""
    for pod in before.pods:
        if (pod.metadata.labels or {})["app"] == app:
            pod.spec = msgspec.structs.replace(pod.spec, **fields)
    return before


def other(text: str, asked: dict[str, str], **more: Any) -> Snapshot:
    """A cluster in which n2 is cold and all the others are warm. asked: CPU of each workload."""
    names = [line.split("|")[1].split()[0] for line in text.splitlines() if "|" in line]
    return picture(
        text,
        requests={app: {"cpu": cpu} for app, cpu in asked.items()},
        readings={
            "node.cpu": {name: "14%" if name == "n2" else "40%" for name in names},
            "pod.cpu": {app: 1.0 if app == "web" else 0.5 for app in asked},
        },
        policies=[PACK],
        **more,
    )


def test_a_node_is_not_freed_whose_pod_selects_it() -> None:
    selecting = with_pod(cluster(), "dns", nodeSelector={"kubernetes.io/hostname": "n2"})
    assert left_alone(planned(selecting))


def test_a_node_is_not_freed_whose_pod_is_one_of_too_few() -> None:
    two = LIMITS.model_copy(update={"minReplicas": 2})
    assert left_alone(planned(cluster(), limits=two))
    # Two pods of one Deployment would not both land on one node: the scheduler spreads them.
    text = "zone a | n1 | web web web\nzone a | n2 | api api\nzone a | n3 | web web web"
    pairs = other(text, {"web": "1", "api": "1"})
    assert [move.source for move in planned(pairs, limits=two).moves] == ["n2", "n2"]


@pytest.mark.parametrize(("allowed", "freed"), [(0, False), (1, True)])
def test_a_node_is_not_freed_whose_pods_budget_is_used_up(*, allowed: int, freed: bool) -> None:
    text = "zone a | n1 | web web web\nzone a | n2 | api dns"
    asked = {"web": "1", "api": "1", "dns": "100m"}
    before = other(text, asked, budgets={"dns": allowed})
    assert left_alone(planned(before)) is not freed
    assert moved(before) == ([("api", "n2"), ("dns", "n2")] if freed else [])


def test_a_node_is_not_freed_whose_pod_fits_on_no_single_other_one() -> None:
    # 3.5 cores are free on each of n1 and n3, and the pod asks for 5.
    text = """
        zone a | n1 | web web web
        zone a | n2 | big
        zone a | n3 | web web web
    """
    before = other(text, {"web": "1500m", "big": "5"})
    assert left_alone(planned(before))
    smaller = other(text, {"web": "1500m", "big": "3"})
    assert moved(smaller) == [("big", "n2")]


def test_a_node_is_not_freed_where_only_a_tainted_one_has_room() -> None:
    text = """
        zone a | n1 | web web web
        zone a | n2 | big
        zone a | n3 tainted | api api
    """
    asked = {"web": "2500m", "big": "3", "api": "2500m"}
    assert left_alone(planned(other(text, asked)))
    text = text.replace("tainted ", "")
    assert moved(other(text, asked)) == [("big", "n2")]


def test_a_node_is_not_freed_whose_pods_the_scheduler_would_put_back() -> None:
    # The scheduler's own default is to fill the emptiest node first: the one that was left.
    assert left_alone(planned(cluster(), schedulers=()))


def test_a_node_is_not_freed_for_one_that_is_empty() -> None:
    text = "zone a | n1 | web web web\nzone a | n2 | api\nzone a | n3 | -"
    before = picture(
        text,
        requests={"web": {"cpu": "2500m"}, "api": {"cpu": "1"}},
        readings={
            "node.cpu": {"n1": "40%", "n2": "14%", "n3": 0},
            "pod.cpu": {"web": 1.0, "api": 1.0},
        },
        policies=[PACK],
    )
    # By requests n1 has no room, and the emptied node is as good as the empty one.
    assert left_alone(planned(before))
    assert left_alone(planned(before, schedulers=()))


def test_of_two_nodes_that_only_have_each_other_one_is_freed() -> None:
    text = "zone a | n1 tainted | web web web\nzone a | n2 | api\nzone a | n3 | dns"
    before = picture(
        text,
        requests={"web": {"cpu": "1"}, "api": {"cpu": "6"}, "dns": {"cpu": "100m"}},
        readings={
            "node.cpu": {"n1": "40%", "n2": "14%", "n3": "15%"},
            "pod.cpu": {"web": 1.0, "api": 1.0, "dns": 1.0},
        },
        policies=[PACK],
    )
    [result] = planned(before, schedulers=(FULL_FIRST,)).policies
    assert [finding.cost for finding in result.findings] == [1]


def test_a_node_is_not_freed_where_each_of_its_pods_has_room_and_not_all() -> None:
    text = """
        zone a | n1 | web web web
        zone a | n2 | api api
        zone a | n3 | web web web
    """
    # Each of n1 and n3 has 2.3 cores left: room for one pod of 1.6, and not for two.
    fitting = other(text, {"web": "1900m", "api": "1600m"})
    assert [move.source for move in planned(fitting).moves] == ["n2", "n2"]
    alone = text.replace("zone a | n3 | web web web", "zone a | n3 tainted | web web web")
    assert left_alone(planned(other(alone, {"web": "1900m", "api": "1600m"})))


def test_a_workload_that_cools_down_after_our_move_ends_no_freeing() -> None:
    before = cluster()
    dns = next(pod for pod in before.pods if pod.metadata.name.startswith("dns"))
    workload = before.workloads[int(before.pod_workload[before.pod_index[dns.metadata.uid]])]
    earlier = PastMove(
        plan="p",
        podUid="gone",
        namespace="default",
        pod="dns-0",
        workload=workload.uid,
        source="n9",
        at=before.taken,
        settled=before.taken,
        state="ready",
        landedOn="n1",
    )
    made = planned(before, history=History([earlier]))
    assert [move.owner.name for move in made.moves] == ["api"]
    assert [(refusal.pod.name.split("-")[0], refusal.code) for refusal in made.refused] == [
        ("dns", "ELG022")
    ]


def test_a_node_is_not_freed_of_a_pod_that_we_have_moved_there() -> None:
    before = cluster()
    [dns] = [pod for pod in before.pods if pod.metadata.name.startswith("dns")]
    workload = before.workloads[int(before.pod_workload[before.pod_index[dns.metadata.uid]])]
    earlier = PastMove(
        plan="p",
        podUid="gone",
        namespace="default",
        pod="dns-0",
        workload=workload.uid,
        source="n9",
        at=before.taken - timedelta(hours=2),
        settled=before.taken - timedelta(hours=2),
        state="ready",
        replacement=dns.metadata.uid,
        landedOn="n2",
    )
    assert left_alone(planned(before, history=History([earlier])))


FULL_FIRST_BY_BOTH = Scheduler.model_validate(
    {
        "name": "default-scheduler",
        "arguments": {
            "NodeResourcesFit": {
                "scoringStrategy": {
                    "type": "MostAllocated",
                    "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}],
                }
            }
        },
    }
)
SIZES = {
    "small": {"cpu": "500m", "memory": "500Mi"},
    "web": {"cpu": "1", "memory": "1Gi"},
    "api": {"cpu": "1", "memory": "1Gi"},
}


def three(n1: str, n2: str, n3: str) -> Snapshot:
    """Three nodes of 8 cores that use what their pods use."""
    uses = {"small": 0.29, "web": 0.44, "api": 0.35}
    nodes = {"n1": n1, "n2": n2, "n3": n3}
    loads = {
        name: f"{sum(uses[app] for app in apps.split()) / 8:.4%}" for name, apps in nodes.items()
    }
    return picture(
        "\n".join(f"zone a | {name} | {apps or '-'}" for name, apps in nodes.items()),
        requests=SIZES,
        readings={"node.cpu": loads, "pod.cpu": uses},
        policies=[PACK],
    )


def test_a_node_is_freed_though_one_that_its_pods_land_on_is_not() -> None:
    """As long as n3 is to be freed itself, the last pod of n1 has nowhere to go."""
    made = planned(three("web", "api web small", "api small"), schedulers=(FULL_FIRST_BY_BOTH,))
    assert [(move.owner.name, move.source) for move in made.moves] == [("web", "n1")]


def test_a_node_that_takes_in_pods_of_another_is_not_freed_as_well() -> None:
    made = planned(three("web", "api web small", "api small"), schedulers=(FULL_FIRST_BY_BOTH,))
    [result] = made.policies
    assert [finding.subject for finding in result.findings] == ["node n1"]


def test_a_node_that_pods_have_left_is_ended_before_another_is_begun() -> None:
    text = "zone a | n1 | web\nzone a | n2 | api\nzone a | n3 tainted | dns dns"
    before = picture(
        text,
        requests={"web": {"cpu": "1"}, "api": {"cpu": "1"}, "dns": {"cpu": "1"}},
        readings={
            "node.cpu": {"n1": "10%", "n2": "12%", "n3": "50%"},
            "pod.cpu": {"web": 0.8, "api": 0.9, "dns": 2.0},
        },
        policies=[PACK],
    )
    assert [move.source for move in planned(before).moves] == ["n2"]
    earlier = PastMove(
        plan="p",
        podUid="gone",
        namespace="default",
        pod="dns-0",
        workload="other",
        source="n1",
        at=before.taken - timedelta(hours=2),
        settled=before.taken - timedelta(hours=2),
        state="ready",
        landedOn="n3",
    )
    assert [move.source for move in planned(before, history=History([earlier])).moves] == ["n1"]
