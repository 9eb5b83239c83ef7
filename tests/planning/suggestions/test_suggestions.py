"""Which changes are suggested, of which obstacle, and which are not."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from rescheduler.kube.annotations import OPT_OUT
from rescheduler.model.cluster.readings import Readings
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.finding_history import FindingHistory
from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import Plan
from rescheduler.model.moves.suggestion import Suggestion
from rescheduler.planning.plan import planner
from rescheduler.planning.plan.planner import plan_and_observations
from rescheduler.planning.suggestions import trials
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.policies.spread.policy import Spread
from tests.picture import picture
from tests.planning.suggestions.hot_clusters import STEERED, gpu_cluster, limits, relief
from tests.planning.suggestions.promised import OUTLINE, promise, suggested


def first(made: Plan) -> Suggestion:
    assert made.suggestions
    return made.suggestions[0]


def annotated(before: Snapshot, app: str) -> Snapshot:
    """The cluster in which the pods of that workload have opted out."""
    for pod in before.pods:
        if (pod.metadata.labels or {})["app"] == app:
            pod.metadata = structs.replace(pod.metadata, annotations={OPT_OUT: "true"})
    return before


def test_hot_pods_that_would_come_back_are_told_of_steering() -> None:
    policy = relief()
    made = suggested(gpu_cluster(5, 25, policy), [policy], limits())
    best = first(made)
    assert (best.change, best.risk) == ("Turn on steering", "")
    assert promise(best).moves > promise(best).movesNow
    worst = promise(best).worst
    assert worst is not None
    assert (worst.reading, worst.now) == ("node.gpu", 0.62)
    assert worst.changed < 0.5


def test_whoever_steers_already_is_not_told_to() -> None:
    policy = relief()
    made = suggested(gpu_cluster(5, 25, policy), [policy], limits(**STEERED))
    assert all("steering" not in suggestion.change for suggestion in made.suggestions)


def test_an_older_cluster_is_told_of_a_means_that_it_serves() -> None:
    policy = relief()
    before = gpu_cluster(5, 25, policy)
    before = replace(before, cluster=replace(before.cluster, version="v1.33.1"))
    named = [suggestion.how for suggestion in suggested(before, [policy], limits()).suggestions]
    assert not any("AdmissionPolicy" in how for how in named)


def test_a_limit_that_is_reached_is_raised_and_says_what_it_risks() -> None:
    policy = relief()
    narrow = limits(**STEERED, movesPerNamespace=2)
    best = first(suggested(gpu_cluster(5, 25, policy), [policy], narrow))
    assert best.change == (
        "Your limit of 2 moves per namespace and cycle spreads these moves over up to 13 cycles; "
        "raise it to 4"
    )
    assert (promise(best).movesNow, promise(best).moves) == (2, 4)
    assert best.risk == (
        "more pods are moved in one namespace in one cycle; "
        "without it later cycles make these moves"
    )
    assert best.decides == "the owners of the Limits"


def test_a_limit_and_steering_that_help_only_together_are_one_suggestion() -> None:
    policy = relief()
    best = first(suggested(gpu_cluster(5, 25, policy), [policy], Limits.model_validate({})))
    assert best.change.startswith("Your limit of 2 moves per namespace and cycle ")
    assert best.change.endswith("; raise it to 4 and turn on steering")
    assert best.how.count("Write `") == 2


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        ({"movesPerCycle": 0}, "Your limit of 0 moves per cycle lets none of these move"),
        (
            {"movesPerCycle": 3, "movesPerHour": 2},
            "Your limit of 2 moves per hour spreads these moves over up to 13 hours",
        ),
        (
            {"movesPerCycle": "3%"},
            "Your limit of 3% of the pods per cycle spreads these moves over up to 7 cycles",
        ),
    ],
)
def test_a_limit_is_described_by_how_long_it_spreads_moves(
    limit: dict[str, Any], text: str
) -> None:
    policy = relief()
    made = suggested(gpu_cluster(5, 25, policy), [policy], limits(**STEERED, **limit))
    changes = [suggestion.change for suggestion in made.suggestions]
    assert any(change.startswith(f"{text}; raise it to ") for change in changes), changes


def test_a_policy_in_audit_is_told_to_be_enforced() -> None:
    policy = relief(mode="Audit")
    best = first(suggested(gpu_cluster(5, 25, policy), [policy], limits(**STEERED)))
    assert (best.change, promise(best).movesNow) == ("Set policy hot to Enforce", 0)
    assert promise(best).moves > 0
    assert best.decides == "the owners of policy hot"


def test_gpus_that_one_pod_has_are_told_to_count() -> None:
    policy = relief(wholeDevices="Ignore")
    before = gpu_cluster(5, 25, relief())
    best = first(suggested(before, [policy], limits()))
    assert best.change.startswith("Set wholeDevices to Count in policy hot")
    assert promise(best).moves > 0
    (hot,) = promise(best).counts
    assert hot.before == 5


def test_without_the_readings_for_it_no_figure_is_promised() -> None:
    policy = relief(wholeDevices="Ignore")
    before = gpu_cluster(5, 25, relief())
    entries = tuple(entry for entry in before.readings.entries if entry.name == "node.gpu")
    before = replace(before, readings=replace(before.readings, entries=entries))
    best = first(suggested(before, [policy], limits()))
    assert best.change == "Set wholeDevices to Count in policy hot"
    assert best.trial is None
    assert best.untried == "no figure, as its readings are not in this snapshot"


def test_the_budget_that_blocks_most_is_named_with_its_owners() -> None:
    policy = relief()
    before = gpu_cluster(2, 25, policy, budgets={"app1": 0, "app2": 0})
    best = first(suggested(before, [policy], limits(**STEERED)))
    assert best.change == "Let PodDisruptionBudget default/app1 allow 1"
    assert promise(best).moves == 1
    assert best.risk == "one more of its pods may be away at a time"
    assert best.decides == "the owners of namespace default"


def test_the_opt_out_that_keeps_most_is_named_with_its_owners() -> None:
    policy = relief()
    before = annotated(gpu_cluster(1, 25, policy), "app1")
    best = first(suggested(before, [policy], limits(**STEERED)))
    assert best.change == "Take the opt-out off Deployment default/app1"
    assert promise(best).moves > promise(best).movesNow == 0
    assert best.decides == "the owners of Deployment default/app1"
    assert OPT_OUT in (before.pods[0].metadata.annotations or {}), "the snapshot stays as it was"


def test_an_opt_out_of_a_namespace_is_named_as_one() -> None:
    policy = relief()
    before = gpu_cluster(1, 25, policy)
    for space in before.namespaces:
        space.metadata = structs.replace(space.metadata, annotations={OPT_OUT: "true"})
    best = first(suggested(before, [policy], limits(**STEERED)))
    assert best.change == "Take the opt-out off namespace default"
    assert promise(best).moves > 0


def test_too_few_replicas_are_told_of_with_the_risk() -> None:
    policy = relief()
    before = gpu_cluster(2, 10, policy, pods=1)
    made = suggested(before, [policy], limits(**STEERED, maxHotShare=1.0))
    chosen = [suggestion for suggestion in made.suggestions if suggestion.code == "ELG012"]
    assert all("minReplicas to 1" in suggestion.change and suggestion.risk for suggestion in chosen)


def test_the_taint_of_a_pool_is_suggested_where_pods_fit_nowhere_else() -> None:
    policy = Spread.model_validate({"name": "zones", "match": {"all": True}})
    before = picture(
        """
            zone a | n1 gpu 8 | web web web web web web web web
            zone b | n2 gpu 8 tainted | -
        """,
        requests={"web": {"cpu": "1", "nvidia.com/gpu": "1"}},
        policies=[policy],
    )
    best = first(suggested(before, [policy], limits()))
    assert best.change == "Take the taint kept:NoSchedule off its node"
    assert promise(best).moves > 0
    assert (best.risk, best.decides) == (
        "any other pod may be placed on that pool too",
        "the owners of that pool",
    )


def test_a_guard_against_wrong_readings_is_raised_with_a_warning() -> None:
    policy = relief()
    best = first(suggested(gpu_cluster(5, 5, policy), [policy], limits()))
    assert best.change.startswith("Raise maxHotShare to 50%")
    assert best.risk == "it guards against readings that are wrong, so check these first"


def test_a_selector_that_selects_nothing_is_to_be_corrected() -> None:
    policy = Spread.model_validate({"name": "zones", "match": {"namespaces": ["nowhere"]}})
    made = suggested(gpu_cluster(0, 3, relief()), [policy], limits())
    (only,) = made.suggestions
    assert only.change == "Correct policy zones: match: there is no namespace nowhere"
    assert only.trial is None


def test_readings_that_do_not_tell_who_causes_a_load_are_to_be_completed() -> None:
    policy = relief()
    made = suggested(gpu_cluster(5, 25, policy, reported=0.01), [policy], limits())
    assert made.assessment is not None
    assert made.assessment.why is not None
    assert made.assessment.why.code == "RDG010"
    (only,) = made.suggestions
    assert only.change.startswith("Complete the readings of policy hot: node.gpu is not explained")
    assert only.trial is None


def test_a_policy_without_its_readings_is_to_be_given_them() -> None:
    policy = relief()
    before = replace(gpu_cluster(5, 25, policy), readings=Readings())
    (only,) = suggested(before, [policy], limits()).suggestions
    assert only.change.startswith("Give policy hot its readings: node.gpu")
    assert (only.code, only.trial) == ("RDG007", None)


def test_nothing_is_suggested_where_nothing_is_wrong() -> None:
    policy = relief()
    assert not suggested(gpu_cluster(0, 10, policy), [policy], limits()).suggestions


@pytest.mark.parametrize("pairs", [1, 400, 6_000_000])
def test_so_many_plannings_and_no_more(pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    once = planner._plan_once

    def counted(*given: Any) -> Any:
        calls.append(given)
        return once(*given)

    monkeypatch.setattr(trials, "_PAIRS", pairs)
    monkeypatch.setattr(planner, "_plan_once", counted)
    policy = relief()
    narrow = limits(movesPerNamespace=2, movesPerNode=1, movesPerCycle=3)
    before = gpu_cluster(5, 25, policy)
    made = suggested(before, [policy], narrow)
    again = len(calls) - 1
    assert again <= min(trials.MOST_TRIALS, pairs // (len(before.pods) * len(before.nodes)))
    assert all((suggestion.trial is None) == (again == 0) for suggestion in made.suggestions)


def test_a_large_cluster_without_a_move_gets_one_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "_PAIRS", 1)
    policy = relief()
    made = suggested(gpu_cluster(5, 5, policy), [policy], limits())
    assert not made.moves
    assert sum(suggestion.trial is not None for suggestion in made.suggestions) <= 1
    monkeypatch.setattr(trials, "_MOST_PAIRS", 1)
    made = suggested(gpu_cluster(5, 5, policy), [policy], limits())
    assert all(suggestion.trial is None for suggestion in made.suggestions)
    assert "not tried on a cluster of this size" in first(made).untried


def test_limits_that_contradict_each_other_are_never_suggested() -> None:
    policy = relief()
    tight = limits(**STEERED, movesPerHour=1)
    made = suggested(gpu_cluster(5, 25, policy), [policy], tight)
    assert all("from 1 to 1" not in suggestion.change for suggestion in made.suggestions)


def test_moves_that_are_made_right_away_do_not_wait_for_suggestions() -> None:
    policy = relief()
    before, outline = gpu_cluster(5, 25, policy), structs.replace(OUTLINE, mode="Enforce")
    for chosen, expected in ((limits(movesPerNamespace=2), 0), (limits(maxHotShare=0.01), 1)):
        documents = policy_set([policy], chosen)
        made, _ = plan_and_observations(before, documents, History(), FindingHistory(), outline)
        assert (len(made.moves) > 0, len(made.suggestions) > 0) == (not expected, bool(expected))
