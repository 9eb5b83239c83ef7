"""F61-F66: configuration, limits and reports."""

import re
from pathlib import Path

import pytest
import yaml

from rescheduler.documents.amounts import pods_of_amount
from rescheduler.model.errors import PolicyError
from rescheduler.model.moves.plan import Plan
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.policies.move_limit_fields import MoveLimit
from rescheduler.runtime.inspecting.checking import dead
from rescheduler.sources.policy_files import load_policies
from tests.catalogue.kit import codes, cycles, drawn, hot, moved, plan_of
from tests.deploy.policies_configmap import FILE
from tests.planning.limits.budgets import cluster, code, spent
from tests.runtime.skewed import spread
from tests.simulation.policies import POLICIES, SPREAD
from tests.simulation.process import Cycle
from tests.simulation.scenario import Run

virtual = pytest.mark.usefixtures("virtual")
TEXT = POLICIES + SPREAD


def refuses(text: str, folder: Path) -> bool:
    """Whether these policies are refused, and nothing is planned by them."""
    file = folder / "policies.yaml"
    file.write_text(text)
    try:
        load_policies(file)
    except PolicyError:
        return True
    return False


def test_f61_each_key_with_a_letter_too_many_is_refused(tmp_path: Path) -> None:
    """A typo that is ignored is a limit that does not hold; and what is shipped must load."""
    assert not refuses(TEXT, tmp_path)
    shipped = yaml.safe_load(FILE.read_text())["data"]
    for name, text in shipped.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "policies.yaml").unlink()
    assert load_policies(tmp_path).policies
    for name in shipped:
        (tmp_path / name).unlink()
    keys = [match.span(1) for match in re.finditer(r"(\w+):(?=\s)", TEXT)]
    assert len(keys) > 30
    for start, end in keys:
        wrong = f"{TEXT[: end - 1]}{TEXT[end - 1] * 2}{TEXT[end:]}"
        assert refuses(wrong, tmp_path), TEXT[start:end]


def test_f62_yaml_means_what_it_says(tmp_path: Path) -> None:
    """In YAML 1.1 `010` is 8, `1_000` is 1000, `no` is False, and of two keys the last counts."""
    for value in ("010", "1_000", "no", "'7'", "22:30", "1e1", "0x5", "-1", "five", "true"):
        assert refuses(TEXT.replace("movesPerHour: 6", f"movesPerHour: {value}"), tmp_path), value
    twice = TEXT.replace("movesPerHour: 6", "movesPerHour: 6\n  movesPerHour: 600")
    assert refuses(twice, tmp_path)
    assert not refuses(TEXT.replace("movesPerHour: 6", "movesPerHour: 7"), tmp_path)


@virtual
def test_f63_an_empty_selector_does_not_stand_for_all(tmp_path: Path) -> None:
    """Left empty by mistake, a selector of pods means all pods; and the report says how many."""
    everything = "match: {all: true}"
    for scope in (
        "match: {labels: {}}",
        "match: {labels: {matchLabels: {}}}",
        "match: {namespaceSelector: {}}",
        "match: {all: true, namespaces: [default]}",
    ):
        assert refuses(TEXT.replace(everything, scope), tmp_path), scope
    (cycle,) = cycles(hot(), 1)
    (policy,) = [result for result in plan_of(cycle).policies if result.name == "hot"]
    assert (policy.scope, policy.subject) == (6, "nodes")


@virtual
@pytest.mark.parametrize("grown", [2, 6])
def test_what_a_policy_selects_only_since_the_review_is_not_evicted(
    grown: int,
) -> None:
    """F63: a selector, or the labels that it asks for, may match far more than was approved."""
    crowded, two = ("n0", "n2", "n4"), ("n0", "n2")
    apps = {"web": two, **{f"app{number}": crowded for number in range(grown)}}
    run = drawn(apps, dict.fromkeys(apps, 0.1), text=NARROW)
    run.cluster.pick = run.as_predicted
    relabel(run, "web")
    reviewed = plan_of(run.process("Audit").run())
    approved = {move.pod.uid for move in reviewed.moves}
    assert (scope(reviewed), len(approved)) == (len(two), 1)

    for app in apps:
        relabel(run, app)
    run.universe.text = NARROW.replace(TEAM, "{all: true}")
    shown = plan_of(run.process("Audit").run())
    assert scope(shown) == len(two) + len(crowded) * grown, "a dry run says how many"
    assert len(shown.moves) > 1, "and what it would do"

    process = run.process()
    process.reviewed = reviewed
    cycle = process.run()
    assert cycle.code == 0, cycle.error
    assert {eviction.uid for eviction in run.ground.evicted} == approved


