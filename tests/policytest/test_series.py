"""Series are written as in promtool's tests."""

import numpy as np
import pytest

from rescheduler.policytest.series_readings import samples
from tests.cases import every

NAN = float("nan")


@every(
    [
        ("0.5", [0.5]),
        ("50%", [0.5]),
        (3, [3.0]),
        (1e-12, [1e-12]),
        ("2e9+1e9x1", [2e9, 3e9]),
        (None, [NAN]),
        ("1 2 _ 4", [1, 2, NAN, 4]),
        ("0.2+0.1x3", [0.2, 0.3, 0.4, 0.5]),
        ("90%-20%x2", [0.9, 0.7, 0.5]),
        ("70%x2 _x1", [0.7, 0.7, 0.7, NAN, NAN]),
        ("-1", [-1.0]),
    ]
)
def test_a_series_is_read(text: str | float | None, expected: list[float]) -> None:
    assert np.allclose(samples(text), expected, equal_nan=True)


@every(
    [
        ("hot", "`hot` is not a sample"),
        ("1+1", "no count"),
        ("", "at least one"),
        ("1x9999 1x9999", "more than"),
        ("1 2 three", "`three`"),
        ("nan", "`nan`"),
    ]
)
def test_what_is_no_series_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        samples(text)
