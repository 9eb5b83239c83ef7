"""Sorting, grouping and drawing: what each report takes from the same view."""

from typing import Any

import pytest
from msgspec import structs

from rescheduler.model.moves.plan import Change, LandingShare, NodeView, Report, Totals
from rescheduler.model.moves.selection import SelectionResult
from rescheduler.model.problem import Problem
from rescheduler.reporting.formats.page import batches, budgets
from rescheduler.reporting.heat_map import MOST, heat_map, zones
from rescheduler.reporting.view import view
from tests.cases import every
from tests.reporting.brought import changed
from tests.reporting.sample_nodes import DOCUMENTS
from tests.reporting.samples import (
    SAMPLES,
    TAKEN,
    became,
    move,
    no_data,
    outcome,
    outcome_of,
    plan,
    policies,
    reading,
    refused,
)


def facts(shown: Report) -> dict[str, tuple[str, str]]:
    return {fact.label: (fact.value, fact.detail) for fact in view(shown).facts}


def test_left_alone_counts_all_and_shows_some() -> None:
    groups = view(plan()).groups
    assert [(group.code, group.count) for group in groups] == [
        ("BUD002", 18),
        ("ELG010", 9),
        ("MRG001", 5),
        ("FEA002", 3),
    ]
    assert [len(group.examples) for group in groups] == [5, 2, 1, 1]
    assert view(plan()).left_alone == 35


def test_moves_that_steering_leaves_out_are_counted_by_reason() -> None:
    made = plan()
    bare = structs.replace(made, moves=[structs.replace(move, steered=None) for move in made.moves])
    counts = {"": 2, "ELG031": 5}
    said = structs.replace(bare, totals=structs.replace(bare.totals, unsteered=counts))
    (fact,) = [candidate for candidate in view(said).facts if candidate.label == "Moves"]
    count = len(made.moves)
    assert f"0 of {count} moves steered (5 ELG031, 2 would gain nothing by it)" in fact.detail
    (fact,) = [candidate for candidate in view(bare).facts if candidate.label == "Moves"]
    assert "steered" not in fact.detail


def test_refusals_that_the_totals_do_not_count_are_counted() -> None:
    uncounted = Totals(nodes=1, pods=1, candidates=1, moves=0, disruption=0.0)
    assert view(plan(totals=uncounted, refused=refused())).left_alone == 11


def test_guards_come_first_and_a_problem_is_told_once() -> None:
    shown = structs.replace(
        no_data(),
        guards=[Problem(code="GRD002", message="9 of 60 nodes are not Ready")],
        notes=[Problem(code="DAT001", message="pod x/y: phase is 7")],
    )
    alerts = view(shown).alerts
    assert [(alert.level, alert.code) for alert in alerts] == [
        ("held", "GRD002"),
        ("problem", "RDG009"),
        ("problem", "RDG004"),
        ("problem", "FEA005"),
        ("note", "DAT001"),
    ]
    assert alerts[1].advice.startswith("If its exporter runs")


def test_a_code_that_is_not_in_the_catalog_is_shown_as_it_is() -> None:
    shown = view(plan(guards=[Problem(code="XYZ999", message="m")]))
    assert shown.alerts[0].code == "XYZ999"
    assert shown.alerts[0].advice == ""


def test_policies_without_a_say_come_last() -> None:
    rows = view(no_data()).policies
    assert [row.policy.name for row in rows] == ["zone-spread", "gpu-utilization"]
    assert (rows[1].before, rows[1].after, rows[1].change) == ("-", "-", "-")


