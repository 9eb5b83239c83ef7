"""Readings that operators define, put together as the built-in ones are.

A definition with `resources` is about the nodes that offer them and the pods that ask for them; for
all others the next definition of that name counts, and in the end the built-in reading.
"""

import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, FloatArray, ReadingRequest
from rescheduler.policies.own_readings.definition import OwnReading
from rescheduler.policies.shared.matching import select_nodes, select_pods
from rescheduler.sources.prometheus.assembly import Ask, Assembly
from rescheduler.sources.prometheus.catalog import CATALOG
from rescheduler.sources.prometheus.definition import Definition
from rescheduler.sources.prometheus.devices.folding import Found, by_subject
from rescheduler.sources.prometheus.expectation import asked_for, devices_offered, offered
from rescheduler.sources.prometheus.identity import Holder, device_values
from rescheduler.sources.prometheus.indexed_cluster import Cluster
from rescheduler.sources.prometheus.measuring import (
    SLACK,
    Key,
    Row,
    Value,
    group,
    number,
    resolve,
    show,
)

Labels = Mapping[str, str]


def assembly_of(request: ReadingRequest, cluster: Cluster, at: float, ask: Ask) -> Assembly:
    """The way to a reading that is built in or defined by an operator."""
    if request.own:
        return OwnAssembly(request, cluster, at, ask)
    return Assembly(request, CATALOG[request.name], cluster, at, ask)