@virtual
@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("edited", [False, True])
def test_an_unattended_run_shows_first_what_it_selects_only_now(
    *, edited: bool, lasting: bool
) -> None:
    """F63: the label spreads, or the selector is edited to match all, and nobody looks for a while.

    edited: the policy, else labels. lasting: one process, as of a Deployment, else one each time.
    """
    crowded, two = ("n0", "n2", "n4"), ("n0", "n2")
    others = {f"app{number}": crowded for number in range(20)}
    run = drawn({"web": two, **others}, dict.fromkeys(["web", *others], 0.1), text=NARROW)
    run.cluster.pick = run.as_predicted
    relabel(run, "web")
    service = run.process()
    service.lasting = True

    def cycle() -> Cycle:
        made = (service if lasting else run.process()).run()
        run.cluster.timeline.advance(300.0)
        return made

    assert cycle().code == 0
    (first,) = run.ground.evicted
    assert first.pod["metadata"]["labels"]["app"] == "web"
    if edited:
        run.universe.text = NARROW.replace(TEAM, "{all: true}")
    else:
        for app in others:
            relabel(run, app)

    began = run.cluster.timeline.seconds
    held = [cycle() for _ in range(12)]
    assert {held_cycle.code for held_cycle in held} == {3}, "and each says so"
    assert len(run.ground.evicted) == 1
    (policy,) = plan_of(held[0]).policies
    selection = policy.selection
    assert selection is not None
    assert (selection.pods, selection.knownPods) == (62 if edited else 61, 2)
    assert (policy.mode, selection.problem and selection.problem.code) == (
        "Audit",
        "SEL001" if edited else "SEL002",
    )
    assert {move.mode for move in plan_of(held[0]).moves} == {"Audit"}, "and what it would do"
    events = [
        request.body or {} for request in run.universe.log if request.path.endswith("/events")
    ]
    assert [event["reason"] for event in events].count("PolicyDemoted") == 1

    while run.cluster.timeline.seconds < began + 3600 + 900:
        cycle()
    assert len(run.ground.evicted) > 1, "then it acts, within its limits"
    assert run.ground.broken == []


TEAM = "{labels: {matchLabels: {team: ml}}}"
NARROW = POLICIES.partition("---")[0] + SPREAD.replace("{namespaces: [default]}", TEAM)


def relabel(run: Run, app: str) -> None:
    """The app's pods are of the team from now on."""
    for pod in run.cluster.of("pods"):
        if pod["metadata"]["labels"]["app"] == app:
            pod["metadata"]["labels"] = {**pod["metadata"]["labels"], "team": "ml"}


def scope(plan: Plan) -> int:
    """How many pods the policy evaluates."""
    (policy,) = plan.policies
    assert policy.subject == "pods"
    return policy.scope


def test_f64_percentages_of_budgets_round_down() -> None:
    """100 % that becomes 0, and 10 % of three pods that becomes one."""
    for pods in range(11):
        for percent in range(101):
            least = pods_of_amount(f"{percent}%", pods)
            assert least * 100 <= percent * pods < (least + 1) * 100
        assert pods_of_amount("100%", pods) == pods
        assert pods_of_amount(0, pods) == pods_of_amount("0%", pods) == 0


@virtual
@pytest.mark.parametrize("row", Limits.move_limits, ids=lambda row: row.field)
def test_f65_limits_that_allow_nothing_say_so(row: MoveLimit) -> None:
    """A protection that blocks everything in silence looks like a healthy cluster."""
    assert not any("nothing will ever move" in said for said in dead(policy_set([spread()])))
    for none in (0, "0%"):
        never = Limits.model_validate({row.field: none})
        (said,) = (e for e in dead(policy_set([spread()], never)) if "nothing will ever" in e)
        assert f"{row.field} is {none}," in said, "before anything runs"
    others = re.sub(rf"\n  {row.field}: .*", "", POLICIES)
    run = hot(text=others.replace("spec:", f"spec:\n  {row.field}: 0", 1))
    (cycle,) = cycles(run, 1)
    plan = plan_of(cycle)
    assert (moved(run), plan.moves) == ([], [])
    assert plan.totals.refused[row.code] >= 2, "each pod that would have moved is counted"
    (said,) = {refusal.message for refusal in plan.refused if refusal.code == row.code}
    assert row.field in said
    made = spent(cluster(), {"movesPerCycle": 1}, 0)
    assert {code(made, pod) for pod in (1, 4)} == {"PAC001"}


@virtual
def test_f66_what_is_shown_is_what_is_done() -> None:
    """A dry run that lists what would never be evicted is not trusted for long."""
    shown, acted = (hot(), hot())
    audit = shown.process("Audit").run()
    act = acted.process("Enforce").run()
    assert plan_of(audit).digest == plan_of(act).digest
    assert [m.pod for m in plan_of(audit).moves] == [m.pod for m in plan_of(act).moves]
    assert moved(shown) == []
    assert moved(acted)
    assert codes(audit.report) <= codes(act.report)
