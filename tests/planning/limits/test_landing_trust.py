"""When the landings of a kind of pods are no longer trusted, and what reports show of it."""

from datetime import UTC, datetime, timedelta

from rescheduler.model.moves.calibration import MOST_WORKLOADS, LandingRecord, compare
from rescheduler.model.moves.history import History
from rescheduler.planning.limits.landing_trust import calibration, distrust
from rescheduler.policies.limits import Limits
from tests.cases import every
from tests.planning.scenarios import SWIFT, hot_gpus

NOW = datetime(2026, 11, 21, 14, 0, tzinfo=UTC)
LIMITS = Limits(minLandingHitRate=0.8, minLandingSample=10)
VERSION = "v1.36.3"


def land(record: LandingRecord, hits: int, misses: int, namespace: str = "shop") -> LandingRecord:
    """So many workloads of the namespace whose replacements came as predicted, and did not."""
    for number, landed in enumerate(["n2"] * hits + ["n9"] * misses):
        comparison = compare({"n2": 1.0}, 0.0, landed)
        record.add(comparison, NOW, namespace, f"{namespace}-{landed}-{number}")
    return record


def record(
    hits: int, misses: int, kind: str = "ReplicaSet", version: str = "1.36"
) -> LandingRecord:
    return land(LandingRecord(kind=kind, version=version), hits, misses)


def held(*records: LandingRecord, kind: str = "ReplicaSet", namespace: str = "shop") -> bool:
    found = distrust(History(landings=list(records)), LIMITS, VERSION, NOW)
    return found.refusal(kind, namespace) is not None


@every([(0, 9, False), (0, 10, True), (7, 3, True), (9, 1, False), (80, 10, False), (10, 0, False)])
def test_a_low_share_counts_once_the_sample_is_large_enough(
    hits: int, misses: int, stays: bool
) -> None:
    found = distrust(History(landings=[record(hits, misses)]), LIMITS, VERSION, NOW)
    assert (found.first is not None) == stays
    if found.first is not None:
        assert found.first.code == "GRD009"
        said = f"of {hits + misses} workloads with ReplicaSet pods under scheduler 1.36"
        assert said in found.first.message


def test_a_workload_counts_once_however_often_it_moves() -> None:
    busy = land(LandingRecord(kind="ReplicaSet", version="1.36"), 19, 0)
    for _ in range(500):
        busy.add(compare({"n2": 1.0}, 0.0, "n9"), NOW, "shop", "the one")
    assert not held(busy)
    assert busy.compared == 519


def test_one_kind_is_held_alone() -> None:
    found = record(500, 0), record(5, 6, kind="StatefulSet")
    assert held(*found, kind="StatefulSet")
    assert not held(*found)


def test_one_namespace_is_held_alone() -> None:
    """A tenant may let all of its own pods land elsewhere: that is no sign of a wrong model."""
    both = land(record(12, 0), 0, 40, "evil")
    assert held(both, namespace="evil")
    assert not held(both)
    assert not held(both, namespace="of somebody who never moved")
    third = land(both, 2, 12, "third")
    assert held(third), "without the one that missed most they miss too"
    assert held(third, namespace="of somebody who never moved")


def test_landings_fade_with_time_and_the_hold_ends() -> None:
    made = record(0, 10)
    history = History(landings=[made])
    first = distrust(history, LIMITS, VERSION, NOW).first
    assert first is not None
    assert "at the latest until 2026-12-05 14:00:00 UTC" in first.message
    late = NOW + timedelta(days=14, seconds=1)
    assert distrust(history, LIMITS, VERSION, late).first is None
    # What came later counts more.
    later = NOW + timedelta(days=12)
    for number in range(10):
        made.add(compare({"n2": 1.0}, 0.0, "n2"), later, "shop", f"good-{number}")
    assert distrust(history, LIMITS, VERSION, later).first is None


def test_a_namespace_drives_no_other_one_out_of_the_record() -> None:
    made = land(land(record(0, 0), 10, 0), 0, 3 * MOST_WORKLOADS, "evil")
    assert len(made.workloads) == MOST_WORKLOADS
    assert sum(workload.namespace == "shop" for workload in made.workloads.values()) == 10


def test_nothing_compared_is_no_reason_to_distrust() -> None:
    assert distrust(History(), LIMITS, VERSION, NOW).first is None
    assert calibration(History(), LIMITS, VERSION, NOW).overall is None


def test_another_version_of_the_scheduler_begins_anew() -> None:
    history = History(landings=[record(0, 50, version="1.35"), record(10, 0)])
    assert distrust(history, LIMITS, VERSION, NOW).first is None
    assert distrust(history, LIMITS, "v1.35.0", NOW).first is not None
    seen = calibration(history, LIMITS, VERSION, NOW)
    assert [rates.version for rates in seen.kinds] == ["1.35", "1.36"]
    assert seen.overall is not None
    assert (seen.overall.compared, seen.overall.hitRate) == (10, 1.0)


def test_a_hit_rate_of_zero_turns_it_off() -> None:
    off = Limits(minLandingHitRate=0.0, minLandingSample=1)
    assert distrust(History(landings=[record(0, 50)]), off, VERSION, NOW).first is None


def test_a_plan_leaves_the_pods_alone_whose_landings_are_not_trusted() -> None:
    world = hot_gpus(limits=SWIFT.model_copy(update={"minLandingSample": 10}))
    version = world.snapshot.cluster.version
    minor = ".".join(version.lstrip("v").split(".")[:2]) or "unknown"
    missing = land(LandingRecord(kind="ReplicaSet", version=minor), 0, 10, "default")
    other = land(LandingRecord(kind="StatefulSet", version=minor), 0, 10, "default")
    for record in (missing, other):
        for landed in record.workloads.values():
            landed.at = world.snapshot.taken
    world.history.landings = [other]
    assert world.plan().moves
    world.history.landings = [missing]
    made = world.plan()
    assert made.moves == []
    assert made.totals.refused.get("ELG039", 0) > 0
    (guard,) = made.guards
    assert guard.code == "GRD009"
