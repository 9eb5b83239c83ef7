"""The section of one definition: a value of each node or pod, or of its devices, zones or links."""

import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, FloatArray
from rescheduler.policies.own_readings.definition import OwnReading, Series
from rescheduler.policies.shared.matching import select_nodes, select_pods
from rescheduler.sources.prometheus.devices.folding import by_subject
from rescheduler.sources.prometheus.expected_subjects import (
    amount,
    declared_speeds,
    devices_offered,
    offered_amounts,
    requested_amounts,
)
from rescheduler.sources.prometheus.http.http_api import Sample
from rescheduler.sources.prometheus.identity import Holder, device_values
from rescheduler.sources.prometheus.section import (
    Context,
    Folded,
    Labels,
    Section,
    is_complete,
    no_series,
    oldest,
    with_ages,
)
from rescheduler.sources.prometheus.series_values import SLACK, Key, Row, Value, show

_BURST = 0.1
"""Share of a link's speed by which extrapolation and bursts may pass it; more is a wrong speed."""


def select_subjects(own: OwnReading, context: Context) -> BoolArray:
    """(subjects,) whom the definition is about, whether they ought to have a value or not."""
    snapshot = context.cluster.snapshot
    size = len(snapshot.nodes if context.of_nodes else snapshot.pods)
    chosen = np.ones(size, dtype=np.bool_)
    if context.of_nodes and own.nodes is not None:
        chosen = select_nodes(own.nodes, snapshot)
    if not context.of_nodes and own.pods is not None:
        chosen = select_pods(own.pods, snapshot)
    if own.ownNetwork:
        chosen = chosen & context.cluster.expectation.own_network
    if own.resources or own.resourceWords:
        chosen = chosen & (count(own, context) > 0)
    return chosen


def count(own: OwnReading, context: Context) -> FloatArray:
    """(subjects,) how many devices each offers, or asks for."""
    of = offered_amounts if context.of_nodes else requested_amounts
    return of(context.cluster.snapshot, own.resources, own.resourceWords)


