"""Predicted landings against the decisions of the real kube-scheduler, score by score.

300 decisions; `make bench-landing` makes thousands.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.landing.arena import Arena
from tests.e2e.landing.campaign import decisions
from tests.e2e.landing.tally import DomainCounts

pytestmark = pytest.mark.e2e

# The last one is large enough for the scheduler to sample its nodes.
SEEDS = (1, 2, 3, 4, 5, 6, 7, 9, 8)
EACH = 36


@pytest.fixture
def arena() -> Iterator[Arena]:
    folder = Path(tempfile.mkdtemp(prefix="rescheduler-landing-"))
    made = Arena(folder)
    try:
        yield made
    finally:
        made.stop()
        shutil.rmtree(folder, ignore_errors=True)


def test_landings_are_those_of_the_real_scheduler(arena: Arena, tmp_path: Path) -> None:
    tally = DomainCounts()
    for decision in decisions(arena, SEEDS, EACH, tmp_path):
        tally.add(decision)
    sys.stderr.write("\n" + "\n".join(tally.lines()) + "\n")
    assert len(tally.decisions) >= 280
    assert len({each.verdict for each in tally.decisions}) > 1, "nothing was unschedulable"
    assert sum(each.scores for each in tally.decisions) > 10_000
    assert not tally.missed(), f"see {tmp_path}"
