"""Predicted landings against the decisions of the real kube-scheduler, score by score.

300 decisions and more; `make bench-landing` makes thousands.
"""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.landing.campaign import decisions
from tests.e2e.landing.landing_cluster import LandingCluster
from tests.e2e.landing.landing_summary import LandingSummary

pytestmark = pytest.mark.e2e

# The last one is large enough for the scheduler to sample its nodes.
SEEDS = (1, 2, 3, 4, 5, 6, 7, 9, 8)
EACH = 40
CREATING = 0.6
"""More of them are created than else: these are steered, as admission would."""


@pytest.fixture
def landing_cluster() -> Iterator[LandingCluster]:
    folder = Path(tempfile.mkdtemp(prefix="rescheduler-landing-"))
    made = LandingCluster(folder)
    try:
        yield made
    finally:
        made.stop()
        shutil.rmtree(folder, ignore_errors=True)


def test_landings_are_those_of_the_real_scheduler(
    landing_cluster: LandingCluster,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    summary = LandingSummary()
    for decision in decisions(landing_cluster, SEEDS, EACH, tmp_path, CREATING):
        summary.add(decision)
    summary.recorded(record_property)
    sys.stderr.write("\n" + "\n".join(summary.lines()) + "\n")
    assert len(summary.decisions) >= 300
    assert len({decision.verdict for decision in summary.decisions}) > 1, (
        "nothing was unschedulable"
    )
    assert sum(decision.scores for decision in summary.decisions) > 10_000
    steered = [decision for decision in summary.decisions if decision.steered]
    assert len(steered) >= 50, "as admission steers replacements"
    assert any(decision.require for decision in steered)
    assert any(
        decision.observed not in decision.steered for decision in steered if not decision.require
    )
    assert not summary.missed(), f"see {tmp_path}"
