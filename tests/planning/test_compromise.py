"""Two policies that pull in opposite directions: one objective, a plan that converges, reasons."""

import msgspec
import pytest

from rescheduler.documents.label_selector import Selector
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import Plan
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.base import Policy
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.fragmentation.policy import Fragmentation
from rescheduler.policies.limits import Limits
from rescheduler.policies.locality.domain_tree import Level
from rescheduler.policies.locality.policy import Locality, PodPair
from rescheduler.policies.match import Match
from rescheduler.policies.spread.policy import Spread
from tests.picture import picture

ZONE = "topology.kubernetes.io/zone"
FREE = Limits(
    movesPerCycle=50, movesPerHour=50, movesPerNode=50, movesPerNamespace=50, movesPerWorkload=50
)
WEB = Match(labels=Selector(matchLabels={"app": "web"}))
DB = Match(labels=Selector(matchLabels={"app": "db"}))


def planned(before: Snapshot, *policies: Policy) -> Plan:
    return plan(before, policy_set(list(policies), FREE), History(), mode="Enforce")


def after(before: Snapshot, made: Plan) -> Snapshot:
    """The cluster as the plan leaves it, each pod where it most likely lands."""
    where = {
        move.pod.uid: max(move.landing, key=lambda share: share.probability).node
        for move in made.moves
    }
    for pod in before.pods:
        pod.node = where.get(pod.metadata.uid, pod.node)
    return Snapshot(
        taken=before.taken,
        cluster=before.cluster,
        nodes=before.nodes,
        pods=[msgspec.structs.replace(pod) for pod in before.pods],
        controllers=before.controllers,
        namespaces=before.namespaces,
    )


def costs(made: Plan) -> dict[str, tuple[float, float]]:
    return {policy.name: (policy.cost.before, policy.cost.after) for policy in made.policies}


def apart() -> Snapshot:
    """All of web is far from db; zone b is nearly full, so that what leaves it goes to zone a."""
    return picture(
        """
        zone a | n1 cpu 32 memory 128Gi | db db db db
        zone a | n2 cpu 32 memory 128Gi | -
        zone b | n3 cpu 32 memory 128Gi | web web web web hog
    """,
        requests={"hog": {"cpu": "28", "memory": "110Gi"}},
    )


def near(weight: float) -> Locality:
    return Locality(
        name="near",
        match=WEB,
        weight=weight,
        levels=[Level(name="zone", labels=[ZONE])],
        pairs=[PodPair(pods=WEB, near=DB)],
    )


def even(weight: float) -> Spread:
    return Spread(name="even", match=WEB, topologyKey=ZONE, maxSkew=1, weight=weight)


@pytest.mark.parametrize(
    ("near_weight", "even_weight", "in_a"), [(1.0, 0.0, 3), (0.4, 1.0, 2), (3.0, 1.0, 3)]
)
def test_spread_against_locality_converges_where_the_weights_say(
    near_weight: float, even_weight: float, in_a: int
) -> None:
    """The last of four stays in any case: the scheduler's own spreading would bring it back."""
    before = apart()
    policies = near(near_weight), even(even_weight)
    made = planned(before, *policies)
    settled = after(before, made)
    zones = [pod.node for pod in settled.pods if (pod.metadata.labels or {})["app"] == "web"]
    assert sum(node in ("n1", "n2") for node in zones) == in_a
    assert planned(settled, *policies).moves == []


def test_the_report_reports_what_each_policy_gave_and_got() -> None:
    before = apart()
    made = planned(before, near(0.4), even(1.0))
    reported = costs(made)
    assert reported["even"] == (2.0, 0.0)
    assert reported["near"][1] == pytest.approx(reported["near"][0] / 2)
    assert all(set(move.gains) == {"near", "even"} for move in made.moves)
    left = planned(after(before, made), near(0.4), even(1.0))
    # Two of web are still far, and the plan says why they stay: the spread would lose more.
    assert {refusal.code for refusal in left.refused} == {"FEA003"}
    assert len(left.refused) == 2
    assert costs(left)["near"][0] > 0


def halves() -> Snapshot:
    """Two half-empty nodes; what leaves n1, where the CPU is in use, goes to n2."""
    return picture(
        """
        zone a | n1 cpu 32 gpu 8 | small hog
        zone b | n2 cpu 32 gpu 8 | small
        zone b | n3 cpu 32 gpu 8 | large
    """,
        requests={
            "small": {"cpu": "1", "nvidia.com/gpu": "2"},
            "hog": {"cpu": "30", "memory": "30Gi"},
            "large": {"cpu": "1", "nvidia.com/gpu": "8"},
        },
    )


@pytest.mark.parametrize(("weight", "moves"), [(0.0, 1), (0.2, 1), (5.0, 0)])
def test_packing_against_spread_converges_where_the_weights_say(weight: float, moves: int) -> None:
    """Packing wants a whole node for large pods, spread wants one small pod in each zone."""
    before = halves()
    pack = Fragmentation(name="pack", match=Match(all=True))
    spread = Spread(name="even", match=Match(all=True), topologyKey=ZONE, weight=weight)
    made = planned(before, pack, spread)
    assert len(made.moves) == moves
    reported = costs(made)
    assert (reported["pack"][1] < reported["pack"][0]) == bool(moves)
    assert reported["even"] == (0.0, float(moves))
    if not moves:
        assert {"FEA003", "FEA002"} & {refusal.code for refusal in made.refused}
    assert planned(after(before, made), pack, spread).moves == []


def test_neither_of_two_policies_undoes_the_other() -> None:
    before = apart()
    for _ in range(4):
        made = planned(before, near(1.0), even(1.0))
        before = after(before, made)
    assert made.moves == []
