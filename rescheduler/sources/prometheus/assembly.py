"""One reading, put together from a source's answers."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping

import numpy as np

from rescheduler.model.problem import Problem
from rescheduler.model.readings import BoolArray, DeviceValue, FloatArray, Reading, ReadingRequest
from rescheduler.model.snapshot import Snapshot
from rescheduler.policies.shared.unmeasured import left_out
from rescheduler.sources.prometheus import folding
from rescheduler.sources.prometheus.definition import Definition, Source
from rescheduler.sources.prometheus.expectation import Expectation, declared_speeds
from rescheduler.sources.prometheus.http_api import Vector
from rescheduler.sources.prometheus.identity import Holder, Identity, device_values, read_holders
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
    own_series,
    resolve,
    show,
)

Ask = Callable[[str], Vector]
"""Sends a template of the catalogue and answers with its vector."""


class Cluster:
    """A snapshot with the indexes that are read again and again."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.identity = Identity(snapshot)
        self.expectation = Expectation(snapshot)
        self.pod_node: list[int] = snapshot.pod_node.tolist()


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
        self._clusters: set[str] = set()
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
        if len(self._clusters) > 1:
            found = ", ".join(sorted(self._clusters))
            text = f"{self._request.name} has series of several clusters for these nodes: {found}"
            return Problem("RDG020", text)
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
        if self._unowned:
            what = "series of devices that name no pod with GPUs"
            self._problems.note(what, show(self._unowned[0]), len(self._unowned))
        codes = Counter(self._problems.codes.get(int(each), "RDG003") for each in absent)
        code = max(codes, key=lambda each: (codes[each], each))
        why = "; ".join(self._problems.notes())
        return Problem(code, f"{have}, wanted are {self._request.min_coverage:.0%}. {why}".strip())

    def _note_clusters(self, groups: Mapping[Key, list[Row]]) -> None:
        """Remember by their labels which clusters the series of our own nodes and pods are of."""
        for rows in groups.values():
            self._clusters.update(filter(None, map(_cluster, rows)))

    def _fold(self) -> tuple[folding.Found, dict[int, float] | None]:
        definition, problems = self._definition, self._problems
        expectation, snapshot = self._cluster.expectation, self._cluster.snapshot
        rows = self._from_sources()
        beside = self._measure(definition.beside) if definition.beside is not None else {}
        match definition.fold:
            case "single":
                return {subject: value for (subject, _), value in rows.items()}, None
            case "worst":
                found = folding.worst(rows, self._devices(), problems)
                self._parts = self._by_device(rows)
                return found, None
            case "gpu":
                return folding.gpu_load(rows, expectation.gpus, problems)
            case "gpu-memory":
                return folding.gpu_memory(rows, beside, expectation.gpus, problems)
            case "link":
                names = [node.metadata.name for node in snapshot.nodes]
                declared = declared_speeds(self._request.links, snapshot)
                return folding.busiest_link(rows, beside, declared, problems, names)
            case "pod-gpu":
                keys = [pod.key for pod in snapshot.pods]
                whole = definition.unit == "GPUs"
                found = folding.pod_gpus(rows, expectation.pod_gpus, problems, keys, in_gpus=whole)
                return found, None

    def _by_device(self, rows: Mapping[Key, Value]) -> tuple[DeviceValue, ...]:
        """What is behind the values of the nodes that are not at 0."""
        observed = {key: value for key, value in rows.items() if self._expected[key[0]]}
        if not any(value.value > 0 for value in observed.values()):
            return ()
        holders: list[Holder] = []
        if self._definition.holders:
            samples = going_on(self._ask(self._definition.holders).samples, _device)
            holders = read_holders(samples, self._holder, self._at, self._request.max_age)
        return tuple(device_values(observed, holders))

    def _holder(self, labels: Mapping[str, str]) -> Holder | None:
        node = self._cluster.identity.node(labels)
        if node < 0:
            return None
        pod = self._cluster.identity.pod(labels).number
        return Holder(
            (node, _device(labels)),
            labels.get("gpu", ""),
            pod if pod >= 0 and self._may_hold(pod, labels) else -1,
        )

    def _may_hold(self, pod: int, labels: Mapping[str, str]) -> bool:
        """Whether the pod is not the exporter's own, which an idle device carries."""
        own = not labels.get("exported_pod") and self._cluster.snapshot.on_own_node[pod]
        return not own and self._cluster.expectation.may_have_gpus(pod)

    def _devices(self) -> FloatArray:
        """(nodes,) how many devices of the reading's kind each node must report."""
        if self._definition.only == "gpu":
            return self._cluster.expectation.devices(self._definition)
        return np.zeros(len(self._expected))

    def _from_sources(self) -> dict[Key, Value]:
        """The values of the preferred source, completed by those of the next where it has none."""
        found: dict[Key, Value] = {}
        for source in self._definition.sources:
            measured = self._measure(source)
            for key, value in measured.items():
                if self._problems.codes.get(key[0], "") < "RDG005":
                    found.setdefault(key, value)
            if self._complete(found):
                break
        return found

    def _complete(self, found: Mapping[Key, Value]) -> bool:
        """Whether no other source could add anything."""
        number_of = Counter(subject for subject, _ in found)
        wanted: FloatArray | BoolArray = self._expected
        if self._definition.fold == "gpu":
            wanted = self._cluster.expectation.gpus
        elif self._definition.fold == "pod-gpu":
            wanted = self._cluster.expectation.pod_gpus
        subjects = np.flatnonzero(self._expected).tolist()
        return all(number_of[each] >= wanted[each] for each in subjects)

    def _measure(self, source: Source) -> dict[Key, Value]:
        """One trusted value of each node, pod or device that a source knows."""
        samples = self._ask(source.value).samples
        self._rows += len(samples)
        groups = group(
            samples,
            self._node_key if self._request.subject == "node" else self._pod_key,
            self._ages(source),
            scale=source.scale,
            weights=by_series(self._ask(source.weight).samples) if source.weight else None,
        )
        self._note_clusters(groups)
        if source.per_capacity:
            groups = self._per_capacity(groups)
        if self._definition.only == "gpu" and self._request.subject == "node":
            groups = {key: own_series(rows) for key, rows in groups.items()}
        return resolve(
            groups,
            highest=self._definition.highest,
            max_age=self._request.max_age,
            problems=self._problems,
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
        samples = self._ask(source.fresh).samples
        self._rows += len(samples)
        if self._definition.only == "gpu":
            samples = going_on(samples, _device)
        at = self._at
        if self._request.subject == "node" or self._definition.fold == "pod-gpu":
            times = by_series(samples)

            def of_series(_key: Key, labels: Mapping[str, str]) -> float | None:
                time = times.get(identify(labels))
                return None if time is None else at - time

            return of_series
        newest: dict[int, float] = {}
        for each in samples:
            node = self._cluster.identity.node(each.metric)
            newest[node] = max(newest.get(node, 0.0), number(each.value[1]))
        pod_node = self._cluster.pod_node

        def of_node(key: Key, _labels: Mapping[str, str]) -> float | None:
            node = pod_node[key[0]]
            return at - newest[node] if node >= 0 and node in newest else None

        return of_node

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
                return node, _device(labels)

    def _pod_key(self, labels: Mapping[str, str]) -> Key | None:
        found = self._cluster.identity.pod(labels)
        of_gpu = self._definition.fold == "pod-gpu"
        if of_gpu and not labels.get("exported_pod"):
            # An idle device carries the exporter's own pod here, or none.
            wanted = self._cluster.expectation.pod_gpus
            if found.number < 0 or wanted[found.number] == 0:
                self._unowned.append(labels)
                return None
        if found.number < 0:
            self._problems.note(f"series of {found.reason}", show(labels))
            return None
        return found.number, _device(labels) if of_gpu else ""


def _cluster(row: Row) -> str:
    return row.labels.get("cluster") or row.labels.get("cluster_name", "")


def _device(labels: Mapping[str, str]) -> str:
    """What distinguishes one GPU of the cluster, or one partition of it, from all others."""
    uuid = labels.get("UUID") or labels.get("uuid")
    if not uuid:
        host = labels.get("Hostname") or labels.get("hostname") or labels.get("instance", "")
        uuid = f"{host} gpu {labels.get('gpu', '')}"
    part = labels.get("GPU_I_ID")
    return f"{uuid}/{part}/{labels.get('GPU_I_PROFILE', '')}" if part else uuid
