"""What was hot and is relieved further: nodes and devices, for how long, and what is said of it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.history import RELIEVED_FOR, History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.files.policy_set import policy_set
from rescheduler.policies.limits import Limits
from rescheduler.policies.utilization.policy import Utilization
from tests.cases import every
from tests.picture import picture
from tests.policies.utilization.loaded_pictures import altered, bound, packing
from tests.policies.utilization.shared_gpus import fleet, term

WHEN = datetime(2026, 11, 21, 12, 5, tzinfo=UTC)
HOT = packing(strategy="Relieve", targets={"cpu": {"high": "60%", "low": "50%"}})
LIMITS = Limits(margin=0.01, gainShare=0.0, movesPerNode=1)
DRAWN = """
    zone a | n1 | web web web web
    zone a | n2 | web
    zone a | n3 | web
"""


def warm(load: str = "58%", policies: Utilization = HOT) -> Snapshot:
    loads = {"node.cpu": {"n1": load, "n2": "10%", "n3": "10%"}, "pod.cpu": {"web": 0.8}}
    return picture(DRAWN, readings=loads, policies=[policies])


def earlier(before: Snapshot, **fields: Any) -> History:
    """A move off n1 that found it hot, as the ledger has it."""
    given: dict[str, Any] = {
        "plan": "p",
        "podUid": "gone",
        "namespace": "default",
        "pod": "gone",
        "workload": "another",
        "source": "n1",
        "landedOn": "n2",
        "at": before.taken - timedelta(hours=1),
        "settled": before.taken - timedelta(hours=1),
        "state": "ready",
        "hot": {"u": ["node.cpu"]},
        **fields,
    }
    return History(moves=[PastMove(**given)])


def moved(before: Snapshot, history: History, policies: Utilization = HOT) -> list[str]:
    made = plan(before, policy_set([policies], LIMITS), history, mode="Enforce")
    return [move.source for move in made.moves]


def test_a_node_whose_relief_has_begun_gives_pods_away_down_to_low() -> None:
    before = warm()
    assert moved(before, History()) == []
    assert moved(before, earlier(before)) == ["n1"]
    low = warm("50%")
    assert moved(low, earlier(low)) == []


@every(
    [
        {"hot": {}},
        {"hot": {"other": ["node.cpu"]}},
        {"hot": {"u": ["node.memory"]}},
        {"source": "n9"},
        {"state": "refused"},
    ]
)
def test_only_what_a_move_of_this_policy_found_hot_is_relieved_further(other: Any) -> None:
    before = warm()
    assert moved(before, earlier(before, **other)) == []


def test_it_ends_by_time() -> None:
    before = warm()
    late = before.taken - RELIEVED_FOR
    assert moved(before, earlier(before, at=late)) == ["n1"]
    assert moved(before, earlier(before, at=late - timedelta(seconds=1))) == []


def test_relieving_further_does_not_make_that_time_begin_again() -> None:
    hot = warm("62%")
    made = plan(hot, policy_set([HOT], LIMITS), History(), mode="Enforce")
    assert [move.hot for move in made.moves] == [{"u": ["node.cpu"]}]
    before = warm()
    made = plan(before, policy_set([HOT], LIMITS), earlier(before), mode="Enforce")
    assert [move.hot for move in made.moves] == [{}]


def test_a_target_without_a_band_needs_no_memory() -> None:
    plain = packing(strategy="Relieve", targets={"cpu": {"high": "60%"}})
    made = plan(warm("62%", plain), policy_set([plain], LIMITS), History(), mode="Enforce")
    assert [move.hot for move in made.moves] == [{}]


def test_the_report_says_why_a_node_below_high_gives_pods_away() -> None:
    before = warm()
    made = plan(before, policy_set([HOT], LIMITS), earlier(before), mode="Enforce")
    when = (before.taken - timedelta(hours=1)).strftime("%H:%M")
    said = f"node.cpu is 58.0%, target 50% (relieved further: at {when} UTC it was above 60%)"
    assert said in made.moves[0].reasons[0].finding
    assert said in made.policies[0].findings[0].message


def test_with_stable_for_the_load_above_low_must_have_held() -> None:
    steady = packing(
        strategy="Relieve", targets={"cpu": {"high": "60%", "low": "50%"}}, stableFor="10m"
    )
    before = warm(policies=steady)
    samples = np.full((10, 3), 0.1)
    for past, lasts in ((0.58, True), (0.45, False)):
        samples[:, 0] = past
        samples[-1, 0] = 0.58
        made = bound(altered(before, "node.cpu", range_samples=samples.copy()), steady)
        made.continue_relief({(0, "node.cpu"): WHEN})
        held = made.finding_ages()[:4]
        assert bool((held > 500).all()) is lasts


def test_a_shared_gpu_is_relieved_further_than_others_of_its_node() -> None:
    loads: Any = {
        "n1": {
            "GPU-0": [0.75, "serve-0"],
            "GPU-1": [0.78, "chat-0=0.4", "chat-1=0.38"],
            "GPU-2": [0.2, "chat-2"],
        },
        "n2": {"GPU-a": [0.1]},
        "n3": {"GPU-c": [0.3, "chat-3"]},
    }
    before = fleet(loads)
    cold = term(before)
    assert cold.candidates().tolist() == []
    cold.continue_relief({(0, "gpu GPU-1"): WHEN})
    names = {before.pods[candidate].metadata.name for candidate in cold.candidates().tolist()}
    assert names == {"chat-0", "chat-1"}
    assert any(
        "(relieved further: at 12:05 UTC it was above 80%)" in finding.message
        for finding in cold.findings()
    )
    assert cold.hot_on(0) == ()


def test_a_hot_gpu_is_remembered_by_its_name() -> None:
    assert term(fleet()).hot_on(0) == ("gpu GPU-1",)
