"""Why the status of a PodDisruptionBudget cannot be counted on."""

from typing import Any

from rescheduler.kube.controllers import ConditionWithMessage
from tests.cases import every
from tests.cluster import NOW, budget

SYNC_FAILED = ConditionWithMessage(
    type="DisruptionAllowed",
    status="False",
    reason="SyncFailed",
    message='found no controller for pod "web-1"',
)


@every(
    [
        ({"conditions": [SYNC_FAILED]}, "(SyncFailed): found no controller for pod"),
        ({"conditions": [SYNC_FAILED], "observedGeneration": 0}, "SyncFailed"),
        ({"observedGeneration": 0}, "is at generation 1, its status at 0"),
        ({"disruptionsAllowed": -1}, "negative allowance of -1"),
        ({"disruptedPods": {f"p{i}": NOW for i in range(2001)}}, "waits for 2001 evicted pods"),
    ]
)
def test_what_is_odd_in_a_budget_is_named(change: dict[str, Any], words: str) -> None:
    guard = budget("web", "web", allowed=1)
    assert guard.doubt == ""
    for name, value in change.items():
        setattr(guard.status, name, value)
    assert words in guard.doubt


def test_a_budget_that_has_too_few_pods_is_not_odd() -> None:
    guard = budget("web", "web", allowed=0)
    few = ConditionWithMessage(type="DisruptionAllowed", status="False", reason="InsufficientPods")
    guard.status.conditions = [few]
    guard.status.disruptedPods = {f"p{i}": NOW for i in range(2000)}
    assert guard.doubt == ""
