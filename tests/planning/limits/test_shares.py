"""A namespace takes its share of cycle, hour and day while others have moves worth making."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from rescheduler.kube.controllers import Namespace
from rescheduler.kube.managed_fields import NamespaceMeta
from rescheduler.model.explanation import Header
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import ClusterRef, Plan
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.explain.pod import explain_pod
from rescheduler.planning.limits.shares import _level
from rescheduler.reporting.explain.report import render_explanation
from tests.cases import every
from tests.cluster import NOW
from tests.planning.limits.more_limits import WIDE
from tests.planning.scenarios import SWIFT, hot_gpus
from tests.planning.world import World

CYCLE = {"movesPerCycle": 6}
HOUR = {"movesPerCycle": 6, "movesPerHour": 10}
DAY = {"movesPerCycle": 6, "movesPerDay": 10}


def world(*spaces: str, **limits: Any) -> World:
    """Eight workloads on five hot nodes, in these namespaces; those of `evil` gain most.

    The first half of the workloads is in `evil`, and others have the rest by turns.
    """
    made = hot_gpus(limits=SWIFT.model_copy(update=WIDE | limits))
    others = spaces or ("ads", "shop")
    where = {
        f"train-{number}": "evil" if number < 4 else others[number % len(others)]
        for number in range(8)
    }
    pods = [pod.metadata for pod in made.snapshot.pods]
    controllers = [controller.metadata for controller in made.snapshot.controllers]
    budgets = [budget.metadata for budget in made.snapshot.budgets]
    for metadata in pods + controllers + budgets:
        app = "-".join(metadata.name.split("-")[:2])
        metadata.namespace = where.get(app, "serve")
    made.use = {app: 0.99 if where.get(app) == "evil" else use for app, use in made.use.items()}
    label(made, {})
    return made


def label(world: World, tenants: Mapping[str, str]) -> None:
    """These namespaces are those of these tenants."""
    names = sorted({pod.metadata.namespace for pod in world.snapshot.pods})
    found = [
        Namespace(metadata=NamespaceMeta(name=name, labels={"tenant": tenants.get(name, "")}))
        for name in names
    ]
    world.snapshot = replace(world.snapshot, namespaces=found)
    world.measure()


def past(world: World, moves: int, ago: timedelta, namespace: str = "evil") -> None:
    """So many pods of the namespace were moved so long ago, by whatever run."""
    for number in range(moves):
        world.history.moves.append(
            PastMove(
                plan="earlier",
                podUid=f"gone-{namespace}-{number}",
                namespace=namespace,
                pod=f"gone-{number}",
                workload=f"w-{number}",
                source="n60",
                at=NOW - ago,
                state="ready",
                settled=NOW - ago,
            )
        )


def moved(made: Plan) -> Counter[str]:
    return Counter(move.pod.namespace for move in made.moves)


def refused(made: Plan) -> Counter[str]:
    return Counter(refusal.pod.namespace for refusal in made.refused if refusal.code == "BUD005")


def test_who_gains_most_takes_its_share_of_a_cycle_and_leaves_the_rest() -> None:
    made = world(**CYCLE).plan()
    assert moved(made) == {"evil": 2, "ads": 2, "shop": 2}
    assert refused(made)["evil"] > 0
    assert any("evil" in refusal.message for refusal in made.refused if refusal.code == "BUD005")


@pytest.mark.parametrize(("fields", "ago"), [(HOUR, 50), (DAY, 23 * 60)])
def test_what_was_taken_before_counts_to_the_share_of_hour_and_day(
    fields: dict[str, Any], ago: int
) -> None:
    """Of ten moves `evil` has had six: what is left is for the others."""
    tried = world(**fields)
    past(tried, 6, timedelta(minutes=ago))
    assert moved(tried.plan()) == {"ads": 2, "shop": 2}
    tried.history.moves.clear()
    past(tried, 6, timedelta(minutes=ago, hours=2))
    assert moved(tried.plan())["evil"] == 2


@pytest.mark.parametrize("fields", [CYCLE, HOUR, DAY])
def test_where_nobody_else_wants_anything_one_namespace_may_use_all(
    fields: dict[str, Any],
) -> None:
    tried = world("evil", **fields)
    past(tried, 4, timedelta(minutes=50))
    made = tried.plan()
    assert moved(made) == {"evil": 6}
    assert not refused(made)


@pytest.mark.parametrize("fields", [CYCLE, HOUR, DAY])
def test_what_others_cannot_use_is_shared_out_among_who_can(fields: dict[str, Any]) -> None:
    """The others' pods would gain, but their budgets allow no disruption now."""
    tried = world(**fields)
    past(tried, 4, timedelta(minutes=50))
    for budget in tried.snapshot.budgets:
        if budget.metadata.namespace != "evil":
            budget.status.disruptionsAllowed = 0
    tried.measure()
    made = tried.plan()
    assert moved(made) == {"evil": 4}, "of each of its workloads one may move"
    assert not refused(made)


