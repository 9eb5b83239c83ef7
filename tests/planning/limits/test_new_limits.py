"""One row is a new limit: everybody who plans, acts or explains obeys and names it."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rescheduler.acting.run import act
from rescheduler.cli.main import program
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.explanation import Header
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import ClusterRef, PlannedMove
from rescheduler.planning.explain.pod import explain_pod
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.files.json_schema import json_schema
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.policies.registry import DOCUMENTS
from rescheduler.policies.spread.policy import Spread
from rescheduler.reporting.explain.report import render_explanation
from tests.cluster import NOW, deployment, node, pod, snapshot
from tests.docsite.policy_guide import guide
from tests.fakes.moves import plan_of, planned
from tests.fakes.stage import Process, Stage, warm
from tests.planning.full_cluster import index, working_copy
from tests.planning.limits.more_limits import RACK, TEAM, WIDE, labelled_limits
from tests.runtime.skewed import SPREAD

RACKS = {"n1": "a", "n2": "a", "n3": "b"}


@pytest.fixture
def more(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Limits]]:
    """The Limits with a row by label of the node, and one by label of the pod."""
    with labelled_limits() as limits:
        monkeypatch.setitem(DOCUMENTS, "Limits", limits)
        yield limits


def racks() -> Snapshot:
    """Eight pods on nodes of zone a in two racks; two more nodes are in zone b."""
    top, middle = deployment("web", replicas=8)
    nodes = [node(f"n{i}", zone="a", labels={"rack": "ab"[i > 2]}) for i in (1, 2, 3, 4)]
    nodes += [node(f"free-{i}", zone="b", labels={"rack": "c"}) for i in (1, 2)]
    pods = [
        pod(
            f"web-{number}",
            f"n{1 + number // 2}",
            owner=middle,
            labels={"app": "web", "team": ("search", "ads")[number % 2]},
        )
        for number in range(8)
    ]
    return snapshot(nodes, pods, controllers=[top, middle])


def zones() -> Spread:
    given = {"name": "zones", "match": {"all": True}, "topologyKey": "topology.kubernetes.io/zone"}
    return Spread.model_validate({"kind": "Spread", "mode": "Enforce", **given})


@pytest.mark.parametrize(
    ("row", "codes", "moves"),
    [
        ({}, set(), 4),
        ({"movesPerRackAndHour": 1}, {RACK}, 2),
        ({"movesPerRackAndHour": "25%"}, {RACK}, 2),
        ({"movesPerTeam": 1}, {TEAM}, 2),
        ({"movesPerTeam": "24%"}, {TEAM}, 0),
    ],
)
def test_a_plan_obeys_it(
    more: type[Limits], row: dict[str, Any], codes: set[str], moves: int
) -> None:
    limits = more.model_validate({**WIDE, **row})
    made = plan(racks(), policy_set([zones()], limits), History(), mode="Enforce")
    assert len(made.moves) == moves
    assert codes <= {refused.code for refused in made.refused}


def test_the_messages_name_label_and_value(more: type[Limits]) -> None:
    world = racks()
    for row, said in (
        (
            {"movesPerRackAndHour": 0},
            "nodes with rack=a: no move is allowed (movesPerRackAndHour 0)",
        ),
        ({"movesPerTeam": "10%"}, "pods with team=search: no move is allowed (movesPerTeam 10% of"),
    ):
        copy = working_copy(world, zones(), limits=more.model_validate({**WIDE, **row}))
        refusal = copy.budgets.refusal(index(world, "web-0"))
        assert refusal is not None
        assert refusal.message.startswith(said)
    limits = more.model_validate({**WIDE, "movesPerRackAndHour": 3, "movesPerTeam": 5})
    budgets = working_copy(world, zones(), limits=limits).budgets
    named = (
        "4 moves at once away from nodes with rack=a, more than movesPerRackAndHour 3 allows",
        "6 moves at once of pods with team=search, more than movesPerTeam 5 allows",
    )
    assert [budgets.too_many(range(4)), budgets.too_many([0, 2, 4, 6] * 2)] == [named[0]] * 2
    limits = more.model_validate({**WIDE, "movesPerTeam": 3})
    assert working_copy(world, zones(), limits=limits).budgets.too_many([0, 2, 4, 6]) == (
        "4 moves at once of pods with team=search, more than movesPerTeam 3 allows"
    )


def web(stage: Stage, name: str, on: str, team: str) -> PlannedMove:
    manifest = stage.world.add_pod(name, on, owner=("ReplicaSet", f"rs-{name}"), app=name)
    manifest["metadata"]["labels"]["team"] = team
    return planned(manifest)


def acted(stage: Stage, name: str, limits: Limits, *moves: PlannedMove) -> list[str]:
    """What became of the moves of one run; the nodes have racks as long as they are there."""
    actor = Process(stage, name, limits=limits).actor()

    def observe() -> Snapshot:
        seen = actor.observe()
        nodes = [
            node(node_object.metadata.name, labels={"rack": RACKS[node_object.metadata.name]})
            if node_object.metadata.name in RACKS
            else node_object
            for node_object in seen.nodes
        ]
        return replace(seen, nodes=nodes)

    made = plan_of(stage.world, moves)
    outcome = act(made, replace(actor, observe=observe))
    return [move.code for move in outcome.moves]


def test_acting_obeys_it_before_the_intent_though_the_node_is_gone(more: type[Limits]) -> None:
    stage = warm(Stage())
    limits = more.model_validate({**WIDE, "minReplicas": 1, "movesPerRackAndHour": 1})
    first = web(stage, "w1", "n1", "search")
    assert acted(stage, "a", limits, first) == ["ACT001"]
    noted = Process(stage, "reader").ledger.peek().moves[-1].counted
    assert noted == {"node label rack": "a", "pod label team": "search"}
    stage.seconds += 1800  # another cycle, within the hour; nothing is on n1 any more
    others = web(stage, "w2", "n2", "search"), web(stage, "w3", "n3", "search")
    assert acted(stage, "b", limits, others[0]) == [RACK]
    assert acted(stage, "c", limits, others[1]) == ["ACT001"]
    stage.seconds += 1801
    assert acted(stage, "d", limits, others[0]) == ["ACT001"]


def test_acting_counts_by_the_label_of_the_pod_within_a_plan(more: type[Limits]) -> None:
    stage = warm(Stage())
    limits = more.model_validate({**WIDE, "minReplicas": 1, "movesPerTeam": 1})
    moves = [
        web(stage, "w1", "n1", "search"),
        web(stage, "w2", "n2", "search"),
        web(stage, "w3", "n3", "ads"),
    ]
    assert acted(stage, "a", limits, *moves) == ["ACT001", TEAM, "ACT001"]


def test_check_names_it(more: type[Limits], tmp_path: Path) -> None:
    limits = """
