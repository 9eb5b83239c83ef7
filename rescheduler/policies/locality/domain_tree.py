"""How near nodes are to each other: the tree of hosts, racks, blocks, zones and regions."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from pydantic import Field

from rescheduler.documents.fields import Strict
from rescheduler.documents.label_names import LabelKey
from rescheduler.kube.objects import Labels
from rescheduler.model.cluster.readings import FloatArray, IntArray
from rescheduler.model.cluster.snapshot import Snapshot

NOWHERE = -1
"""The domain of no node."""


class Level(Strict):
    """One level of the tree: its name, and the node labels with its domains."""

    name: str = Field(min_length=1, description="What it is called, such as `rack`.")
    labels: list[LabelKey] = Field(
        min_length=1, description="Keys of node labels; the first that a node carries counts."
    )
    weight: float = Field(
        1.0,
        gt=0,
        le=1000,
        description="How much farther two nodes are that do not share it, relative to the others.",
    )


KNOWN = (
    Level(name="host", labels=["kubernetes.io/hostname"]),
    Level(
        name="accelerator",
        labels=[
            "accelerator.topograph.run/domain",
            "network.topology.nvidia.com/accelerator",
            "nvidia.com/gpu.clique",
        ],
    ),
    Level(
        name="rack",
        labels=[
            "topology.kubernetes.io/rack",
            "fabric.topograph.run/tier-0",
            "network.topology.nvidia.com/leaf",
            "cloud.google.com/gce-topology-subblock",
            "topology.k8s.aws/network-node-layer-3",
            "oci.oraclecloud.com/rdma.local_block_id",
            "cloud.provider.com/topology-rack",
        ],
    ),
    Level(
        name="block",
        labels=[
            "topology.kubernetes.io/block",
            "fabric.topograph.run/tier-1",
            "network.topology.nvidia.com/spine",
            "cloud.google.com/gce-topology-block",
            "topology.k8s.aws/network-node-layer-2",
            "oci.oraclecloud.com/rdma.network_block_id",
            "cloud.provider.com/topology-block",
        ],
    ),
    Level(
        name="core",
        labels=[
            "fabric.topograph.run/tier-2",
            "network.topology.nvidia.com/core",
            "topology.k8s.aws/network-node-layer-1",
            "oci.oraclecloud.com/rdma.hpc_island_id",
        ],
    ),
    Level(
        name="zone",
        labels=["topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"],
    ),
    Level(
        name="region",
        labels=["topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"],
    ),
)
"""The labels of Kubernetes, of NVIDIA's topograph and of clouds, nearest level first."""


@dataclass(frozen=True, slots=True)
class Domains:
    """The tree of one snapshot, with the levels that distinguish its nodes.

    names: (levels,) nearest first. steps: (levels,) how much farther two nodes are that do not
    share this level; they sum to 1, the distance of nodes that share none. of: (levels, nodes + 1)
    the domain of each node; the last column means no node, and is NOWHERE. A node that carries
    none of the level's labels is a domain of its own: near to no other, and at no distance from
    itself. labels: (levels,) what each domain is called; after these come those without a name.
    sizes: (levels,) how many domains there are, with those. measured: the level whose domains are
    as far from each other as in `far`, or -1. far: (its domains + 1, its domains + 1) 0 to 1,
    symmetric; the last is NOWHERE.
    """

    names: tuple[str, ...]
    steps: tuple[float, ...]
    of: IntArray
    labels: tuple[tuple[str, ...], ...]
    sizes: tuple[int, ...]
    measured: int = -1
    far: FloatArray = field(default_factory=lambda: np.ones((1, 1)))

    def level(self, name: str) -> int:
        """The index of a level, or -1 where it is not in this tree."""
        return self.names.index(name) if name in self.names else -1

    def size(self, level: int) -> int:
        """How many domains the level has."""
        return self.sizes[level]

    def distances(self, targets: Iterable[int], start: int = 0) -> FloatArray:
        """(nodes,) how far each node is from the nearest of these nodes, 0 to 1.

        start: the nearest level that counts: who shares it is there, who shares none is at 1.
        """
        nodes = self.of.shape[1] - 1
        whole = sum(self.steps[start:])
        answer = np.ones(nodes)
        for target in targets:
            distance = np.zeros(nodes)
            for level in range(start, len(self.names)):
                distance += self._level_distances(level, target) * (self.steps[level] / whole)
            if start == 0:
                distance[target] = 0.0
            answer = np.minimum(answer, distance)
        return answer

    def _level_distances(self, level: int, target: int) -> FloatArray:
        """(nodes,) how far each is from the node on that level alone, 0 to 1."""
        here, there = int(self.of[level, target]), self.of[level, :-1]
        if level == self.measured:
            far: FloatArray = self.far[here, there]
            return far
        return np.where((there == here) & (here != NOWHERE), 0.0, 1.0)


def tree(levels: Sequence[Level], snapshot: Snapshot) -> Domains:
    """The levels that at least one node carries and that distinguish nodes, with their steps.

    A domain lies within its domain of every farther level: a rack `r1` in each of two zones is two
    racks. A level whose every node shares one domain distinguishes nothing, and is left out.
    """
    labels = [node.metadata.labels or {} for node in snapshot.nodes]
    names, rows, called, sizes, weights = [], [], [], [], []
    for level, paths in zip(levels, _paths(labels, levels), strict=True):
        present = set(paths)
        named_paths = sorted(path for path in present if path[0])
        if not named_paths or (len(named_paths) == 1 and len(present) == 1):
            continue
        index = {path: place for place, path in enumerate(named_paths)}
        alone = itertools.count(len(named_paths))
        row = [index[path] if path[0] else next(alone) for path in paths]
        names.append(level.name)
        weights.append(level.weight)
        rows.append([*row, NOWHERE])
        called.append(tuple(path[0] for path in named_paths))
        sizes.append(next(alone))
    steps = tuple(weight / sum(weights) for weight in weights)
    of = np.array(rows, dtype=np.int32).reshape(len(names), len(labels) + 1)
    return Domains(tuple(names), steps, of, tuple(called), tuple(sizes))


def _paths(labels: Sequence[Labels], levels: Sequence[Level]) -> list[list[tuple[str, ...]]]:
    """Each node's domain at each level, "" for none, followed by those around it."""
    answer: list[list[tuple[str, ...]]] = []
    around: list[tuple[str, ...]] = [()] * len(labels)
    for level in reversed(levels):
        keys = level.labels
        own = [next((label[key] for key in keys if key in label), "") for label in labels]
        around = [(value, *rest) for value, rest in zip(own, around, strict=True)]
        answer.insert(0, around)
    return answer
