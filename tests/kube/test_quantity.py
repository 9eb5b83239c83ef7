"""Quantities are read exactly, in every spelling that Kubernetes knows."""

import pytest

from rescheduler.kube.quantity import NANO, milli, nanos, scheduler_amount, units

_DECIMAL = {"": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


@pytest.mark.parametrize("suffix", _DECIMAL)
def test_decimal_suffixes(suffix: str) -> None:
    assert nanos(f"7{suffix}") == 7 * 10 ** _DECIMAL[suffix] * NANO


@pytest.mark.parametrize("suffix", _BINARY)
def test_binary_suffixes(suffix: str) -> None:
    assert nanos(f"3{suffix}") == 3 * 2 ** _BINARY[suffix] * NANO


@pytest.mark.parametrize(("text", "expected"), [("5n", 5), ("5u", 5_000), ("5m", 5_000_000)])
def test_small_suffixes(text: str, expected: int) -> None:
    assert nanos(text) == expected


def test_exponents_and_fractions() -> None:
    assert units("2e3") == units("2E3") == 2000
    assert milli("0.1") == 100
    assert milli(1.5) == 1500


def test_what_kubelet_reports_of_its_memory() -> None:
    assert scheduler_amount("memory", "32886500Ki") == 32886500 * 1024


def test_a_remainder_is_rounded_up() -> None:
    assert milli("1u") == 1
    assert units("1m") == 1
    assert nanos("0.5n") == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Ki",
        "K",
        "1K",
        "1ki",
        "one",
        "NaN",
        "1Kii",
        "1_000",
        "\uff11\uff12\uff13",
        "\u0663Gi",
        "inf",
        "1e999999999999999999999",
        "x" * 10**6,
        "9" * 10**6 + "x",
    ],
)
def test_what_is_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="is not a Kubernetes quantity"):
        nanos(text)


def test_what_is_very_long_is_shown_by_its_beginning() -> None:
    with pytest.raises(ValueError, match="is not a Kubernetes quantity") as caught:
        nanos("x" * 10**6)
    assert len(str(caught.value)) < 120
