"""Durations as Go writes them."""

from rescheduler.kube.go_durations import go_seconds
from tests.cases import every


@every(
    [
        ("1h30m", 5400.0),
        (".5s", 0.5),
        ("1.s", 1.0),
        ("-1h", None),
        ("1", None),
        ("", None),
        ("9" * 250_000, None),  # as long as an annotation may be
        ("1h" * 501, None),
    ]
)
def test_what_is_a_duration(text: str, seconds: float | None) -> None:
    assert go_seconds(text) == seconds
