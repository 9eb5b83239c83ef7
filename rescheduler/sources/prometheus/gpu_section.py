"""The section of all GPUs: the load of each, of any maker, and the pods that have it."""

from collections.abc import Mapping, Sequence

import numpy as np

from rescheduler.model.cluster.readings import BoolArray, DeviceValue, FloatArray
from rescheduler.policies.own_readings.definition import OwnReading, Series, WholeOnly
from rescheduler.sources.prometheus.catalog import holders_of
from rescheduler.sources.prometheus.devices import folding
from rescheduler.sources.prometheus.devices.gpu_devices import (
    DEVICE,
    STRANGER,
    DeviceLoad,
    device_loads,
    device_of,
    shared_device,
    slot_of,
    with_parts,
)
from rescheduler.sources.prometheus.http.http_api import Sample
from rescheduler.sources.prometheus.identity import Holder, PodFound, device_values, workload_of
from rescheduler.sources.prometheus.labels import read_once
from rescheduler.sources.prometheus.section import (
    Context,
    Folded,
    Labels,
    Section,
    Source,
    is_complete,
    metric_of,
    no_series,
)
from rescheduler.sources.prometheus.series_values import (
    FUTURE,
    Key,
    ReadingProblems,
    Row,
    Value,
    going_on,
    number,
    show,
)

_NOT_KNOWN = ("", "na", "n/a", "none")
"""What exporters write for a label whose value the driver does not report."""


