"""Healthy, not judged and powerless are three answers: each drawn cluster has one."""

from typing import Any

import pytest

from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import Plan
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.base import Policy
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.policies.spread.policy import Spread
from rescheduler.policies.utilization.policy import Utilization
from tests.picture import picture
from tests.planning.packing import LIMITS
from tests.planning.scenarios import hot_gpus

LOOSE = Limits.model_validate({"minReplicas": 1, "maxHotShare": 1, "minPodAge": "0s"})


def relief(**fields: Any) -> Utilization:
    spec = {
        "name": "hot",
        "match": {"all": True},
        "nodes": {"all": True},
        "targets": {"cpu": {"high": "70%", "low": "60%"}},
    }
    return Utilization.model_validate(spec | fields)


def gpu_relief(**fields: Any) -> Utilization:
    return relief(targets={"gpu": {"high": "70%", "low": "60%"}}, **fields)


def spread(**fields: Any) -> Spread:
    return Spread.model_validate({"name": "zones", "match": {"all": True}} | fields)


def made_of(loads: list[float | None], *policies: Policy, **more: Any) -> Plan:
    """A plan on a node for each load, on which four pods run that use all of it."""
    limits = more.pop("limits", LOOSE)
    names = [f"n{number}" for number, _ in enumerate(loads, 1)]
    apps = [f"app{number}" for number, _ in enumerate(loads, 1)]
    rows = zip(names, apps, strict=True)
    before = picture(
        "\n".join(f"zone a | {name} gpu 4 | {' '.join([app] * 4)}" for name, app in rows),
        requests={app: {"cpu": "1", "nvidia.com/gpu": "1"} for app in apps},
        readings={
            f"{what}.{kind}": {
                name: None if load is None else load if what == "node" else load * size / 4
                for name, load in zip(names if what == "node" else apps, loads, strict=True)
            }
            for kind, size in (("cpu", 8), ("gpu", 4))
            for what in ("node", "pod")
        },
        policies=policies,
        **more,
    )
    return plan(before, policy_set(list(policies), limits), History(), mode="Audit")


def packed() -> Plan:
    """A plan to free a cold node, whose pods kube-scheduler would put back there."""
    pack = relief(name="pack", strategy="Pack", targets={"cpu": {"high": "80%"}})
    before = picture(
        """
            zone a | n1 | web web web
            zone a | n2 | api dns
        """,
        requests={"web": {"cpu": "1"}, "api": {"cpu": "1"}, "dns": {"cpu": "100m"}},
        readings={
            "node.cpu": {"n1": "40%", "n2": "14%"},
            "pod.cpu": {"web": 1.0, "api": 1.0, "dns": 0.1},
        },
        policies=[pack],
    )
    return plan(before, policy_set([pack], LIMITS), History(), mode="Enforce")


def state(made: Plan) -> str:
    assert made.assessment is not None
    return made.assessment.state


def code(made: Plan) -> str:
    assert made.assessment is not None
    assert made.assessment.why is not None
    return made.assessment.why.code


def test_cool_nodes_are_healthy_and_have_a_score() -> None:
    made = made_of([0.3, 0.4], relief())
    assert (state(made), made.score.before) == ("Healthy", 100)


def test_a_load_between_low_and_high_is_no_trouble() -> None:
    made = made_of([0.65, 0.65], relief())
    assert made.policies[0].cost.before > LOOSE.margin
    assert state(made) == "Healthy"


def test_hot_gpus_of_one_pod_each_are_not_judged_but_not_called_well() -> None:
    made = made_of([0.95, 0.95, 0.2], gpu_relief())
    assert (state(made), code(made), made.score.before) == ("NotJudged", "ELG047", None)
    assert "2 nodes (n1, n2) are above `high` of gpu" in made.assessment.why.message  # type: ignore[union-attr]


def test_cool_gpus_of_one_pod_each_are_not_judged_either() -> None:
    made = made_of([0.2, 0.2], gpu_relief())
    assert (state(made), code(made), made.score.before) == ("NotJudged", "SEL004", None)


def test_gpus_of_one_pod_each_that_count_are_judged() -> None:
    made = made_of([0.95, 0.95], gpu_relief(wholeDevices="Count"))
    assert state(made) == "Powerless"
    assert made.score.before is not None
    assert made.score.before < 50


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (relief(match={"namespaces": ["nowhere"]}), "SEL003"),
        (relief(nodes={"labels": {"matchLabels": {"pool": "gone"}}}), "SEL003"),
        (spread(topologyKey="topology.kubernetes.io/zonee"), "SEL004"),
    ],
)
def test_what_selects_nothing_here_is_not_judged(policy: Policy, expected: str) -> None:
    made = made_of([0.3, 0.3], policy)
    assert (state(made), code(made), made.score.before) == ("NotJudged", expected, None)


def test_without_a_reading_nobody_knows() -> None:
    made = made_of([None, None], relief())
    assert state(made) == "NotJudged"
    assert code(made).startswith("RDG")


def test_a_policy_without_data_keeps_others_from_being_called_healthy() -> None:
    made = made_of([None, None], relief(), spread())
    assert state(made) == "NotJudged"
    assert [policy.assessment.state for policy in made.policies if policy.assessment] == [
        "NotJudged", "NotJudged",
    ]  # fmt: skip


def test_a_policy_that_has_nothing_to_judge_leaves_the_others_healthy() -> None:
    made = made_of([0.3, 0.3], relief(), spread(topologyKey="example.com/rack"))
    assert state(made) == "Healthy"
    assert made.score.before == 100


def test_hot_nodes_that_no_pod_may_leave_are_powerless_and_say_why() -> None:
    made = made_of([0.95, 0.3], relief(), limits=Limits.model_validate({"maxHotShare": 1}),
                   budgets={"app1": 0})  # fmt: skip
    assert (state(made), code(made)) == ("Powerless", "BUD002")
    assert made.assessment.why.message.startswith("4 pods that could move stay:")  # type: ignore[union-attr]
    assert made.score.before is not None
    assert made.score.before < 100


def test_a_guard_is_why_nothing_can_be_done() -> None:
    made = made_of([0.95, 0.95, 0.3], relief(), limits=Limits.model_validate({}))
    assert (state(made), code(made)) == ("Powerless", "GRD001")


def test_hot_nodes_of_pods_that_the_policy_may_not_move_are_powerless() -> None:
    made = made_of([0.95, 0.3], relief(match={"labels": {"matchLabels": {"app": "app2"}}}))
    assert (state(made), code(made)) == ("Powerless", "FEA020")


def test_moves_make_it_improvable() -> None:
    world = hot_gpus()
    made = plan(world.snapshot, policy_set(world.policies, world.limits), History(), mode="Audit")
    assert made.moves
    assert (state(made), made.policies[0].silent) == ("Improvable", False)


def test_cold_nodes_whose_pods_would_come_back_are_powerless() -> None:
    made = packed()
    assert not made.moves
    assert (state(made), code(made)) == ("Powerless", "FEA020")
    (policy,) = made.policies
    assert (policy.cost.before, policy.immovable) == (0, 2)
    assert made.score.before is not None
    assert made.score.before < 100
    assert [finding.subject for finding in policy.findings] == ["node n2"]


def test_a_policy_without_weight_decides_nothing() -> None:
    made = made_of([0.95, 0.3], relief(weight=0), spread())
    assert state(made) != "Powerless"


def test_what_a_move_must_not_gain_is_no_trouble() -> None:
    wide = LOOSE.model_copy(update={"margin": 1000.0})
    made = made_of([0.95, 0.3], relief(), limits=wide)
    assert state(made) == "Healthy"
