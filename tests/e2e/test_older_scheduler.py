"""Landings where the API server is upgraded already, and kube-scheduler is not."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from rescheduler.sources.kubernetes.running_scheduler import read_scheduler
from tests.e2e.controlplane.versions import OLDER_SCHEDULER
from tests.e2e.landing.campaign import decisions
from tests.e2e.landing.landing_cluster import LandingCluster
from tests.e2e.landing.landing_summary import LandingSummary

pytestmark = pytest.mark.e2e

SEEDS = (21, 22, 23, 24)
EACH = 36


@pytest.fixture
def landing_cluster() -> Iterator[LandingCluster]:
    folder = Path(tempfile.mkdtemp(prefix="rescheduler-landing-"))
    made = LandingCluster(folder, scheduler=OLDER_SCHEDULER)
    try:
        yield made
    finally:
        made.stop()
        shutil.rmtree(folder, ignore_errors=True)


def test_landings_are_those_of_the_older_scheduler(
    landing_cluster: LandingCluster, tmp_path: Path
) -> None:
    landing_cluster.scheduler = read_scheduler(
        landing_cluster.connection, landing_cluster.plane.scheduler_url, verify=False
    )
    assert landing_cluster.scheduler.problem is None
    assert landing_cluster.scheduler.version == f"v{OLDER_SCHEDULER.version}"
    summary = LandingSummary()
    for decision in decisions(landing_cluster, SEEDS, EACH, tmp_path):
        summary.add(decision)
    sys.stderr.write("\n" + "\n".join(summary.lines()) + "\n")
    assert len(summary.decisions) >= 100
    assert not summary.missed(), f"see {tmp_path}"
