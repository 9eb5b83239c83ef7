"""Our terms say of published instances what is published of them."""

import os
from pathlib import Path

import pytest

from rescheduler.policies.fragmentation.term import FragmentationTerm
from rescheduler.policies.locality.term import LocalityTerm
from tests.bench.published import FOLDER, m3, m3_policy, openb, openb_policy, openb_rows

pytestmark = pytest.mark.skipif(FOLDER not in os.environ, reason=f"{FOLDER} names no folder")


def folder() -> Path:
    return Path(os.environ[FOLDER])


def test_gained_affinity_of_m3_as_it_was_placed() -> None:
    term = m3_policy().compile(m3(folder()))

    assert isinstance(term, LocalityTerm)
    assert 1 - term.cost() / term.worst() == pytest.approx(0.0700, abs=0.0001)


@pytest.mark.parametrize(("pods", "share"), [("default", 0.1389), ("cpu050", 0.0564)])
def test_fragmentation_of_the_empty_openb_cluster(pods: str, share: float) -> None:
    term = openb_policy().compile(openb(*openb_rows(folder(), pods), {}))

    assert isinstance(term, FragmentationTerm)
    assert term.stranded_amounts()["gpu"] / 6212 == pytest.approx(share, abs=0.0001)
    assert term.cost() / term.worst() == pytest.approx(share, abs=0.0001)
