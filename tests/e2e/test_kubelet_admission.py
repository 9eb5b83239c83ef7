"""Kubelet's own resource managers and the program judge the same random pods.

`make numa-kubelet` does it for 10,000.
"""

import pytest

from tests.e2e.controlplane.build import binaries
from tests.oracle.kubelet.__main__ import missed
from tests.oracle.kubelet.comparing import compare

pytestmark = pytest.mark.e2e


def test_whom_kubelet_refuses_the_program_sends_nowhere() -> None:
    comparison = compare(binaries()["kubelet-admission"], range(1, 501))
    assert comparison.told["refuses"] > 50
    assert comparison.told["admits"] > 300
    assert not missed(comparison), comparison.table()
