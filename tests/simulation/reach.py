"""What a storm must meet often enough, or that no promise broke in it would say little."""

from collections import Counter

from tests.simulation.faults import FAULTS

OFTEN = (
    "evicted",
    "unknown but done",
    "eviction 409",
    "eviction 429",
    "killed",
    "takeover",
    "tainted",
    "second instance",
    "clock step",
    "GRD001",
    "GRD002",
    "GRD003",
    "GRD005",
    "GRD006",
    "GRD007",
    "ACT001",
    "ACT011",
    "ACT012",
    "ACT013",
    "ACT015",
    "ACT016",
)
# A gang that waits does so for many cycles of few runs, so that their number scatters widely.
_OF_KUEUE = {"gang stopped": 30, "stopped gang waits": 5, "admission refused": 150} | {
    f"Workload: {action}": 8 for action in ("touch", "preempt", "deactivate", "delete")
}
LEAST = (
    dict.fromkeys(FAULTS, 5)
    | {"ACT014": 15, "a taint outlived its cycle": 3}
    | dict.fromkeys(OFTEN, 50)
    | _OF_KUEUE
)
"""How often each comes in 10,000 cycles at least, on average."""


def too_seldom(reached: Counter[str]) -> list[str]:
    """What came less often than it must, by more than two standard deviations of a rare event."""
    least = {event: least * reached["cycles"] / 10_000 for event, least in LEAST.items()}
    return [
        f"{event}: {reached[event]} times in {reached['cycles']} cycles"
        for event, count in least.items()
        if reached[event] < count - 2 * count**0.5
    ]