apiVersion: rescheduler.io/v1alpha1
kind: Limits
metadata: {name: mine}
spec: {movesPerRackAndHour: 0, movesPerTeam: 0%}
"""
    path = tmp_path / "policies.yaml"
    path.write_text(f"{SPREAD}---{limits}")
    said = " ".join(CliRunner().invoke(program, ["check", str(path)]).output.split())
    assert "Limits mine: movesPerRackAndHour is 0, so nothing will ever move" in said
    assert "Limits mine: movesPerTeam is 0%, so nothing will ever move" in said


def test_explain_names_it(more: type[Limits]) -> None:
    header, world = Header(cluster=ClusterRef(uid="c"), taken=NOW), racks()
    past = PastMove(
        plan="p", podUid="u", namespace="x", pod="u", workload="w", source="gone", state="ready",
        at=NOW - timedelta(minutes=59), counted={"node label rack": "a"},
    )  # fmt: skip
    limits = more.model_validate({**WIDE, "movesPerRackAndHour": 1})
    copy = working_copy(world, zones(), limits=limits)
    copy.budgets = type(copy.budgets)(world, limits, History([past]))
    explained = explain_pod(copy, index(world, "web-0"), header)
    results = {check.code: check.result for check in explained.eligibility}
    assert (results["PAC004"], results[RACK], results[TEAM]) == ("passed", "failed", "not checked")
    text = " ".join(render_explanation(explained, width=200, color=False).split())
    assert "PAC901 moves per rack and hour: nodes with rack=a: 1 move since" in text
    assert "A later cycle goes on; or raise `movesPerRackAndHour`." in text
    assert "PAC902 moves per team" in text


def test_schema_and_documentation_have_it(more: type[Limits]) -> None:
    fields = json_schema()["definitions"]["Limits"]["properties"]
    assert fields["movesPerRackAndHour"]["anyOf"] == fields["movesPerNode"]["anyOf"]
    text = (
        "Moves away from nodes with one value of the label `rack` in one hour, across cycles; "
        "a percentage is of their pods."
    )
    assert fields["movesPerRackAndHour"]["description"] == text
    page = guide()
    assert (
        f"| `movesPerRackAndHour` | whole number from 0 or percentage | `1000` | {text} |" in page
    )
    assert (
        "(reasons.md#pac901) Limit reached: moves in the last hour (`movesPerRackAndHour`)." in page
    )
    reached = "Limit reached: moves in the last `cyclePeriod` and in this plan"
    assert f"(reasons.md#pac902) {reached} (`movesPerTeam`)." in page
