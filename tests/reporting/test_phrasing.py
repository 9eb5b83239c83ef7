from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from rescheduler.model.moves.plan import OwnerRef, PodRef
from rescheduler.reporting import phrasing
from tests.cases import every


@every(
    [
        (0, "0.00"),
        (-0.0, "0.00"),
        (0.004, "<0.01"),
        (-0.001, ">-0.01"),
        (0.4, "0.40"),
        (9.994, "9.99"),
        (9.996, "10.0"),
        (999.94, "999.9"),
        (999.96, "1,000"),
        (1234567.8, "1,234,568"),
        (-6.2, "-6.20"),
    ]
)
def test_amounts(value: float, text: str) -> None:
    assert phrasing.amount(value) == text


@every(
    [
        (0, 0, "0 %"),
        (1, 0, "100 %"),
        (0.004, 0, "<1 %"),
        (0.9996, 0, ">99 %"),
        (0.992, 1, "99.2 %"),
        (0.99996, 1, ">99.9 %"),
        (1.0, 1, "100 %"),
        (0.1, 1, "10 %"),
        (1.2, 0, "120 %"),
    ]
)
def test_percents(ratio: float, digits: int, text: str) -> None:
    assert phrasing.percent(ratio, digits) == text


@every([(None, "unknown"), (0, "0 s"), (38.2, "38 s"), (180, "180 s"), (600, "10 min"),
     (7200, "2 h"), (172_800, "2 d")])  # fmt: skip
def test_ages(seconds: float | None, text: str) -> None:
    assert phrasing.age(seconds) == text


@every([(18, 4, "-78 %"), (4, 4, "0 %"), (0, 3, "new"), (2, 3, "+50 %"), (1000, 1000.1, "+<1 %")])
def test_changes(before: float, after: float, text: str) -> None:
    assert phrasing.change(before, after) == text


@every(
    [
        (0.95, "ratio", "95 %"),
        (3.5, "cores", "3.50 cores"),
        (512, "bytes", "512 B"),
        (3 * 2**30, "bytes", "3.00 GiB"),
        (412e6, "bytes/s", "412.0 MB/s"),
        (1e30, "bytes/s", "1,000,000,000,000,000,000 TB/s"),
        (2.0, "", "2.00"),
    ]
)
def test_quantities(value: float, unit: str, text: str) -> None:
    assert phrasing.quantity(value, unit) == text


def test_times_are_utc() -> None:
    east = datetime(2026, 11, 22, 1, 30, tzinfo=timezone(timedelta(hours=2)))
    assert phrasing.stamp(east) == "2026-11-21 23:30:00 UTC"
    assert phrasing.clock(east, datetime(2026, 11, 21, 1, tzinfo=UTC)) == "23:30 UTC"
    assert phrasing.clock(east, datetime(2026, 11, 22, 1, tzinfo=UTC)) == "2026-11-21 23:30 UTC"


@given(st.text(), st.integers(0, 40))
def test_names_are_cut_in_the_middle(text: str, width: int) -> None:
    short = phrasing.shorten(text, width)
    assert len(short) == min(len(text), width)
    if len(text) > width > 2:
        head, tail = short.split(phrasing.ELLIPSIS)[0], short.rsplit(phrasing.ELLIPSIS)[-1]
        assert text.startswith(head)
        assert text.endswith(tail)


def test_pods_are_their_workload_and_their_suffix() -> None:
    pod = PodRef(namespace="web", name="cart-6d9f8c7b5d-xk2p9", uid="u")
    owner = OwnerRef(kind="Deployment", name="cart", uid="o")
    assert phrasing.pod_name(pod) == "web/cart-6d9f8c7b5d-xk2p9"
    assert phrasing.pod_name(pod, owner, 20) == "web/cart-\N{HORIZONTAL ELLIPSIS}xk2p9"
    assert len(phrasing.pod_name(pod, owner, 10)) == 10


def test_readings_are_named_as_people_say_them() -> None:
    assert phrasing.resource("node.gpu.memory") == "GPU memory"
    assert phrasing.resource("pod.network.receive") == "network receive"
    assert phrasing.resource("my.own") == "my own"
