"""When landings are no longer trusted, and what reports show of it."""

from datetime import UTC, datetime

import pytest

from rescheduler.model.moves.calibration import LandingRecord, compare
from rescheduler.model.moves.history import History
from rescheduler.planning.limits.landing_trust import calibration, distrust
from rescheduler.policies.limits import Limits

NOW = datetime(2026, 11, 21, 14, 0, tzinfo=UTC)
LIMITS = Limits(minLandingHitRate=0.8, minLandingSample=10)


def record(
    hits: int, misses: int, kind: str = "ReplicaSet", version: str = "1.36"
) -> LandingRecord:
    made = LandingRecord(kind=kind, version=version)
    for landed in ["n2"] * hits + ["n9"] * misses:
        made.add(compare({"n2": 1.0}, 0.0, landed), NOW)
    return made


@pytest.mark.parametrize(
    ("hits", "misses", "held"),
    [(0, 9, False), (0, 10, True), (8, 2, True), (9, 1, False), (100, 10, False), (10, 0, False)],
)
def test_a_low_hit_rate_counts_once_the_sample_is_large_enough(
    hits: int, misses: int, held: bool
) -> None:
    problem = distrust(History(landings=[record(hits, misses)]), LIMITS, "v1.36.3")
    assert (problem is not None) == held
    if problem is not None:
        assert problem.code == "GRD009"
        assert f"Of {hits + misses} replacements of ReplicaSet pods" in problem.message


def test_nothing_compared_is_no_reason_to_distrust() -> None:
    assert distrust(History(), LIMITS, "v1.36.3") is None
    assert calibration(History(), LIMITS, "v1.36.3").overall is None


def test_another_version_of_the_scheduler_begins_anew() -> None:
    history = History(landings=[record(0, 50, version="1.35"), record(10, 0)])
    assert distrust(history, LIMITS, "v1.36.3") is None
    assert distrust(history, LIMITS, "v1.35.0") is not None
    seen = calibration(history, LIMITS, "v1.36.3")
    assert [rates.version for rates in seen.kinds] == ["1.35", "1.36"]
    assert seen.overall is not None
    assert (seen.overall.compared, seen.overall.hitRate) == (10, 1.0)


def test_kinds_that_are_each_too_few_count_together() -> None:
    kinds = ["ReplicaSet", "StatefulSet", "Job"]
    history = History(landings=[record(0, 5, kind=kind) for kind in kinds])
    problem = distrust(history, LIMITS, "v1.36.3")
    assert problem is not None
    assert "Of 15 replacements of all pods" in problem.message


def test_one_bad_kind_is_not_hidden_by_a_good_one() -> None:
    history = History(landings=[record(500, 0), record(5, 6, kind="StatefulSet")])
    problem = distrust(history, LIMITS, "v1.36.3")
    assert problem is not None
    assert "StatefulSet" in problem.message


def test_a_hit_rate_of_zero_turns_it_off() -> None:
    off = Limits(minLandingHitRate=0.0, minLandingSample=1)
    assert distrust(History(landings=[record(0, 50)]), off, "v1.36.3") is None
