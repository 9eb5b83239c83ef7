"""The devices behind a node's value, and which pods have them."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from rescheduler.model.readings import DeviceValue
from rescheduler.sources.prometheus.http_api import Sample
from rescheduler.sources.prometheus.measuring import FUTURE, Key, Value, number


class Holder(NamedTuple):
    """A device with its slot on the node, and the pod that has it by its series, or -1."""

    key: Key
    slot: str
    pod: int


def device_values(values: Mapping[Key, Value], holders: Iterable[Holder]) -> list[DeviceValue]:
    """All devices of the nodes of which one is above 0, in the order of their names."""
    nodes = {node for (node, _), value in values.items() if value.value > 0}
    indices: dict[Key, str] = {}
    pods: dict[Key, set[int]] = {}
    for each in holders:
        indices[each.key] = each.slot
        if each.pod >= 0:
            pods.setdefault(each.key, set()).add(each.pod)
    return [
        DeviceValue(
            key[0], key[1], value.value, indices.get(key, ""), tuple(sorted(pods.get(key, ())))
        )
        for key, value in sorted(values.items())
        if key[0] in nodes
    ]


def read_holders(
    samples: Iterable[Sample],
    holder_of: Callable[[Mapping[str, str]], Holder | None],
    at: float,
    max_age: float,
) -> list[Holder]:
    """The series' values of now; samples are the times of the newest ones."""
    return [
        holder
        for each in samples
        if -FUTURE <= at - number(each.value[1]) <= max_age
        and (holder := holder_of(each.metric)) is not None
    ]
