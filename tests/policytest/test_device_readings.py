"""Readings of single devices in a policy test."""

from typing import Any

import pytest

from rescheduler.policytest.series_readings import with_devices
from tests.cases import every
from tests.picture import picture

ONE = "zone a | n1 gpu 2 | train train"
XID = {"node.gpu.xid": {"n1": 0}}


def test_a_node_reads_what_the_worst_of_its_devices_reads() -> None:
    reported: dict[str, Any] = {
        "node.gpu.xid": {"n1": {"GPU-a": [0, "train-1"], "GPU-b": [79, "train-0", "train-1"]}}
    }
    [reading] = with_devices(picture(ONE, readings=XID), reported).readings.entries
    assert reading.values.tolist() == [79]
    assert [(device.device, device.index, device.pods) for device in reading.devices] == [
        ("GPU-a", "0", (1,)),
        ("GPU-b", "1", (0, 1)),
    ]


@every(
    [
        ({"node.gpu.ecc": {}}, "devices.node.gpu.ecc: the policy test has no such reading"),
        ({"node.gpu.xid": {"n2": {}}}, "devices.node.gpu.xid.n2: there is no such node"),
        ({"node.gpu.xid": {"n1": {"a": []}}}, "n1.a: a value comes first"),
        ({"node.gpu.xid": {"n1": {"a": ["train-0"]}}}, "n1.a: a value comes first"),
        ({"node.gpu.xid": {"n1": {"a": [1, "web-0"]}}}, "n1.a: there is no pod `web-0`"),
    ]
)
def test_mistakes_are_named(reported: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        with_devices(picture(ONE, readings=XID), reported)
