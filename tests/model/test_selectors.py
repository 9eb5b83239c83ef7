"""Label selectors."""

from rescheduler.kube.objects import LabelSelectorRequirement
from rescheduler.kube.selectors import satisfies
from tests.cases import every


@every(
    [
        ("8", True),
        ("+8", True),
        ("-8", False),
        ("07", True),
        ("7", True),
        ("6", False),
        ("1_0", False),
        (" 8", False),
        ("\u0668", False),
        ("9223372036854775807", True),
        ("9223372036854775808", False),
        ("x", False),
        ("9" * 5_000, False),
        ("-" + "0" * 5_000 + "7", False),
        ("0" * 5_000 + "7", True),
    ]
)
def test_a_label_is_compared_as_an_int64_or_not_at_all(value: str, greater: bool) -> None:
    requirement = LabelSelectorRequirement(key="size", operator="Gt", values=["6"])
    assert satisfies(requirement, {"size": value}) is greater


def test_a_number_that_is_too_long_compares_with_nothing() -> None:
    # The API server takes any text as the value of a preferred term.
    for operator in ("Gt", "Lt"):
        requirement = LabelSelectorRequirement(key="size", operator=operator, values=["9" * 5_000])
        assert not satisfies(requirement, {"size": "8"})