class GpuSection(Section):
    """The definitions of all makers together, since a node may have GPUs of several."""

    def __init__(self, definitions: Sequence[OwnReading], context: Context) -> None:
        expectation = context.cluster.expectation
        makers = {
            definition.devices for definition in definitions if definition.devices is not None
        }
        if context.of_nodes:
            wanted: BoolArray = expectation.ready & expectation.of_makers(makers)
        else:
            wanted = expectation.running & (expectation.pod_gpus > 0)
        super().__init__(definitions[0], context, wanted)
        self._definitions = definitions
        self.unowned: list[Labels] = []
        # Problems are noted per node first, also in readings of pods: see `fold`.
        self._problems = context.problems if context.of_nodes else ReadingProblems()

    def capacity(self) -> FloatArray | None:
        """(nodes,) how many GPUs pods can have there."""
        if self.own.capacity is None or not self._context.of_nodes:
            return None
        gpus = self._context.cluster.expectation.gpus
        return np.where(gpus > 0, gpus, np.nan)

    def cause(self, subject: int) -> str:
        """See Section."""
        cluster = self._context.cluster
        node = subject if self._context.of_nodes else cluster.pod_node[subject]
        has = [
            definition
            for definition in self._definitions
            if definition.devices in cluster.expectation.makers[node]
        ]
        return "; ".join(map(no_series, has))

    def fold(self) -> Folded:
        """See Section. The reading also has the devices of nodes where pods may share GPUs."""
        if not self.wanted.any():
            return Folded({})
        context = self._context
        problems, expectation = context.problems, context.cluster.expectation
        if context.of_nodes and self.own.combine == "Largest":
            return self._worst()
        loads = self._loads()
        if not context.of_nodes:
            problems.adopt(self._problems, dict(enumerate(context.cluster.pod_node)))
            return Folded(self._pods(loads))
        if self.own.free is not None:
            loads = self._with_room(loads)
        values, capacity = folding.gpu_nodes(loads, expectation, problems)
        shared = tuple(
            shared_device(key, load)
            for key, load in sorted(loads.items())
            if load.size > 0 and expectation.sharing[key[0]] and key[0] in values
        )
        return Folded(values, capacity, shared)

    def _with_room(self, loads: Mapping[Key, DeviceLoad]) -> dict[Key, DeviceLoad]:
        """The used memory of devices that also report free memory."""
        free: dict[Key, Value] = {}
        for reading in self._present_definitions():
            if reading.free is not None:
                free |= self._measure_source(reading, reading.free)
        return {
            key: load._replace(size=load.value + free[key].value) if load.size > 0 else load
            for key, load in loads.items()
            if key in free
        }

    def _worst(self) -> Folded:
        gpus = self._context.cluster.expectation.gpus
        rows, _ = self.merge_sources(
            self._sources(), self._measure_source, lambda by_key: is_complete(by_key, gpus)
        )
        rules = [rule for reading in self._present_definitions() for rule in reading.rejectWhen]
        self.reject(rules, self._key, rows)
        values = folding.worst(rows, gpus, self._context.problems)
        return Folded(values, {}, self._by_device(rows))

    def _pods(self, loads: Mapping[Key, DeviceLoad]) -> folding.Found:
        context = self._context
        pods = context.cluster.snapshot.pods
        pod_loads, unreported = folding.pod_gpus(
            loads,
            context.cluster.expectation,
            context.cluster.pod_node,
            context.problems,
            pods,
        )
        self.wanted = self.wanted.copy()
        self.wanted[unreported] = False
        self._leave_out_unreported(loads)
        if unreported:
            text = "RDG012: pods that share GPUs, and no exporter reports who has which"
            context.problems.note(text, pods[unreported[0]].key, len(unreported))
        return pod_loads

    def _leave_out_unreported(self, loads: Mapping[Key, DeviceLoad]) -> None:
        """Expect no values for pods whose exporter reports no pods."""
        cluster = self._context.cluster
        home, makers = cluster.pod_node, cluster.expectation.makers
        for own in self._definitions:
            of = own.devices
            if not own.podsNotReported or any(
                load.used and of in makers[node] for (node, _), load in loads.items()
            ):
                continue
            such = [
                pod for pod in np.flatnonzero(self.wanted).tolist() if makers[home[pod]] == {of}
            ]
            if such:
                self.wanted[such] = False
                text = f"RDG012: pods with GPUs of {of}, whose exporter does not report pods"
                self._context.problems.note(text, cluster.snapshot.pods[such[0]].key, len(such))

    def _loads(self) -> dict[Key, DeviceLoad]:
        """Each device by the preferred source, completed by the next where it has none."""
        gpus = self._context.cluster.expectation.gpus

        def is_enough(loads: dict[Key, DeviceLoad]) -> bool:
            reported = all(load.reported for load in loads.values() if load.used)
            return reported and is_complete(loads, gpus)

        loads, origin = self.merge_sources(self._sources(), self._loads_of, is_enough, with_parts)
        for reading in self._present_definitions():
            self.reject(reading.rejectWhen, self._key, loads)
        if not self._context.past:
            self._note_mixed(origin)
        of_whole = self._context.of_nodes and self.own.free is None
        for key in [key for key in loads if "/" in key[1]]:
            part = folding.part_of(key[1])
            scales = of_whole or self.own.unit == "GPUs"
            loads[key] = (loads[key].scale_by(part) if scales else loads[key])._replace(size=part)
        return loads

    def _loads_of(self, own: OwnReading, source: Series) -> dict[Key, DeviceLoad]:
        groups = self._of_maker(own, self.groups(source, self._key))
        return device_loads(groups, self._pod_of, self.trust(self.own.most))

    def _sources(self) -> list[Source]:
        """All ways to the reading, of the makers whose devices are there."""
        return [
            (reading, source)
            for reading in self._present_definitions()
            for source in reading.sources
        ]

    def _note_mixed(self, origin: Mapping[Key, Series]) -> None:
        """Say so where a node's GPUs are reported by different series."""
        of_node: dict[int, set[str]] = {}
        for key, source in origin.items():
            of_node.setdefault(key[0], set()).add(metric_of(source))
        for node, metrics in of_node.items():
            if len(metrics) > 1:
                what = f"nodes whose GPUs are reported by {' and '.join(sorted(metrics))}"
                self._context.problems.note(what, self.name_of(node))

    def _present_definitions(self) -> list[OwnReading]:
        """The definitions of makers with devices on a node that counts."""
        makers = self._context.cluster.expectation.makers
        return [
            definition
            for definition in self._definitions
            if any(definition.devices in node_makers for node_makers in makers)
        ]

    def _of_maker(self, own: OwnReading, groups: dict[Key, list[Row]]) -> dict[Key, list[Row]]:
        """The rows of nodes with devices of that maker."""
        makers = self._context.cluster.expectation.makers
        own_groups = {key: rows for key, rows in groups.items() if own.devices in makers[key[0]]}
        if own.wholeOnly is not None:
            self._without_partitions(own.wholeOnly, own_groups)
        return own_groups

    def _without_partitions(self, only: WholeOnly, groups: dict[Key, list[Row]]) -> None:
        """Leave out nodes where only whole GPUs report a load, although they are partitioned."""
        whole = (*_NOT_KNOWN, only.value)
        labels = {
            key[0]: rows[0].labels
            for key, rows in groups.items()
            if rows[0].labels.get(only.label, "").lower() not in whole
        }
        for node, such in labels.items():
            what = "nodes with GPUs in partitions, which have no load of their own"
            self._problems.refuse(node, what, f"{self.name_of(node)}: {such[only.label]}")
        for key in [key for key in groups if key[0] in labels]:
            del groups[key]

    def _measure_source(self, _own: OwnReading, source: Series) -> dict[Key, Value]:
        return self.trust(self.own.most).values(self.groups(source, self._key))

    def name_of(self, subject: int) -> str:
        """The name of the node; see Section."""
        return self._context.cluster.snapshot.nodes[subject].metadata.name

    def going_on(self, samples: list[Sample]) -> list[Sample]:
        """The times of series that have not ended."""
        return going_on(samples, device_of)

    def _key(self, labels: Labels) -> Key | None:
        key = read_once(labels, "key", self._find_key)
        if key[0] < 0:
            self._context.problems.note("series that name no node of this cluster", show(labels))
            return None
        return key

    def _find_key(self, labels: Labels) -> Key:
        return self._context.cluster.identity.node(labels), device_of(labels)

    def _pod_of(self, labels: Mapping[str, str]) -> int:
        """The pod that has the device by its series; DEVICE: none, STRANGER: one that is gone."""
        owner = read_once(labels, "owner", self._find_owner)
        if owner.number == STRANGER:
            self._context.problems.note(f"series of {owner.reason}", show(labels))
        elif owner.number == DEVICE:
            self.unowned.append(labels)
        return owner.number

    def _find_owner(self, labels: Labels) -> PodFound:
        owner = self._context.cluster.identity.pod(labels)
        if workload_of(labels)[1]:
            return owner if owner.number >= 0 else owner._replace(number=STRANGER)
        # Without such labels of its own the row carries the exporter's pod, or honors the labels.
        if owner.number >= 0 and self._may_hold(owner.number, labels):
            return owner
        return PodFound(DEVICE)

    def _by_device(self, rows: Mapping[Key, Value]) -> tuple[DeviceValue, ...]:
        """What is behind the values of the nodes that are not at 0."""
        context = self._context
        observed = {key: value for key, value in rows.items() if self.wanted[key[0]]}
        if not any(value.value > 0 for value in observed.values()):
            return ()
        query = holders_of(self._definitions)
        samples = self.going_on(context.send(query).samples) if query else []
        ages = ((sample.metric, context.at - number(sample.value[1])) for sample in samples)
        fresh = [labels for labels, age in ages if -FUTURE <= age <= context.request.max_age]
        holders = [holder for labels in fresh if (holder := self._holder(labels)) is not None]
        return tuple(device_values(observed, holders))

    def _holder(self, labels: Mapping[str, str]) -> Holder | None:
        identity = self._context.cluster.identity
        node = identity.node(labels)
        if node < 0:
            return None
        pod = identity.pod(labels).number
        holds = pod >= 0 and self._may_hold(pod, labels)
        return Holder((node, device_of(labels)), slot_of(labels), pod if holds else -1)

    def _may_hold(self, pod: int, labels: Mapping[str, str]) -> bool:
        """Whether the pod is not the exporter's own, which an idle device carries."""
        cluster = self._context.cluster
        own = not workload_of(labels)[1] and cluster.snapshot.on_own_node[pod]
        return not own and cluster.expectation.may_have_gpus(pod)