class OwnAssembly(Assembly):
    """The way from a request to a reading that an operator defines."""

    def __init__(self, request: ReadingRequest, cluster: Cluster, at: float, ask: Ask) -> None:
        owns: tuple[OwnReading, ...] = request.own
        built_in = CATALOG.get(request.name)
        super().__init__(request, built_in or _shape(request, owns[0]), cluster, at, ask)
        rest = self._expected & (built_in is not None and all(each.resources for each in owns))
        self._offered: dict[tuple[str, ...], FloatArray] = {}
        self._own: list[tuple[OwnReading, BoolArray]] = []
        for own in owns:
            wanted = self._wanted(own)
            self._own.append((own, wanted))
            rest = rest & ~self._about(own)
        self._built_in = rest
        self._expected = rest.copy()
        for _, wanted in self._own:
            self._expected |= wanted

    def _fold(self) -> tuple[Found, dict[int, float] | None]:
        found: Found = {}
        measured: dict[int, float] = {}
        everything = self._expected
        if self._built_in.any():
            self._expected = self._built_in
            found, capacity = super()._fold()
            found = {node: value for node, value in found.items() if self._built_in[node]}
            measured = capacity or {}
            self._expected = everything
        for own, wanted in self._own:
            for subject, value in self._of(own, wanted, measured):
                found.setdefault(subject, value)
        of_nodes = self._request.subject == "node"
        return found, measured if of_nodes and measured else None

    def _about(self, own: OwnReading) -> BoolArray:
        """(subjects,) whom the definition is about, whether they ought to have a value or not."""
        snapshot, of_nodes = self._cluster.snapshot, self._request.subject == "node"
        if of_nodes:
            chosen = np.ones(len(snapshot.nodes), dtype=np.bool_)
            if own.nodes is not None:
                chosen = select_nodes(own.nodes, snapshot)
        else:
            chosen = np.ones(len(snapshot.pods), dtype=np.bool_)
            if own.pods is not None:
                chosen = select_pods(own.pods, snapshot)
        if not own.resources:
            return chosen
        answer: BoolArray = chosen & (self._count(own) > 0)
        return answer

    def _wanted(self, own: OwnReading) -> BoolArray:
        """(subjects,) who ought to have a value."""
        expectation = self._cluster.expectation
        if self._request.subject == "node":
            return self._about(own) & expectation.ready
        wanted = self._about(own) & expectation.running
        if own.rate:
            wanted &= self._cluster.snapshot.pod_age >= self._request.window
        return wanted

    def _count(self, own: OwnReading) -> FloatArray:
        """(subjects,) how many devices each offers, or asks for."""
        of_nodes = self._request.subject == "node"
        return (offered if of_nodes else asked_for)(self._cluster.snapshot, own.resources)

    def _devices(self, own: OwnReading) -> FloatArray:
        """(nodes,) how many devices each offers, NaN where nobody reports it."""
        key = tuple(own.resources)
        if key not in self._offered:
            self._offered[key] = devices_offered(self._cluster.snapshot, own.resources)
        return self._offered[key]

    def _of(
        self, own: OwnReading, wanted: BoolArray, measured: dict[int, float]
    ) -> Iterator[tuple[int, Value]]:
        """What one definition knows of those that it is about; capacities go to `measured`."""
        if not wanted.any():
            return
        key_of = self._key_of(own)
        groups = self._own_groups(own.value, key_of, self._ages_of(own, key_of))
        values = {
            key: value
            for key, value in resolve(
                groups,
                highest=own.most,
                max_age=self._request.max_age,
                problems=self._problems,
            ).items()
            if wanted[key[0]]
        }
        if self._request.subject == "pod":
            yield from self._pods(own, values)
            return
        whole = self._capacities(own, key_of)
        shares: dict[Key, Value] = {}
        for node, parts in by_subject(values).items():
            if not self._complete_parts(own, node, parts):
                continue
            room = {part: whole(node, part, len(parts)) for part in parts}
            answer = self._node(own, node, parts, room)
            if answer is None:
                continue
            value, capacity = answer
            if own.capacity is not None:
                measured[node] = capacity
            for part, each in parts.items():
                shares[node, part] = Value(_share(own, each.value, room[part]), each.age)
            yield node, value
        if own.combine == "Largest" and (own.labels.device or own.labels.link):
            self._parts += tuple(device_values(shares, self._holders(own, groups)))

    def _node(
        self, own: OwnReading, node: int, parts: Mapping[str, Value], room: Mapping[str, float]
    ) -> tuple[Value, float] | None:
        """The node's value, and how much 1.0 of it is."""
        age = max(each.age for each in parts.values())
        name = self._cluster.snapshot.nodes[node].metadata.name
        if not all(each > 0 for each in room.values()):
            self._problems.refuse(node, "RDG003", "nodes without a capacity", name)
            return None
        if own.combine == "Largest":
            part = max(parts, key=lambda each: _share(own, parts[each].value, room[each]))
            share, capacity = _share(own, parts[part].value, room[part]), room[part]
        else:
            capacity = sum(room.values())
            total = sum(_share(own, value.value, room[part]) * room[part]
                        for part, value in parts.items())  # fmt: skip
            share = total / capacity if _relative(own) else total
        measured = own.capacity is not None and own.capacity.fixed is None
        if measured and share > 1 + SLACK:
            self._problems.refuse(
                node, "RDG006", "more than the capacity", f"{share:.0%} of {name}"
            )
            return None
        return Value(min(share, 1.0) if measured else share, age), capacity

    def _complete_parts(self, own: OwnReading, node: int, parts: Mapping[str, Value]) -> bool:
        """Whether every device that the node offers is there, and no other."""
        if not own.resources or not own.labels.device:
            return True
        count = float(self._devices(own)[node])
        if len(parts) == count or math.isnan(count):
            return True
        fewer = len(parts) < count
        self._problems.refuse(
            node,
            "RDG003" if fewer else "RDG015",
            "nodes of which devices have no fresh value"
            if fewer
            else "nodes with more devices than they offer",
            f"{len(parts)} of {count:g} on {self._cluster.snapshot.nodes[node].metadata.name}",
        )
        return False

    def _pods(self, own: OwnReading, values: Mapping[Key, Value]) -> Iterator[tuple[int, Value]]:
        """The sum over a pod's devices, of which it has all that it asked for, and shares none."""
        pods, home = self._cluster.snapshot.pods, self._cluster.pod_node
        by_device = bool(own.resources and own.labels.device)
        asked = self._count(own) if by_device else None
        holders: dict[tuple[int, str], set[int]] = {}
        for pod, device in values:
            holders.setdefault((home[pod], device), set()).add(pod)
        for pod, parts in by_subject(values).items():
            name = pods[pod].key
            if by_device and any(len(holders[home[pod], part]) > 1 for part in parts):
                self._problems.refuse(pod, "RDG003", "pods that share a device", name)
            elif asked is not None and len(parts) != asked[pod]:
                self._problems.refuse(
                    pod,
                    "RDG003",
                    "pods with another number of devices than they asked for",
                    f"{name}: {len(parts)} of {asked[pod]:g}",
                )
            else:
                total = sum(each.value for each in parts.values())
                yield pod, Value(total, max(each.age for each in parts.values()))

    def _own_groups(
        self,
        template: str,
        key_of: Callable[[Labels], Key | None],
        age_of: Callable[[Key, Labels], float | None],
    ) -> dict[Key, list[Row]]:
        samples = self._ask(template).samples
        self._rows += len(samples)
        return group(samples, key_of, age_of, scale=1.0, weights=None)

    def _capacities(
        self, own: OwnReading, key_of: Callable[[Labels], Key | None]
    ) -> Callable[[int, str, int], float]:
        """How much 1.0 is of a part of a node that has so many; NaN where it is not known."""
        capacity = own.capacity
        if capacity is None:
            return lambda _node, _part, _parts: 1.0
        if capacity.query is not None:
            groups = self._own_groups(capacity.query, key_of, lambda _key, _labels: 0.0)
            found = resolve(
                groups, highest=1e18, max_age=self._request.max_age, problems=self._problems
            )
            absent = Value(np.nan, np.nan)
            return lambda node, part, _parts: (
                (found.get((node, part)) or found.get((node, ""), absent)).value
            )
        if capacity.fixed is not None:
            fixed = capacity.fixed
            return lambda _node, _part, _parts: fixed
        offers = self._count(own)
        return lambda node, _part, parts: float(offers[node]) / parts

    def _key_of(self, own: OwnReading) -> Callable[[Labels], Key | None]:
        """What finds the node or pod, and the part of it, that a series is about."""
        subject_of = self._node_of if self._request.subject == "node" else self._named_pod
        part_label, kind = own.labels.part, own.labels.kind

        def key_of(labels: Labels) -> Key | None:
            subject, reason = subject_of(own, labels)
            if subject < 0:
                self._problems.note(reason, show(labels))
                return None
            if part_label and not labels.get(part_label):
                self._problems.note(f"series without the {kind} label `{part_label}`", show(labels))
                return None
            return subject, labels.get(part_label, "") if part_label else ""

        return key_of

    def _node_of(self, own: OwnReading, labels: Labels) -> tuple[int, str]:
        identity, label = self._cluster.identity, own.labels.node
        node = identity.node(labels) if label is None else identity.named(labels.get(label, ""))
        return node, "series that name no node of this cluster"

    def _named_pod(self, own: OwnReading, labels: Labels) -> tuple[int, str]:
        identity, of = self._cluster.identity, own.labels
        if of.namespace is None or of.pod is None:
            found = identity.pod(labels)
        else:
            there = self._node_of(own, labels)[0] if of.node else -1
            found = identity.named_pod(labels.get(of.namespace, ""), labels.get(of.pod, ""), there)
        return found.number, f"series of {found.reason}"

    def _ages_of(
        self, own: OwnReading, key_of: Callable[[Labels], Key | None]
    ) -> Callable[[Key, Labels], float | None]:
        """What gives the age of a row: the oldest of the series that the same part has now.

        Where the freshness has no such part, that of the whole counts, and of a pod its node's.
        """
        samples = self._ask(own.dated).samples
        self._rows += len(samples)
        oldest: dict[Key, float] = {}
        of_node: dict[int, float] = {}
        of_pods = self._request.subject == "pod"
        pod_label = own.labels.pod or "pod"
        for each in samples:
            time = number(each.value[1])
            if of_pods and not (each.metric.get(pod_label) or each.metric.get("exported_pod")):
                node = self._node_of(own, each.metric)[0]
                of_node[node] = min(of_node.get(node, time), time)
                continue
            labels = each.metric
            part = own.labels.part
            key = key_of(labels) if not part or labels.get(part) else self._whole(own, labels)
            if key is not None:
                oldest[key] = min(oldest.get(key, time), time)
        at, home = self._at, self._cluster.pod_node

        def age_of(key: Key, _labels: Labels) -> float | None:
            time = oldest.get(key, oldest.get((key[0], "")))
            if time is None and of_pods and home[key[0]] >= 0:
                time = of_node.get(home[key[0]])
            return None if time is None else at - time

        return age_of

    def _whole(self, own: OwnReading, labels: Labels) -> Key | None:
        of = self._node_of if self._request.subject == "node" else self._named_pod
        subject = of(own, labels)[0]
        return (subject, "") if subject >= 0 else None

    def _holders(self, own: OwnReading, groups: Mapping[Key, list[Row]]) -> list[Holder]:
        """Which pods have the devices, where the definition names their labels."""
        of = own.labels
        if of.namespace is None or of.pod is None or not of.device:
            return []
        identity = self._cluster.identity
        return [
            Holder(key, key[1], pod)
            for key, rows in groups.items()
            for row in rows
            if row.age is not None
            for pod in (
                identity.named_pod(
                    row.labels.get(of.namespace, ""), row.labels.get(of.pod, ""), key[0]
                ).number,
            )
            if pod < 0 or not self._cluster.snapshot.on_own_node[pod]
        ]


def _relative(own: OwnReading) -> bool:
    """Whether the node's value is a share of what it can be."""
    return own.unit == "ratio" or own.capacity is not None


def _share(own: OwnReading, value: float, capacity: float) -> float:
    """The value of a part as a share of its capacity, where it has one."""
    return value if own.unit == "ratio" or own.capacity is None else value / capacity


def _shape(request: ReadingRequest, own: OwnReading) -> Definition:
    """What a new reading has of a definition in the catalogue."""
    unit = "ratio" if request.subject == "node" and _relative(own) else own.unit
    return Definition(request.name, unit, own.most, "single", ())