class PlainSection(Section):
    """What one definition says."""

    def __init__(self, own: OwnReading, context: Context) -> None:
        self.about = select_subjects(own, context)
        expectation = context.cluster.expectation
        wanted = self.about & (expectation.ready if context.of_nodes else expectation.running)
        if not context.of_nodes and own.rate:
            wanted &= context.cluster.snapshot.pod_age >= context.request.window
        super().__init__(own, context, wanted)

    def capacity(self) -> FloatArray | None:
        """(nodes,) what the nodes have of the resource that the definition names."""
        named = self.own.capacity.node if self.own.capacity else None
        if named is None or not self._context.of_nodes:
            return None
        array = np.array(
            [
                amount(node.status.capacity or node.status.allocatable, named)
                for node in self._context.cluster.snapshot.nodes
            ],
            np.float64,
        )
        return np.where(array > 0, array, np.nan)

    def cause(self, subject: int) -> str:
        """See Section."""
        del subject
        return no_series(self.own)

    def fold(self) -> Folded:
        """See Section."""
        own, context = self.own, self._context
        if not self.wanted.any() and not own.reported:
            return Folded({})
        holders: list[Holder] = []
        values, _ = self.merge_sources(
            [(own, source) for source in own.sources],
            lambda _own, source: self._measure_source(source, holders),
            lambda by_key: is_complete(by_key, self.wanted),
        )
        self.reject(own.rejectWhen, self._whole_key, values)
        if own.reported:
            self.wanted = self.wanted.copy()
            self.wanted[[key[0] for key in values if context.cluster.expectation.ready[key[0]]]] = (
                True
            )
        values = {key: value for key, value in values.items() if self.wanted[key[0]]}
        if not context.of_nodes:
            return Folded(dict(self._pods(values)))
        return self._nodes(values, holders)

    def _measure_source(self, source: Series, holders: list[Holder]) -> dict[Key, Value]:
        groups = self.groups(source, self._key)
        if source.unit not in (None, self.own.unit):
            groups = self._per_capacity(groups)
        holders += self._holders(groups)
        return self.trust(self.own.most).values(groups)

    def _per_capacity(self, groups: Mapping[Key, list[Row]]) -> dict[Key, list[Row]]:
        capacity = self.capacity()
        if capacity is None:
            return {}
        return {
            key: [row._replace(value=row.value / float(capacity[key[0]])) for row in rows]
            for key, rows in groups.items()
        }

    def _nodes(self, values: Mapping[Key, Value], holders: list[Holder]) -> Folded:
        own = self.own
        whole = self._capacities()
        node_values: dict[int, Value] = {}
        capacities: dict[int, float] = {}
        shares: dict[Key, Value] = {}
        for node, parts in by_subject(values).items():
            if not self._complete_parts(node, parts):
                continue
            room = {part: whole(node, part, len(parts)) for part in parts}
            parts_with_speed = (
                self._links_with_speed(node, parts, room) if self._has_speeds else parts
            )
            answer = self._node(node, parts_with_speed, room) if parts_with_speed else None
            if answer is None:
                continue
            node_values[node], capacity = answer
            if own.capacity is not None:
                capacities[node] = capacity
            for part, value in parts.items():
                shares[node, part] = Value(_share(own, value.value, room[part]), value.age)
        of_device = own.labels.device or (own.labels.link and not self._has_speeds)
        named = own.combine == "Largest" and of_device
        return Folded(
            node_values, capacities, tuple(device_values(shares, holders)) if named else ()
        )

    def _node(
        self, node: int, parts: Mapping[str, Value], room: Mapping[str, float]
    ) -> tuple[Value, float] | None:
        """The node's value, and how much 1.0 of it is."""
        own, problems = self.own, self._context.problems
        age, name = max(value.age for value in parts.values()), self.name_of(node)
        declared = own.capacity is not None and own.capacity.node is not None
        if not declared and not all(amount > 0 for amount in room.values()):
            problems.refuse(node, "nodes without a capacity", name)
            return None
        if own.combine == "Largest":
            share, capacity = max(
                (_share(own, value.value, room[part]), room[part]) for part, value in parts.items()
            )
        else:
            capacity = sum(room.values())
            total = sum(_share(own, value.value, room[part]) * room[part]
                        for part, value in parts.items())  # fmt: skip
            share = total / capacity if own.relative else total
        measured = own.capacity is not None and own.capacity.fixed is None
        if measured and share > 1 + (_BURST if self._has_speeds else SLACK):
            what = "traffic than the link can carry" if self._has_speeds else "than the capacity"
            problems.refuse(node, f"more {what}", f"{share:.0%} of {name}", "RDG006")
            return None
        return Value(min(share, 1.0) if measured else share, age), capacity

    @property
    def _has_speeds(self) -> bool:
        """Whether it is of links whose speed is measured."""
        own = self.own
        return bool(own.labels.link and own.capacity is not None and own.capacity.query)

    def _links_with_speed(
        self, node: int, rates: Mapping[str, Value], speeds: Mapping[str, float]
    ) -> dict[str, Value]:
        """The links whose speed is known; none where there is traffic on another one."""
        problems, name = self._context.problems, self.name_of(node)
        for link, rate in rates.items():
            if rate.value > 0 and not speeds[link] > 0:
                what = "traffic on a link that reports no speed, with no linkSpeed declared"
                problems.refuse(node, what, f"{link} of {name}")
                return {}
        links = {link: rate for link, rate in rates.items() if speeds[link] > 0}
        if not links and node not in problems.codes:
            what = "only links that report no speed, with no linkSpeed declared"
            problems.refuse(node, what, name)
        return links

    def _complete_parts(self, node: int, parts: Mapping[str, Value]) -> bool:
        """Whether every device that the node offers is there, and no other."""
        own, snapshot = self.own, self._context.cluster.snapshot
        if not own.resources or not own.labels.device:
            return True
        number = float(devices_offered(snapshot, own.resources)[node])
        if len(parts) == number or math.isnan(number):
            return True
        what, code = "nodes where devices have no fresh value", "RDG003"
        if len(parts) > number:
            what, code = "nodes with more devices than they offer", "RDG015"
        example = f"{len(parts)} of {number:g} on {self.name_of(node)}"
        self._context.problems.refuse(node, what, example, code)
        return False

    def _pods(self, values: Mapping[Key, Value]) -> Iterator[tuple[int, Value]]:
        """The sum over a pod's devices, if it has all that it requests and shares none."""
        own, problems = self.own, self._context.problems
        cluster = self._context.cluster
        pods, home = cluster.snapshot.pods, cluster.pod_node
        if not own.labels.part:
            yield from ((pod, value) for (pod, _), value in values.items())
            return
        by_device = bool(own.resources and own.labels.device)
        requests = count(own, self._context) if by_device else None
        holders: dict[tuple[int, str], set[int]] = {}
        for pod, device in values:
            holders.setdefault((home[pod], device), set()).add(pod)
        for pod, parts in by_subject(values).items():
            name = pods[pod].key
            if by_device and any(len(holders[home[pod], part]) > 1 for part in parts):
                problems.refuse(pod, "pods that share a device", name)
            elif requests is not None and len(parts) != requests[pod]:
                what = "pods with another number of devices than they request"
                problems.refuse(pod, what, f"{name}: {len(parts)} of {requests[pod]:g}")
            else:
                total = sum(value.value for value in parts.values())
                yield pod, Value(total, max(value.age for value in parts.values()))

    def _capacities(self) -> Callable[[int, str, int], float]:
        """How much 1.0 is of a part of a node that has so many; NaN where it is not known."""
        capacity = self.own.capacity
        if capacity is None:
            return lambda _node, _part, _parts: 1.0
        if capacity.query is not None and self._has_speeds:
            return self._speeds(self.undated_values(capacity.query, self._key, self.own.most))
        if capacity.query is not None:
            amounts = self.undated_values(capacity.query, self._key, 1e18)
            absent = Value(np.nan, np.nan)
            return lambda node, part, _parts: (
                (amounts.get((node, part)) or amounts.get((node, ""), absent)).value
            )
        if capacity.fixed is not None:
            fixed = capacity.fixed
            return lambda _node, _part, _parts: fixed
        allocatable = self.capacity()
        offers = count(self.own, self._context) if allocatable is None else allocatable
        return lambda node, _part, parts: float(offers[node]) / parts

    def _speeds(self, reported: Mapping[Key, Value]) -> Callable[[int, str, int], float]:
        """The speed of a link in bytes a second: as it is reported, else declared."""
        context = self._context
        declared = declared_speeds(context.request.links, context.cluster.snapshot)

        def speed(node: int, link: str, _links: int) -> float:
            value = reported.get((node, link))
            if value is not None and value.value > 0:
                return value.value
            # What contradicts itself is not replaced by what was declared for no speed.
            return math.nan if context.problems.is_contradicted(node) else float(declared[node])

        return speed

    def _key(self, labels: Labels) -> Key | None:
        """The node or pod, and the part of it, that a series is about."""
        problems, of = self._context.problems, self.own.labels
        subject, reason = self._subject(labels)
        if subject < 0:
            problems.note(reason, show(labels))
            return None
        part = labels.get(of.part, "") if of.part else ""
        if of.part and not part:
            problems.note(f"series without the {of.kind} label `{of.part}`", show(labels))
            return None
        return subject, part

    def _whole_key(self, labels: Labels) -> Key | None:
        subject = self._subject(labels)[0]
        return (subject, "") if subject >= 0 else None

    def _subject(self, labels: Labels) -> tuple[int, str]:
        """The node or pod, -1 where there is none, and why."""
        if self._context.of_nodes:
            return self._node_of(labels), "series that name no node of this cluster"
        identity, of = self._context.cluster.identity, self.own.labels
        if of.namespace is None or of.pod is None:
            pod = identity.pod(labels)
        else:
            there = self._node_of(labels) if of.node else -1
            pod = identity.named_pod(labels.get(of.namespace, ""), labels.get(of.pod, ""), there)
        return pod.number, f"series of {pod.reason}"

    def _node_of(self, labels: Labels) -> int:
        identity, label = self._context.cluster.identity, self.own.labels.node
        return (
            identity.node(labels) if label is None else identity.named_node(labels.get(label, ""))
        )

    def dated_by_key(
        self, groups: dict[Key, list[Row]], dated: list[Sample]
    ) -> dict[Key, list[Row]]:
        """Rows that no time has the labels of are as old as the oldest series of the same part.

        Where the freshness has no such part, that of the whole counts, and of a pod its node's.
        """
        undated = [key for key, rows in groups.items() if all(row.age is None for row in rows)]
        if not undated or not dated:
            return groups
        context, part, pod = self._context, self.own.labels.part, self.own.labels.pod or "pod"

        def of_node_alone(labels: Labels) -> bool:
            return not context.of_nodes and not (labels.get(pod) or labels.get("exported_pod"))

        def key_of(labels: Labels) -> Key | None:
            if not part or labels.get(part):
                return self._key(labels)
            return self._whole_key(labels)

        nodes = oldest(
            [sample for sample in dated if of_node_alone(sample.metric)],
            lambda labels: (self._node_of(labels), ""),
            max,
        )
        times = oldest(
            [sample for sample in dated if not of_node_alone(sample.metric)], key_of, min
        )
        home = context.cluster.pod_node
        for key in undated:
            time = times.get(key, times.get((key[0], "")))
            if time is None and not context.of_nodes and home[key[0]] >= 0:
                time = nodes.get((home[key[0]], ""))
            if time is not None:
                groups[key] = with_ages(groups[key], context.at - time)
        return groups

    def _holders(self, groups: Mapping[Key, list[Row]]) -> list[Holder]:
        """Which pods have the devices, where the definition names their labels."""
        of, cluster = self.own.labels, self._context.cluster
        if of.namespace is None or of.pod is None or not of.device or not self._context.of_nodes:
            return []
        return [
            Holder(key, key[1], pod)
            for key, rows in groups.items()
            for row in rows
            if row.age is not None
            for pod in (
                cluster.identity.named_pod(
                    row.labels.get(of.namespace, ""), row.labels.get(of.pod, ""), key[0]
                ).number,
            )
            if pod < 0 or not cluster.snapshot.on_own_node[pod]
        ]


def _share(own: OwnReading, value: float, capacity: float) -> float:
    """The value of a part as a share of its capacity, where it has one."""
    return value if own.unit == "ratio" or own.capacity is None else value / capacity
