"""How the conformance kit draws pressure, peaks and young pods, and policies for Utilization."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import msgspec
import numpy as np
from hypothesis import strategies as st

from rescheduler.kube.objects import Container
from rescheduler.model.cluster.readings import DeviceValue, Reading
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.base import Policy
from rescheduler.policies.utilization.policy import Utilization
from tests.cluster import NOW, reading

ODD = (float("nan"), float("inf"), -1.0, 1e30)
EVERYTHING: Any = {"all": True}
PEAKS = ("cpu", "network.receive", "network.transmit")


@dataclass(frozen=True)
class Stirred:
    """What a blueprint gets besides.

    pressure, peaks: of each node. seconds: how long each pod has run; those under 300 are too
    young for a value of CPU.
    """

    pressure: list[float]
    peaks: list[float]
    seconds: list[int]
    honest: bool
    gpus: list[list[float]]
    holders: list[int]

    def added(self, before: Snapshot) -> Snapshot:
        """The snapshot with these readings and ages."""
        for made, seconds in zip(before.pods, self.seconds, strict=True):
            started = NOW - timedelta(seconds=seconds)
            made.status = msgspec.structs.replace(made.status, startTime=started)
        given = map(self._honest(before), before.readings.entries)
        young = np.array(self.seconds, dtype=np.int64) < 300
        entries = [
            replace(
                reading,
                values=np.where(young, np.nan, reading.values),
                expected=reading.expected & ~young,
            )
            if reading.name == "pod.cpu"
            else reading
            for reading in given
        ]
        entries.append(reading("node.cpu.pressure", self.pressure, min_coverage=0.0))
        entries += [
            reading(f"node.{name}.peak", self.peaks, window=1800.0, min_coverage=0.0)
            for name in PEAKS
        ]
        entries.append(self._shared(before))
        return replace(before, readings=replace(before.readings, entries=tuple(entries)))

    def _shared(self, before: Snapshot) -> Reading:
        """The load of devices; the nodes and pods get what they need to share them."""
        for node, loads in zip(before.nodes, self.gpus, strict=True):
            if loads:
                node.status.allocatable = {
                    **(node.status.allocatable or {}),
                    "nvidia.com/gpu.shared": 3 * len(loads),
                }
                labels = {**(node.metadata.labels or {}), "nvidia.com/gpu.replicas": "3"}
                node.metadata.labels = labels
        wants = msgspec.convert(
            [{"name": "c", "resources": {"limits": {"nvidia.com/gpu.shared": "1"}}}],
            list[Container],
        )
        found: dict[tuple[int, int], list[int]] = {}
        for number, (made, holder) in enumerate(zip(before.pods, self.holders, strict=True)):
            made.spec = msgspec.structs.replace(
                made.spec, containers=[*made.spec.containers, *wants]
            )
            on = before.node_index.get(made.node, -1)
            if holder >= 0 and on >= 0 and self.gpus[on]:
                found.setdefault((on, holder % len(self.gpus[on])), []).append(number)
        devices = [
            DeviceValue(
                on, f"GPU-{on}-{place}", load, str(place), tuple(found.get((on, place), ()))
            )
            for on, loads in enumerate(self.gpus)
            for place, load in enumerate(loads)
        ]
        shares = [sum(loads) / len(loads) if loads else np.nan for loads in self.gpus]
        capacity = [float(len(loads)) or np.nan for loads in self.gpus]
        made_reading = reading("node.gpu", shares, capacity=capacity, min_coverage=0.0)
        return replace(made_reading, devices=tuple(devices))

    def _honest(self, before: Snapshot) -> Callable[[Reading], Reading]:
        """What makes a reading agree with the others."""
        bound = before.pod_node[before.pod_node >= 0]
        loads = (0.5 * np.bincount(bound, minlength=len(before.nodes)) + 0.1) / 8

        def honest(reading: Reading) -> Reading:
            if not self.honest or reading.request.subject == "pair":
                return reading
            of_nodes = reading.request.subject == "node"
            values = loads if of_nodes else np.full(len(before.pods), 0.5)
            return replace(
                reading,
                values=values,
                ages=np.full(len(values), 5.0),
                capacity=np.full(len(values), 8.0) if of_nodes else None,
                problem=None,
            )

        return honest


@st.composite
def stirred(draw: st.DrawFn, nodes: int, pods: int) -> Stirred:
    """Calm and pressed nodes, high and low peaks, old and young pods."""

    def many(values: st.SearchStrategy[Any], count: int) -> list[Any]:
        return draw(st.lists(values, min_size=count, max_size=count))

    share = st.floats(0, 1) | st.sampled_from(ODD)
    ages = many(st.sampled_from([10, 9999, 9999]), pods)
    loads = st.lists(st.floats(0, 1), max_size=3)
    return Stirred(
        many(share, nodes),
        many(share, nodes),
        ages,
        honest=draw(st.booleans()),
        gpus=many(loads, nodes),
        holders=many(st.sampled_from([-1, 0, 0, 1, 1, 2]), pods),
    )


@st.composite
def utilizations(draw: st.DrawFn) -> Policy:
    """Policies of kind Utilization, of every strategy."""
    resources = draw(st.sets(st.sampled_from(["cpu", "network", "gpu"]), min_size=1))
    high = draw(st.floats(0.1, 0.9))
    target = {"high": high, "low": high * draw(st.floats(0.5, 1))}
    targets: dict[str, Any] = dict.fromkeys(sorted(resources), target)
    if "cpu" in targets and draw(st.booleans()):
        targets["cpu"] = {**target, "pressure": 0.5, "floor": draw(st.floats(0.05, 0.6))}
    zoned = {"key": "topology.kubernetes.io/zone", "operator": "Exists"}
    own: dict[str, Any] = {"matchExpressions": [zoned]}
    group: dict[str, Any] = {"nodes": own, "targets": {"cpu": {"high": 0.3}}}
    strategies = ["Relieve", "Balance"] if "gpu" in targets else ["Relieve", "Balance", "Pack"]
    given: dict[str, Any] = {
        "targets": targets,
        "groups": draw(st.sampled_from([[], [], [group]])),
        "strategy": draw(st.sampled_from([*strategies, strategies[-1]])),
        "tolerance": draw(st.floats(0, 0.3)),
        "cold": draw(st.floats(0.1, 1)),
        "headroom": None
        if "gpu" in targets
        else draw(st.sampled_from([None, {"window": timedelta(minutes=30)}])),
        "nodes": EVERYTHING,
        "match": EVERYTHING,
    }
    return Utilization(name="u", minCoverage=0.0, **given)