def test_moves_are_in_the_order_of_their_batches() -> None:
    shuffled = [move(number, batch=6 - number) for number in range(6)]
    rows = view(plan(moves=shuffled)).moves
    assert [row.move.batch for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [row.number for row in rows] == [1, 2, 3, 4, 5, 6]


@every(
    [
        ({"landedOn": "gpu-b-04", "predicted": 0.72, "readySeconds": 9.0}, "good", "as predicted"),
        ({"landedOn": "gpu-b-04", "predicted": 0.72, "readySeconds": None}, "bad", "as predicted"),
        ({"landedOn": "gpu-c-20", "predicted": 0.1, "readySeconds": 9.0}, "good", "less likely"),
        ({"landedOn": "gpu-x", "predicted": 0.0, "readySeconds": 9.0}, "bad", "not predicted"),
        ({"landedOn": "gpu-a-03", "predicted": 0.2, "readySeconds": 9.0}, "bad", "came back"),
        ({"landedOn": None, "predicted": None, "readySeconds": None}, "bad", "not seen"),
        ({"result": "refused"}, "bad", "-"),
        ({"result": "unknown"}, "open", "-"),
        ({"result": "skipped"}, "open", "-"),
    ]
)
def test_what_became_of_a_move(fields: dict[str, Any], mark: str, where: str) -> None:
    done = structs.replace(became(0, "evicted", "ACT001", ""), **fields)
    row = view(outcome_of(plan(moves=[move(0)]), done)).moves[0]
    assert row.landed is not None
    assert row.landed.mark == mark
    assert row.landed.where.endswith(where)


def test_one_of_several_nodes_that_were_equally_likely_is_as_predicted() -> None:
    shares = [LandingShare(node=name, probability=0.5) for name in ("n1", "n2")]
    done = structs.replace(became(0, "evicted", "ACT001", "", "n2", 0.5, 1.0), landing=shares)
    row = view(outcome_of(plan(moves=[move(0)]), done)).moves[0]
    assert row.landed is not None
    assert row.landed.where == "n2 as predicted"


def test_an_outcome_is_summed_up() -> None:
    summed = facts(outcome())
    assert summed["Evicted"] == ("3", "of 6 moves: 1 refused, 1 unknown, 1 skipped")
    assert summed["As predicted"][0] == "2"
    assert "of 3 replacements; 1 came back; 3 Ready" in summed["As predicted"][1]


def test_the_worst_reading_speaks_for_all() -> None:
    old = reading("node.cpu", 110.0, coverage=0.93)
    value, detail = facts(plan(readings=[reading("node.gpu", 2.0, maxAgeSeconds=300.0), old]))[
        "Readings"
    ]
    assert (value, detail) == ("93 %", "complete, oldest 110 s (limit 120 s)")
    assert facts(plan(readings=[]))["Readings"][0] == "none"


def test_a_score_that_hardly_changes_is_not_shown_as_unchanged() -> None:
    assert facts(plan(score=Change(before=71.2, after=71.4)))["Score"][0].startswith("71.2")


@pytest.mark.parametrize("score", [Change(before=None, after=None), Change(before=95, after=95)])
def test_no_score_stands_above_a_policy_that_was_not_evaluated(score: Change) -> None:
    shown = structs.replace(no_data(), score=score)  # as in a plan of an older version
    assert facts(shown)["Score"] == ("—", "not known: gpu-utilization was not evaluated")
    idle = [structs.replace(policy, weight=0.0) for policy in shown.policies]
    shown = structs.replace(shown, policies=idle)
    assert facts(plan(score=Change(before=None, after=None)))["Score"][0] == "—"
    assert facts(shown)["Score"][0] == ("—" if score.before is None else "95 → 95")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("held", "a guard holds the cycle"),
        ("empty", "no candidate is worth a move. Most often (9 of 14)"),
    ],
)
def test_no_move_has_its_reason(name: str, said: str) -> None:
    nothing = view(SAMPLES[name]()).nothing
    assert nothing is not None
    assert said in nothing.message


def test_without_any_evaluated_policy_an_empty_plan_is_no_good_news() -> None:
    refused = Problem(code="RDG001", message="connection refused")
    mute = [structs.replace(policy, problem=refused) for policy in policies(moved=False)]
    nothing = view(plan(moves=[], policies=mute)).nothing
    assert nothing is not None
    assert "no policy could be evaluated" in nothing.message


def test_only_a_plan_that_can_be_applied_is_offered() -> None:
    labels = {name: [step.label for step in view(make()).steps] for name, make in SAMPLES.items()}
    assert labels["plan"] == ["Save", "Review", "Apply"]
    assert "Apply" in labels["distrusted"], "pods of one kind stay, and others go"
    rest = labels.keys() - {"plan", "distrusted"}
    assert all("Apply" not in labels[name] for name in rest)


def test_in_enforce_mode_the_band_says_whether_anything_will_move() -> None:
    assert "may be made until 14:32 UTC" in view(plan(mode="Enforce")).band
    assert view(SAMPLES["held"]()).band == "nothing is to be evicted"


def test_batches_and_budgets() -> None:
    found = batches(view(plan()).moves)
    assert [(b.number, len(b.rows)) for b in found] == [(1, 2), (2, 2), (3, 2)]
    spent = budgets(plan(moves=[move(0), move(0), move(1), move(3)]))
    assert [(s.name, s.moves, s.allowed) for s in spent] == [
        ("ml/bert-train-pdb", 2, 1),
        ("ml/llama-serve-pdb", 1, 2),
    ]


def test_a_row_marks_what_is_hot_absent_or_changed() -> None:
    gpu, receive, transmit = heat_map(plan())
    assert gpu.label == "GPU"
    assert gpu.target == "50 %"
    assert [cell.hot_before for cell in gpu.cells].count(True) == 5
    assert not any(cell.hot_after for cell in gpu.cells)
    assert gpu.cells[0].title.startswith("gpu-a-03 (eu-west-1a) 95 %")
    assert gpu.summary.startswith("60 nodes. Before: 5 above 50 %, hottest 95 %")
    assert receive.target == ""
    assert transmit.cells[-1].before == "x"
    assert "1 node without a value" in transmit.summary


def test_a_reading_without_any_value_is_not_drawn_as_zero() -> None:
    gpu = heat_map(no_data())[0]
    assert gpu.cells == []
    assert gpu.summary == "No node has a value."


