"""The search takes tuples of moves as it takes single ones: a swap, on the real working copy."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from rescheduler.kube.objects import Pod
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import History
from rescheduler.planning.evaluation.evaluator import Evaluator
from rescheduler.planning.evaluation.working_copy import WorkingCopy
from rescheduler.planning.search.search import search
from rescheduler.planning.search.strategy import Candidate
from rescheduler.policies.conformity.policy import Conformity
from rescheduler.policies.limits import Limits
from rescheduler.policies.spread.policy import Spread
from tests.cluster import budget, deployment, node, pod, snapshot

RULES = Conformity.model_validate(
    {"name": "rules", "match": {"all": True}, "nodeAffinity": {"required": True}}
)
FREE = {"movesPerNamespace": 9, "movesPerCycle": 9, "movesPerHour": 9, "movesPerNode": 9,
        "movesPerWorkload": 9, "gainShare": 0}  # fmt: skip


class Swaps:
    """Every pair of pods on different nodes, in either order: one makes room for the other."""

    def candidates(self, evaluator: Evaluator) -> Iterator[Candidate]:
        copy = evaluator.copy
        nodes = copy.snapshot.pod_node
        free = [node for node in range(len(nodes)) if node not in copy.moved]
        for pods in permutations(free, 2):
            if nodes[pods[0]] != nodes[pods[1]]:
                yield Candidate(pods, bound=copy.cost())


def crossed(allowed: int = 2) -> Snapshot:
    """`ssd` must be where `hdd` is, which may be anywhere; either node has room for one of them.

    `hub` has room for one more, so `hdd` can go there; then `ssd` can take its place.
    """
    made = {name: deployment(name, replicas=2) for name in ("ssd", "hdd")}
    nodes = [
        node("slow", allocatable={"cpu": "4"}),
        node("fast", allocatable={"cpu": "4"}, labels={"disk": "ssd"}),
        node("hub", allocatable={"cpu": "3"}),
        node("spare", allocatable={"cpu": "1"}, labels={"disk": "ssd"}),
    ]
    needs = {"ssd": {"disk": "ssd"}, "hdd": {}}
    pods = [
        pod(f"{name}-{n}", on, owner=made[name][1], labels={"app": name},
            requests={"cpu": cpu}, nodeSelector=needs[name])
        for name, n, on, cpu in [
            ("ssd", 0, "slow", "3"), ("hdd", 0, "fast", "3"),
            ("hdd", 1, "spare", "100m"), ("ssd", 1, "spare", "100m"),
        ]
    ]  # fmt: skip
    return snapshot(
        nodes,
        pods,
        controllers=[controller for pair in made.values() for controller in pair],
        budgets=[budget(name, name, allowed=allowed, healthy=2) for name in made],
    )


def evaluator(made: Snapshot, **limits: object) -> Evaluator:
    chosen = Limits.model_validate(FREE | limits)
    return Evaluator(WorkingCopy(made, [RULES], chosen, History()))


def index(made: Snapshot, name: str) -> int:
    return next(n for n, pod in enumerate(made.pods) if pod.metadata.name == name)


def state(tested_evaluator: Evaluator) -> tuple[object, ...]:
    """All of the working copy that a move changes."""
    copy, everyone = tested_evaluator.copy, range(len(tested_evaluator.copy.snapshot.pods))
    return (
        copy.version,
        copy.cost(),
        [tested_evaluator.refuse_pods((pod,)) for pod in everyone],
        [copy.scheduler.feasible(pod).tolist() for pod in everyone],
        [copy.budgets.use(pod) for pod in everyone],
        set(copy.moved),
    )


def test_no_single_move_helps_where_a_swap_does() -> None:
    made = crossed()
    alone = search(evaluator(made))
    assert alone.moves == []
    assert alone.refusals[index(made, "ssd-0")].code == "FEA001"
    found = search(evaluator(made), Swaps())
    names = [(made.pods[m.pod].metadata.name, made.nodes[m.destination].metadata.name)
             for m in found.moves]  # fmt: skip
    assert names[:2] == [("hdd-0", "hub"), ("ssd-0", "fast")]
    (first, *_) = found.accepted
    assert first.gain == pytest.approx(1.0)
    assert first.disruption == sum(move.disruption for move in first.moves)


def test_evaluating_a_swap_leaves_the_working_copy_as_it_was() -> None:
    made = crossed()
    tested_evaluator = evaluator(made)
    before = state(tested_evaluator)
    pods = (index(made, "hdd-0"), index(made, "ssd-0"))
    assert tested_evaluator.evaluate(pods).refusal is None
    assert state(tested_evaluator) == before
    assert tested_evaluator.evaluate(pods[::-1]).refusal is not None, (
        "there is no room before the other left"
    )
    assert state(tested_evaluator) == before


def test_a_swap_that_is_taken_back_gives_everything_back() -> None:
    made = crossed()
    tested_evaluator = evaluator(made)
    cost = tested_evaluator.copy.cost()
    version, *before = state(tested_evaluator)
    found = tested_evaluator.evaluate((index(made, "hdd-0"), index(made, "ssd-0")))
    committed = tested_evaluator.copy.commit(found)
    assert all(move.budget is not None for move in committed.moves)
    assert tested_evaluator.copy.cost() == pytest.approx(cost - 1.0)
    assert not tested_evaluator.needless(committed, committed.moves)
    tested_evaluator.copy.take_back(committed)
    now, *after = state(tested_evaluator)
    assert after == before
    assert now != version, "it is another state all the same"


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        ({"movesPerCycle": 1}, "PAC001"),
        ({"movesPerHour": 1}, "PAC005"),
        ({"movesPerNamespace": 1}, "PAC003"),
    ],
)
def test_a_swap_needs_budget_for_both(limits: dict[str, int], code: str) -> None:
    made = crossed()
    tested_evaluator = evaluator(made, **limits)
    before = state(tested_evaluator)
    found = tested_evaluator.evaluate((index(made, "hdd-0"), index(made, "ssd-0")))
    assert found.refusal is not None
    assert found.refusal.code == code
    assert "of 2 moves together, that of default/ssd-0" in found.refusal.message
    assert state(tested_evaluator) == before
    result = search(tested_evaluator, Swaps())
    assert result.accepted == []
    assert all(refusal.code != "PAC001" or code == "PAC001" for refusal in result.refused.values())


def test_a_swap_spends_the_disruption_budgets_of_both() -> None:
    made = crossed(allowed=1)
    tested_evaluator = evaluator(made)
    result = search(tested_evaluator, Swaps())
    spent = Counter((made.pods[move.pod].metadata.labels or {})["app"] for move in result.moves)
    assert spent == {"ssd": 1, "hdd": 1}
    refusal = tested_evaluator.refuse_pods((index(made, "ssd-1"),), closed=False)
    assert refusal is not None
    assert refusal.code == "BUD002"
    none = search(evaluator(crossed(allowed=0)), Swaps())
    assert none.moves == []


class InTurn:
    """One candidate in each round."""

    def __init__(self, *turns: tuple[int, ...]) -> None:
        self.turns = list(turns)

    def candidates(self, evaluator: Evaluator) -> Iterator[Candidate]:
        del evaluator
        if self.turns:
            yield Candidate(self.turns.pop(0), bound=9.0)


def twins(*beside: Pod, cpu: str = "1") -> Snapshot:
    """web-0 and web-1 on n1, where there ought to be one; web-1 has to be on n4 anyway."""
    top, owner = deployment("web", replicas=2)
    api, api_set = deployment("api", replicas=2)
    nodes = [node(name, labels={"disk": "hdd"}) for name in ("n1", "n2", "n3")]
    nodes.append(node("n4", labels={"disk": "ssd"}))
    web, hdd, ssd = {"app": "web"}, {"disk": "hdd"}, {"disk": "ssd"}
    pods = [
        pod("web-0", "n1", owner=owner, labels=web, requests={"cpu": "3"}, nodeSelector=hdd),
        pod("web-1", "n1", owner=owner, labels=web, requests={"cpu": cpu}, nodeSelector=ssd),
        pod("api-0", "n1", owner=api_set, labels={"app": "api"}, requests={"cpu": "1"}),
        pod("api-1", "n2", owner=api_set, labels={"app": "api"}),
        *beside,
    ]
    return snapshot(nodes, pods, controllers=[top, owner, api, api_set])


def apart(made: Snapshot, **limits: object) -> Evaluator:
    """Judges the twins by their node affinity, and by being on one node."""
    policy = Spread.model_validate(
        {
            "name": "twins",
            "match": {"labels": {"matchLabels": {"app": "web"}}},
            "constraints": [{"topologyKey": "kubernetes.io/hostname", "maxPerDomain": 1}],
        }
    )
    chosen = Limits.model_validate(FREE | limits)
    return Evaluator(WorkingCopy(made, [RULES, policy], chosen, History()))


def test_a_pair_that_others_make_needless_is_taken_back_as_a_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """web-0 leaves its twin; then the twin goes for its own sake, and web-0 could have stayed."""
    monkeypatch.setattr(Evaluator, "_refuse_room", lambda *_: None)  # neither makes room
    made = twins()
    evaluator = apart(made, movesPerCycle=3)
    pair, later = (index(made, "web-0"), index(made, "api-0")), index(made, "web-1")
    strategy = InTurn(pair, (later,))
    found = search(evaluator, strategy)
    assert strategy.turns == []
    assert [move.pod for move in found.moves] == [later]
    assert evaluator.copy.moved == {later}
    assert evaluator.copy.cost() == 0.0
    # Of the cycle's three moves two are there again.
    assert evaluator.refuse_pods(pair) is None


def test_a_needless_move_is_not_taken_back_where_another_took_its_room() -> None:
    big, big_set = deployment("big", replicas=2)
    first: dict[str, Any] = {"nodeSelector": {"kubernetes.io/hostname": "n1"}, "owner": big_set}
    made = twins(
        pod("big-0", "n2", requests={"cpu": "6"}, labels={"app": "big"}, **first),
        pod("big-1", "n3", requests={"cpu": "100m"}, labels={"app": "big"}, owner=big_set),
    )
    made = replace(made, controllers=[*made.controllers, big, big_set])
    evaluator = apart(made)
    turns = [(index(made, name),) for name in ("web-0", "big-0", "web-1")]
    found = search(evaluator, InTurn(*turns))
    assert [(move.pod,) for move in found.moves] == turns
    assert made.nodes[found.moves[1].destination].metadata.name == "n1"
    assert evaluator.copy.cost() == 0.0


def test_a_candidate_has_different_pods() -> None:
    with pytest.raises(ValueError, match="different pods"):
        Candidate((1, 1), 1.0)
    with pytest.raises(ValueError, match="different pods"):
        Candidate((), 1.0)
