"""Labels of series that come again at every instant of a range: what they mean is read once."""

from collections.abc import Mapping
from typing import Any


class Labels(dict[str, str]):
    """The labels of one series, with what was worked out of them.

    series: what tells it from others. Whoever works out something keeps it in `known` by a name of
    its own; it must follow from the labels and the snapshot alone.
    """

    __slots__ = ("known", "series")

    def __init__(self, labels: Mapping[str, str]) -> None:
        super().__init__(labels)
        self.series = frozenset(labels.items())
        self.known: dict[str, Any] = {}


class SeenLabels:
    """One object for the same labels, whichever answer of a range they are in."""

    def __init__(self) -> None:
        self._seen: dict[frozenset[tuple[str, str]], Labels] = {}

    def of(self, labels: Mapping[str, str]) -> Labels:
        """The labels as they were seen first."""
        made = Labels(labels)
        return self._seen.setdefault(made.series, made)
