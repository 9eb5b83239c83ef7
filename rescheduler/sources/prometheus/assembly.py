"""One reading, put together from a source's answers."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping

import numpy as np

from rescheduler.model.cluster.readings import (
    BoolArray,
    DeviceValue,
    FloatArray,
    Reading,
    ReadingRequest,
)
from rescheduler.model.problem import Problem
from rescheduler.policies.shared.unmeasured import left_out
from rescheduler.sources.prometheus.definition import Definition, Source
from rescheduler.sources.prometheus.devices import folding
from rescheduler.sources.prometheus.devices.gpu_devices import (
    DEVICE,
    STRANGER,
    DeviceLoad,
    completed,
    device_loads,
    device_of,
    shared_device,
    slot_of,
)
from rescheduler.sources.prometheus.expectation import declared_speeds
from rescheduler.sources.prometheus.http.http_api import Vector
from rescheduler.sources.prometheus.identity import (
    Holder,
    device_values,
    read_holders,
    workload_of,
)
from rescheduler.sources.prometheus.indexed_cluster import Cluster
from rescheduler.sources.prometheus.measuring import (
    Key,
    ReadingProblems,
    Row,
    Value,
    by_series,
    going_on,
    group,
    identify,
    number,
    resolve,
    show,
)

Ask = Callable[[str], Vector]
"""Sends a template of the catalogue and answers with its vector."""


class Assembly:
    """The way from one request to its reading.

    at: the evaluation time. ask: see Ask; it raises MetricsUnavailable, which passes through.
    """

    def __init__(
        self,
        request: ReadingRequest,
        definition: Definition,
        cluster: Cluster,
        at: float,
        ask: Ask,
    ) -> None:
        self._request = request
        self._definition = definition
        self._cluster = cluster
        self._at = at
        self._ask = ask
        self._problems = ReadingProblems()
        self._rows = 0
        self._parts: tuple[DeviceValue, ...] = ()
        self._unowned: list[Mapping[str, str]] = []
        self._expected = cluster.expectation.expected(definition, request.window)

    def reading(self, query: str, warnings: Collection[str], clock: str) -> Reading:
        """Ask, resolve, fold and evaluate.

        query: the text to show. warnings: filled while asking. clock: a note, or "".
        """
        size = len(self._expected)
        values, ages = np.full(size, np.nan), np.full(size, np.nan)
        capacity = self._cluster.expectation.capacity(self._definition)
        if self._expected.any():
            found, measured = self._fold()
            for subject, value in found.items():
                if self._expected[subject]:
                    values[subject], ages[subject] = value
            if measured is not None:
                capacity = np.full(size, np.nan) if capacity is None else capacity
                capacity[list(measured)] = list(measured.values())
        if query and self._request.subject == "node":
            count, such = left_out(self._cluster.snapshot, self._request.name, self._expected)
            if count:
                self._problems.note("nodes with devices of which nothing is measured", such, count)
        if clock:
            self._problems.note(clock)
        problem = self._unfit(warnings)
        short = None if problem is not None else self._short(values)
        return Reading(
            request=self._request,
            unit=self._definition.unit,
            values=values,
            ages=ages,
            expected=self._expected,
            capacity=capacity,
            query=query,
            notes=self._problems.notes(),
            problem=problem or short,
            thin=short is not None,
            devices=self._parts,
        )

    def _unfit(self, warnings: Collection[str]) -> Problem | None:
        """Why no value of the reading can be relied on, or None."""
        if warnings:
            return Problem("RDG002", f"the source warns: {'; '.join(warnings)}")
        wanted = int(self._expected.sum())
        if wanted and not self._rows:
            text = f"0 of {wanted} {self._request.subject}s have a value"
            return Problem("RDG009", f"{text}: the source has no series of {self._request.name}")
        return None

    def _short(self, values: FloatArray) -> Problem | None:
        """That too few of all subjects have a value, or None."""
        absent = np.flatnonzero(self._expected & np.isnan(values))
        wanted = int(self._expected.sum())
        if not wanted or (wanted - len(absent)) / wanted >= self._request.min_coverage:
            return None
        have = f"{wanted - len(absent)} of {wanted} {self._request.subject}s have a value"
        if self._unowned and self._request.subject == "pod":
            what = "series of devices that name no pod with GPUs"
            self._problems.note(what, show(self._unowned[0]), len(self._unowned))
        codes = Counter(self._problems.codes.get(int(each), "RDG003") for each in absent)
        code = max(codes, key=lambda each: (codes[each], each))
        why = "; ".join(self._problems.notes())
        return Problem(code, f"{have}, wanted are {self._request.min_coverage:.0%}. {why}".strip())

    def _fold(self) -> tuple[folding.Found, dict[int, float] | None]:
        definition, problems = self._definition, self._problems
        snapshot = self._cluster.snapshot
        if definition.fold in ("gpu", "gpu-memory", "pod-gpu"):
            return self._fold_gpus()
        rows = self._from_sources()
        match definition.fold:
            case "worst":
                gpus = self._cluster.expectation.gpus * (definition.only == "gpu")
                found = folding.worst(rows, gpus, problems)
                self._parts = self._by_device(rows)
                return found, None
            case "link":
                beside: dict[Key, Value] = {}
                for source in definition.beside:
                    beside |= self._measure(source)
                names = [node.metadata.name for node in snapshot.nodes]
                declared = declared_speeds(self._request.links, snapshot)
                return folding.busiest_link(rows, beside, declared, problems, names)
            case _:
                return {subject: value for (subject, _), value in rows.items()}, None

    def _fold_gpus(self) -> tuple[folding.Found, dict[int, float] | None]:
        """From the devices to their nodes or pods; those of shared ones go with the reading."""
        definition, problems = self._definition, self._problems
        expectation, snapshot = self._cluster.expectation, self._cluster.snapshot
        loads = self._gpu_loads()
        if definition.fold == "pod-gpu":
            pods = snapshot.pods
            in_gpus = definition.unit == "GPUs"
            found, untold = folding.pod_gpus(
                loads, expectation, self._cluster.pod_node, problems, pods, in_gpus=in_gpus
            )
            self._expected[untold] = False
            if untold:
                text = "RDG012: pods that share GPUs, of which nobody reports who has which"
                self._problems.note(text, pods[untold[0]].key, len(untold))
            return found, None
        rows = {key: load.value for key, load in loads.items()}
        shares = {key: (load.value.value, load.used) for key, load in loads.items()}
        if definition.fold == "gpu":
            answer = folding.gpu_load(rows, expectation, problems)
        else:
            free: dict[Key, Value] = {}
            for source in definition.beside:
                if self._asked_for(source):
                    free |= self._measure(source)
            answer = folding.gpu_memory(rows, free, expectation, problems)
            shares = folding.memory_shares(loads, free)
        self._parts = tuple(
            shared_device(key, loads[key], share)
            for key, share in sorted(shares.items())
            if expectation.sharing[key[0]] and key[0] in answer[0]
        )
        return answer

    def _gpu_loads(self) -> dict[Key, DeviceLoad]:
        """Each device by the preferred source, completed by the next where it has none."""
        found: dict[Key, DeviceLoad] = {}
        problems = self._problems if self._request.subject == "node" else ReadingProblems()
        for source in self._definition.sources:
            if not self._asked_for(source):
                continue
            loads = device_loads(
                self._of_maker(
                    source, self._groups(source, self._node_key, self._ages_of_series(source))
                ),
                self._pod_of,
                highest=self._definition.highest,
                max_age=self._request.max_age,
                problems=problems,
            )
            completed(found, loads, problems)
            if self._complete(found) and all(each.told for each in found.values() if each.used):
                break
        if problems is not self._problems:
            self._problems.adopt(problems, dict(enumerate(self._cluster.pod_node)))
        return found

    def _asked_for(self, source: Source) -> bool:
        """Whether a node that counts has such devices."""
        makers = self._cluster.expectation.makers
        return not source.maker or any(source.maker in each for each in makers)

    def _of_maker(self, source: Source, groups: dict[Key, list[Row]]) -> dict[Key, list[Row]]:
        """The rows of nodes with devices of that maker."""
        makers = self._cluster.expectation.makers
        return {key: rows for key, rows in groups.items() if source.maker in makers[key[0]]}

    def _pod_of(self, labels: Mapping[str, str]) -> int:
        """The pod that has the device by its series; DEVICE: none, STRANGER: one that is gone."""
        found = self._cluster.identity.pod(labels).number
        if workload_of(labels)[1]:
            if found < 0:
                reason = self._cluster.identity.pod(labels).reason
                self._problems.note(f"series of {reason}", show(labels))
                return STRANGER
            return found
        # Without such labels of its own the row carries the exporter's pod, or honors the labels.
        if found >= 0 and self._may_hold(found, labels):
            return found
        self._unowned.append(labels)
        return DEVICE

    def _by_device(self, rows: Mapping[Key, Value]) -> tuple[DeviceValue, ...]:
        """What is behind the values of the nodes that are not at 0."""
        observed = {key: value for key, value in rows.items() if self._expected[key[0]]}
        if not any(value.value > 0 for value in observed.values()):
            return ()
        holders: list[Holder] = []
        if self._definition.holders:
            samples = going_on(self._ask(self._definition.holders).samples, device_of)
            holders = read_holders(samples, self._holder, self._at, self._request.max_age)
        return tuple(device_values(observed, holders))

    def _holder(self, labels: Mapping[str, str]) -> Holder | None:
        node = self._cluster.identity.node(labels)
        if node < 0:
            return None
        pod = self._cluster.identity.pod(labels).number
        return Holder(
            (node, device_of(labels)),
            slot_of(labels),
            pod if pod >= 0 and self._may_hold(pod, labels) else -1,
        )

    def _may_hold(self, pod: int, labels: Mapping[str, str]) -> bool:
        """Whether the pod is not the exporter's own, which an idle device carries."""
        own = not workload_of(labels)[1] and self._cluster.snapshot.on_own_node[pod]
        return not own and self._cluster.expectation.may_have_gpus(pod)

    def _from_sources(self) -> dict[Key, Value]:
        """The values of the preferred source, completed by those of the next where it has none."""
        found: dict[Key, Value] = {}
        for source in self._definition.sources:
            if not self._asked_for(source):
                continue
            measured = self._measure(source)
            for key, value in measured.items():
                if self._problems.codes.get(key[0], "") < "RDG005":
                    found.setdefault(key, value)
            if self._complete(found):
                break
        return found

    def _complete(self, found: Mapping[Key, Value | DeviceLoad]) -> bool:
        """Whether no other source could add anything."""
        number_of = Counter(subject for subject, _ in found)
        wanted: FloatArray | BoolArray = self._expected
        if self._definition.fold in ("gpu", "gpu-memory", "pod-gpu"):
            wanted = self._cluster.expectation.gpus
        subjects = np.flatnonzero(wanted > 0).tolist()
        return all(number_of[each] >= wanted[each] for each in subjects)

    def _measure(self, source: Source) -> dict[Key, Value]:
        """One trusted value of each node, pod or device that a source knows."""
        key = self._node_key if self._request.subject == "node" else self._pod_key
        groups = self._groups(source, key, self._ages(source))
        if source.per_capacity:
            groups = self._per_capacity(groups)
        return resolve(
            groups,
            highest=self._definition.highest,
            max_age=self._request.max_age,
            problems=self._problems,
        )

    def _groups(
        self,
        source: Source,
        key_of: Callable[[Mapping[str, str]], Key | None],
        age_of: Callable[[Key, Mapping[str, str]], float | None],
    ) -> dict[Key, list[Row]]:
        """The rows of each node, pod or device that a source knows."""
        samples = self._ask(source.value).samples
        self._rows += len(samples)
        return group(
            samples,
            key_of,
            age_of,
            scale=source.scale,
            weights=by_series(self._ask(source.weight).samples) if source.weight else None,
        )

    def _per_capacity(self, groups: Mapping[Key, list[Row]]) -> dict[Key, list[Row]]:
        capacity = self._cluster.expectation.capacity(self._definition)
        if capacity is None:
            return {}
        return {
            key: [row._replace(value=row.value / float(capacity[key[0]])) for row in rows]
            for key, rows in groups.items()
        }

    def _ages(self, source: Source) -> Callable[[Key, Mapping[str, str]], float | None]:
        """What gives the age of a row: its series, or for whole pods their node's cAdvisor."""
        if not source.fresh:
            return lambda _key, _labels: 0.0
        if self._request.subject == "node":
            return self._ages_of_series(source)
        at = self._at
        samples = self._ask(source.fresh).samples
        self._rows += len(samples)
        newest: dict[int, float] = {}
        for each in samples:
            node = self._cluster.identity.node(each.metric)
            newest[node] = max(newest.get(node, 0.0), number(each.value[1]))
        pod_node = self._cluster.pod_node

        def of_node(key: Key, _labels: Mapping[str, str]) -> float | None:
            node = pod_node[key[0]]
            return at - newest[node] if node >= 0 and node in newest else None

        return of_node

    def _ages_of_series(self, source: Source) -> Callable[[Key, Mapping[str, str]], float | None]:
        """What gives the age of a row by its own series."""
        at = self._at
        samples = self._ask(source.fresh).samples
        self._rows += len(samples)
        if self._definition.only == "gpu":
            samples = going_on(samples, device_of)
        times = by_series(samples)

        def of_series(_key: Key, labels: Mapping[str, str]) -> float | None:
            time = times.get(identify(labels))
            return None if time is None else at - time

        return of_series

    def _node_key(self, labels: Mapping[str, str]) -> Key | None:
        node = self._cluster.identity.node(labels)
        if node < 0:
            self._problems.note("series that name no node of this cluster", show(labels))
            return None
        match self._definition.fold:
            case "single":
                return node, ""
            case "link":
                return node, labels.get("device", "")
            case "worst" if labels.get("device"):
                return node, labels["device"]
            case _:
                return node, device_of(labels)

    def _pod_key(self, labels: Mapping[str, str]) -> Key | None:
        found = self._cluster.identity.pod(labels)
        if found.number < 0:
            self._problems.note(f"series of {found.reason}", show(labels))
            return None
        return found.number, ""