def test_a_second_who_wants_the_rest_gets_half_of_it() -> None:
    tried = world("ads", "shop", **DAY)
    past(tried, 3, timedelta(hours=5))
    past(tried, 3, timedelta(hours=5), "ads")
    for budget in tried.snapshot.budgets:
        if budget.metadata.namespace == "shop":
            budget.status.disruptionsAllowed = 0
    tried.measure()
    assert moved(tried.plan()) == {"evil": 2, "ads": 2}


def test_who_has_not_reached_its_share_is_not_asked_again() -> None:
    """Else a gang of two tenants, of which one has its share, would be tried for ever."""
    tried = world(**CYCLE)
    copy = WorkingCopy(tried.snapshot, tried.policies, tried.limits, tried.history)
    shares, pods = copy.budgets.shares, copy.snapshot.pods
    of = {
        name: [i for i, pod in enumerate(pods) if pod.metadata.namespace == name]
        for name in ("evil", "ads")
    }
    shares.begin([*of["evil"], *of["ads"]])
    assert not shares.share_out([*of["evil"], *of["ads"]])
    for pod in of["evil"][:3]:
        assert shares.refusal([pod]) is None
        copy.budgets.spend(pod)
    assert shares.refusal(of["evil"]) is not None
    assert shares.refusal(of["ads"]) is None
    assert shares.share_out([*of["evil"], *of["ads"]])
    assert shares.refusal(of["evil"]) is None
    assert not shares.share_out([*of["evil"], *of["ads"]])


def test_a_pass_begins_with_shares_of_its_own() -> None:
    """What a plan has taken back does not count to the shares of the next search."""
    tried = world(**CYCLE)
    assert moved(tried.plan()) == moved(tried.plan())


def test_namespaces_of_one_tenant_have_one_share() -> None:
    tried = world("evil-2", "evil-3", "shop", "shop", tenantLabel="tenant", **CYCLE)
    assert moved(tried.plan()) == {"evil": 2, "evil-2": 1, "evil-3": 1, "shop": 2}
    label(tried, {"evil": "mob", "evil-2": "mob", "evil-3": "mob"})
    made = tried.plan()
    assert moved(made)["shop"] == 2, "of each of its workloads one may move"
    tried.limits = tried.limits.model_copy(update={"movesPerCycle": 4})
    made = tried.plan()
    assert moved(made)["shop"] == 2
    said = {refusal.message for refusal in made.refused if refusal.code == "BUD005"}
    assert any(
        message.startswith("tenant mob has its share of movesPerCycle 4") for message in said
    )


def test_plan_and_explain_say_whose_share_of_what_is_taken() -> None:
    tried = world(**DAY)
    past(tried, 6, timedelta(hours=20))
    made = tried.plan()
    (said,) = {refusal.message for refusal in made.refused if refusal.pod.namespace == "evil"} - {
        ""
    }
    assert said == (
        "namespace evil has its share of movesPerDay 10: 6 moves in 24 hours; "
        "3 namespaces have moves that may be worth making"
    )
    copy = WorkingCopy(tried.snapshot, tried.policies, tried.limits, tried.history)
    index = tried.snapshot.pod_index
    (pod,) = [index[refusal.pod.uid] for refusal in made.refused if refusal.pod.name == "train-0-0"]
    explained = explain_pod(copy, pod, Header(cluster=ClusterRef(uid="c"), taken=NOW))
    assert (explained.verdict.code, explained.verdict.message) == ("BUD005", said)
    text = " ".join(render_explanation(explained, width=200, color=False).split())
    assert said in text


@every(
    [
        ([0, 30], 20, 20),
        ([0, 0], 5, 3),
        ([3, 3], 0, 3),
        ([0, 1], 10, 6),
        ([0, 2, 9], 5, 4),
        ([7], 5, 12),
        ([1, 1, 1], 1, 2),
    ]
)
def test_what_is_left_goes_to_who_has_taken_least(taken: list[int], left: int, level: int) -> None:
    assert _level(taken, left) == level
