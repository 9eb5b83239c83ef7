"""Turns the world into the text that Prometheus reads, with the faults applied."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from tests.e2e.exporter import container_series, gpu_series, node_series, state_series
from tests.e2e.exporter.faults import (
    DCGM_EXPORTER,
    HEALTHY,
    KUBELET,
    NODE_EXPORTER,
    STATE_METRICS,
    Faults,
)
from tests.e2e.exporter.series import Sample, View
from tests.e2e.exporter.world import RunningNode, World

_SERIES: dict[str, Callable[[RunningNode, View], Iterator[Sample]]] = {
    NODE_EXPORTER: node_series.series,
    DCGM_EXPORTER: gpu_series.series,
    KUBELET: container_series.series,
    STATE_METRICS: state_series.series,
}


class _Frozen(NamedTuple):
    faults: Faults
    page: bytes


class Pages:
    """One page per job, rendered when it is asked for."""

    def __init__(self, world: World, faults: Faults = HEALTHY) -> None:
        """world: what is served; faults: what is wrong with it, exchangeable at any time."""
        self._world = world
        self.faults = faults
        self._frozen: dict[str, _Frozen] = {}

    def render(self, job: str) -> bytes:
        """The page of one job in the Prometheus text format."""
        faults = self.faults.of(job)
        if not faults.frozen:
            self._frozen.pop(job, None)
            return self._page(job, faults)
        kept = self._frozen.get(job)
        if kept is None or kept.faults != faults:
            kept = self._frozen[job] = _Frozen(faults, self._page(job, faults))
        return kept.page

    def _page(self, job: str, faults: Faults) -> bytes:
        now = time.time()
        stamp = ""
        if faults.explicit_timestamps or faults.age:
            stamp = f" {int((now - faults.age) * 1000)}"
        families: dict[str, list[str]] = defaultdict(list)
        with self._world.lock:
            nodes = _served(self._world.nodes.values(), faults)
            for copy in range(2 if faults.duplicated else 1):
                view = View(now, copy, faults.duplicated if copy else 1.0, faults.hostname_label)
                for node in nodes:
                    for family, labels, value in _SERIES[job](node, view):
                        families[family].append(f"{family}{{{labels}}} {value!r}{stamp}\n")
        lines: list[str] = []
        for family, samples in families.items():
            if family.startswith(faults.hidden):
                continue
            kind = "counter" if family.endswith("_total") else "gauge"
            lines.append(f"# TYPE {family} {kind}\n")
            lines += _spoiled(family, samples, faults, stamp)
        return "".join(lines).encode()


def _served(nodes: Iterable[RunningNode], faults: Faults) -> list[RunningNode]:
    """The nodes that have series at all."""
    ordered = sorted(nodes, key=lambda node: node.node.metadata.name)
    kept = ordered[: len(ordered) - round(len(ordered) * faults.missing_share)]
    return [node for node in kept if node.node.metadata.name not in faults.missing_nodes]


def _spoiled(family: str, samples: list[str], faults: Faults, stamp: str) -> Iterable[str]:
    """The samples with NaN or 0 for their values, where a fault says so."""
    for prefixes, value in ((faults.not_a_number, "NaN"), (faults.zero, "0")):
        if family.startswith(prefixes):
            return [f"{sample[: sample.rindex('}') + 1]} {value}{stamp}\n" for sample in samples]
    return samples
