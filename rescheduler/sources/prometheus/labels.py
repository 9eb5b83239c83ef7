"""Labels of series that come again at every instant of a range: what they mean is read once."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

_Found = TypeVar("_Found")


class Labels(dict[str, str]):
    """The labels of one series, with what was worked out of them.

    series: what tells it from others. known: by name, what follows from them and the snapshot.
    """

    __slots__ = ("known", "series")

    def __init__(self, labels: Mapping[str, str]) -> None:
        super().__init__(labels)
        self.series = frozenset(labels.items())
        self.known: dict[str, Any] = {}


def read_once(
    labels: Mapping[str, str], name: str, find: Callable[[Mapping[str, str]], _Found]
) -> _Found:
    """What `find` makes of the labels, looked up once where they are kept."""
    if not isinstance(labels, Labels):
        return find(labels)
    result: _Found | None = labels.known.get(name)
    if result is None:
        labels.known[name] = result = find(labels)
    return result


class SeenLabels:
    """One object for the same labels, whichever answer of a range they are in."""

    def __init__(self) -> None:
        self._seen: dict[frozenset[tuple[str, str]], Labels] = {}

    def first_labels(self, labels: Mapping[str, str]) -> Labels:
        """The labels as they were seen first."""
        if isinstance(labels, Labels):
            return labels
        made = Labels(labels)
        return self._seen.setdefault(made.series, made)
