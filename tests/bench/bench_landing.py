"""Build the scheduler model of a large cluster and predict many landings; print what that costs.

    python -m tests.bench.bench_landing [--nodes 5000] [--pods 150000] [--shapes 2000]

The cluster is synthetic: every feature of the default profile is in use, on one core.
"""

import argparse
import gc
import resource
import sys
import time
from statistics import median, quantiles
from typing import Any

import numpy as np

from rescheduler.kube.controllers import Controller
from rescheduler.kube.objects import Node, Pod
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.scheduler.model import SchedulerModel
from tests.cluster import controller, node, pod, snapshot

ZONES = 6


def say(line: str) -> None:
    """Write a line of the result."""
    sys.stdout.write(f"{line}\n")


def resident() -> float:
    """The most memory that this process has used, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def features(number: int, app: str) -> dict[str, Any]:
    """The scheduling features of one workload: each in use somewhere."""
    own = {"matchLabels": {"app": app}}
    near = {"topologyKey": "topology.kubernetes.io/zone", "labelSelector": own}
    choices: list[dict[str, Any]] = [
        {},
        {"nodeSelector": {"pool": f"p{number % 10}"}},
        {"tolerations": [{"key": "dedicated", "operator": "Exists"}]},
        {
            "topologySpreadConstraints": [
                {
                    "maxSkew": 5,
                    "topologyKey": "topology.kubernetes.io/zone",
                    "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": own,
                }
            ]
        },
        {
            "affinity": {
                "podAntiAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                        {**near, "topologyKey": "kubernetes.io/hostname"}
                    ]
                }
            }
        },
        {
            "affinity": {
                "podAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 10, "podAffinityTerm": near}
                    ]
                }
            }
        },
    ]
    return choices[number % len(choices)]


def make_nodes(count: int) -> list[Node]:
    """Nodes of two sizes in zones and pools; one in twenty is dedicated."""
    return [
        node(
            f"node-{number:05}",
            zone=f"zone-{number % ZONES}",
            labels={"pool": f"p{number % 10}"},
            allocatable={"cpu": "64" if number % 3 else "32", "memory": "256Gi"},
            taints=[{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]
            if number % 20 == 0
            else [],
        )
        for number in range(count)
    ]


def make_pods(count: int, shapes: int, nodes: list[Node]) -> tuple[list[Pod], list[Controller]]:
    """Pods of as many workloads as there are shapes, spread by a seeded generator."""
    random = np.random.default_rng(7)
    places = random.integers(0, len(nodes), count)
    owners = [
        controller("ReplicaSet", f"app-{number}", namespace=f"ns-{number % 100}")
        for number in range(shapes)
    ]
    templates = [
        pod(
            f"app-{number}",
            namespace=owner.metadata.namespace,
            owner=owner,
            labels={"app": f"app-{number}", "tier": f"t{number % 5}"},
            requests={"cpu": f"{100 + number % 900}m", "memory": f"{128 + number % 2000}Mi"},
            **features(number, f"app-{number}"),
        )
        for number, owner in enumerate(owners)
    ]
    pods = []
    for number in range(count):
        template = templates[number % shapes]
        pods.append(
            Pod(
                metadata=template.metadata,
                spec=template.spec,
                status=template.status,
                node=nodes[places[number]].metadata.name,
            )
        )
    return pods, owners


def synthetic(nodes: int, pods: int, shapes: int) -> Snapshot:
    """The whole snapshot."""
    made = make_nodes(nodes)
    bound, owners = make_pods(pods, shapes, made)
    return snapshot(made, bound, controllers=owners)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=150_000)
    parser.add_argument("--shapes", type=int, default=2000)
    parser.add_argument("--candidates", type=int, default=10_000)
    given = parser.parse_args()
    made = synthetic(given.nodes, given.pods, given.shapes)
    gc.collect()
    before, began = resident(), time.process_time()
    model = SchedulerModel(made)
    built = time.process_time() - began
    say(f"build: {built:.2f} s CPU, +{resident() - before:.0f} MiB")
    chosen = np.random.default_rng(1).integers(0, given.pods, given.candidates)
    costs, unknown = [], 0
    for candidate in chosen.tolist():
        began = time.perf_counter()
        landing = model.landing(candidate)
        costs.append(time.perf_counter() - began)
        unknown += landing.refusal is not None
    half, tail = median(costs) * 1000, quantiles(costs, n=100)[-1] * 1000
    say(
        f"landing: median {half:.2f} ms, 99 % {tail:.2f} ms, "
        f"all {sum(costs):.1f} s for {len(costs)} pods, {unknown} refused"
    )
    say(f"peak: {resident():.0f} MiB, of which +{resident() - before:.0f} MiB the model")


if __name__ == "__main__":
    main()