def test_policies_that_disagree_draw_no_target() -> None:
    one, other = policies(moved=True)
    other = structs.replace(other, document={"spec": {"targets": {"gpu": {"high": 0.8}}}})
    assert heat_map(plan(policies=[one, other]))[0].target == ""
    one = structs.replace(one, document={"spec": {"targets": {"gpu": {"high": "lots"}}}})
    assert heat_map(plan(policies=[one, other]))[0].target == "80 %"
    assert DOCUMENTS["gpu-utilization"]["spec"]["targets"]["gpu"]["high"] == "50%"


@pytest.mark.parametrize(
    ("more", "target"),
    [
        ({"wholeDevices": "Ignore", "strategy": "Relieve"}, ""),
        ({"wholeDevices": "Ignore", "strategy": "Pack"}, "80 %"),
        ({"wholeDevices": "Count", "strategy": "Relieve"}, "80 %"),
    ],
)
def test_a_target_of_single_gpus_makes_no_node_hot(more: dict[str, str], target: str) -> None:
    one, _ = policies(moved=True)
    document = {"spec": {"targets": {"gpu": {"high": 0.8}}, **more}}
    one = structs.replace(one, document=document)
    assert heat_map(plan(policies=[one]))[0].target == target


def test_a_large_cluster_shows_what_changes_and_what_is_hot() -> None:
    def node(n: int) -> NodeView:
        before = n / 1000
        after = before + 0.3 if n == 3 else before
        load = {"node.cpu": Change(before=before, after=after)}
        return NodeView(name=f"n{n:03}", zone="", pods=Change(before=1, after=1), load=load)

    (row,) = heat_map(plan(nodes=[node(n) for n in range(900)]))
    titles = [cell.title for cell in row.cells]
    assert len(titles) == MOST
    assert titles[0].startswith("n003 <1 %")
    assert titles[1].startswith("n899")
    assert row.changes == ["n003 <1 % \N{RIGHTWARDS ARROW} 30 %"]
    assert row.omitted.startswith("500 nodes not drawn")


def test_zones_are_left_out_where_pods_were_not_counted() -> None:
    first = zones(plan())[0]
    assert (first.name, first.before, first.after) == ("eu-west-1a", 107, 102)
    assert zones(plan(nodes=plan().nodes[:20])) == []
    first_node, *others = plan().nodes
    uncounted = structs.replace(first_node, pods=Change(before=4, after=None))
    assert zones(plan(nodes=[uncounted, *others])) == []


def test_a_demotion_that_only_a_run_makes_is_a_note_on_the_plan() -> None:
    for demoted, level in ((True, "problem"), (False, "note")):
        made = plan()
        found = changed(TAKEN)
        found = found if demoted else structs.replace(found, demotedAt=None, demotedUntil=None)
        one = structs.replace(made.policies[0], selection=found)
        seen = view(structs.replace(made, policies=[one, *made.policies[1:]]))
        (alert,) = [candidate for candidate in seen.alerts if candidate.code == "SEL001"]
        assert alert.level == level
        assert "demoted" in alert.title if demoted else "people apply" in alert.title


def test_what_policies_select_is_counted_or_left_open() -> None:
    def said(selection: SelectionResult | None) -> str:
        one = structs.replace(plan().policies[0], selection=selection)
        (row,) = view(plan(policies=[one])).policies
        return row.selects

    assert said(SelectionResult(pods=1204, nodes=1)) == "1,204 pods, 1 node"
    assert said(SelectionResult(pods=1)) == "1 pod"
    assert said(None) == "-"


def test_a_policy_that_selects_nothing_is_reported_as_such() -> None:
    def said(selection: SelectionResult) -> list[str]:
        one = structs.replace(plan().policies[0], selection=selection, problem=None)
        return [
            alert.title for alert in view(plan(policies=[one])).alerts if alert.code == "SEL003"
        ]

    name = plan().policies[0].name
    assert said(SelectionResult(pods=0, nodes=60)) == [f"Policy {name} selects no pod"]
    assert said(SelectionResult(pods=9, nodes=0)) == [f"Policy {name} selects no node"]
    assert said(SelectionResult(pods=9)) == []


def test_each_rule_that_can_never_act_is_a_note_with_its_reason() -> None:
    why = "resources.0.resource: no node offers nvidia.com/gpus"
    one = structs.replace(plan().policies[0], selection=SelectionResult(pods=9, inert=(why,)))
    [told] = [alert for alert in view(plan(policies=[one])).alerts if alert.code == "SEL004"]
    assert (told.level, told.message) == ("note", why)


def test_the_number_of_moves_says_how_likely_a_pod_comes_back_at_most() -> None:
    def said(*returns: float) -> str:
        moves = [structs.replace(plan().moves[0], returns=chance) for chance in returns]
        (fact,) = [
            candidate for candidate in view(plan(moves=moves)).facts if candidate.label == "Moves"
        ]
        return fact.detail.rpartition("; ")[2]

    assert said(0.02, 0.25) == "each at most 25 % likely to come back"
    assert "come back" not in said(0.0, 0.0)
    assert said() == "431 pods on 60 nodes"
