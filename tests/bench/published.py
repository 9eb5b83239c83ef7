"""Published instances as snapshots: RASA M3 (traffic) and openb (GPUs), from files of their own.

The folder holds `rasa/M3.json.gz` (ByteDance, ICDE 2024) and `openb/*.csv[.gz]` (Alibaba,
cluster-trace-gpu-v2023), both Apache-2.0. They are not part of this project.
"""

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

from rescheduler.kube.objects import Node, Pod
from rescheduler.model.cluster.readings import Reading
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.policies.fragmentation.policy import Fragmentation, GpuShares
from rescheduler.policies.locality.domain_tree import Level
from rescheduler.policies.locality.policy import Locality
from rescheduler.policies.locality.traffic_fields import TrafficFields
from rescheduler.policies.match import Match
from rescheduler.policies.own_readings.pair_reading import End
from tests.bench.packed import text_of
from tests.cluster import deployment, like, node, pod, snapshot

FOLDER = "RESCHEDULER_BENCH_DATA"
"""The environment variable with the folder of the data."""

SHARE = "alibabacloud.com/gpu-milli"

Row = dict[str, str]

_TRAFFIC = TrafficFields(
    series="traffic",
    source=End(namespace="a", name="b"),
    destination=End(namespace="c", name="d"),
)


def m3_policy() -> Locality:
    """Traffic alone, and hosts alone: the cost is then what gained affinity leaves."""
    return Locality(
        name="traffic",
        match=Match(all=True),
        levels=[Level(name="host", labels=["kubernetes.io/hostname"])],
        traffic=_TRAFFIC,
    )


def m3(folder: Path) -> Snapshot:
    """The one instance that is published with its placement."""
    return rasa(folder / "rasa" / "M3.json.gz")


def rasa(path: Path) -> Snapshot:
    """Services as Deployments, containers as pods; capacities in units of 1e-9 of the total."""
    data: dict[str, Any] = json.loads(text_of(path))
    unit = 1e9
    nodes = []
    where: dict[str, str] = {}
    for machine in data["MachineList"]:
        room = {
            "cpu": str(round(machine["TotalCPU"] * unit)),
            "memory": str(round(machine["TotalMem"] * unit)),
            "pods": "10000",
        }
        nodes.append(node(machine["MachineIP"], allocatable=room))
        where |= dict.fromkeys(machine["InitialDeployingContainers"], machine["MachineIP"])
    controllers, pods = [], []
    for service in data["ServiceList"]:
        names = service["ContainerList"]
        top, owner = deployment(service["Service"].lower(), replicas=len(names))
        controllers += [top, owner]
        asked = {
            "cpu": str(round(service["RequestCPU"] * unit)),
            "memory": str(round(service["RequestMem"] * unit)),
        }
        labels = {"app": service["Service"].lower()}
        spec: dict[str, Any] = {}
        if service["CompatibleMachines"] != "*":
            named = [
                {"key": "metadata.name", "operator": "In", "values": [machine]}
                for machine in service["CompatibleMachines"]
            ]
            terms = [{"matchFields": [requirement]} for requirement in named]
            required = {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}
            }
            spec["affinity"] = {"nodeAffinity": required}
        template = pod("", "m0", owner=owner, requests=asked, labels=labels, **spec)
        pods += [like(template, name.lower(), where[name]) for name in names]
    made = data["TrafficList"]
    ends = [(edge["Service1"].lower(), edge["Service2"].lower()) for edge in made]
    [request] = m3_policy().requests()
    traffic = Reading(
        request=request,
        unit="",
        values=np.array([edge["Traffic"] for edge in made]),
        ages=np.zeros(len(made)),
        expected=np.ones(len(made), dtype=np.bool_),
        pairs=tuple((f"default/{one}", f"default/{other}") for one, other in ends),
    )
    return snapshot(nodes, pods, controllers=controllers, readings=[traffic])


def openb_policy() -> Fragmentation:
    """GPUs alone, with shares of them; every type of pod has a say, as in the paper."""
    return Fragmentation(
        name="gpus",
        match=Match(all=True),
        resources=["gpu"],
        popularity="All",
        sharedGpus=GpuShares(resource=SHARE),
    )


def openb_rows(folder: Path, pods: str) -> tuple[list[Row], list[Row]]:
    """The nodes, and the pods of one list (`default`, `cpu050`, `gpushare40`)."""
    with (folder / "openb" / "openb_node_list_gpu_node.csv").open(newline="") as file:
        nodes = list(csv.DictReader(file))
    with gzip.open(folder / "openb" / f"openb_pod_list_{pods}.csv.gz", "rt", newline="") as file:
        return nodes, list(csv.DictReader(file))


def openb(
    nodes: list[Row],
    pods: list[Row],
    placed: dict[int, tuple[int, int]],
    *,
    shares: bool = False,
) -> Snapshot:
    """The cluster with some pods placed.

    placed: number of the pod to its node, and to the device where it shares one. The others are
    Pending. shares: whether nodes offer shares of GPUs, as with a device plugin that does.
    """
    top, owner = deployment("task", replicas=len(placed))
    waiting, its = deployment("waiting", replicas=len(pods) - len(placed))
    made = [_node(node, shares=shares) for node in nodes]
    specs: dict[str, Pod] = {}
    built = []
    for number, row in enumerate(pods):
        on, device = placed.get(number, (-1, -1))
        asked = _requests(row)
        pod_object = pod(
            row["name"],
            made[on].metadata.name if on >= 0 else "",
            owner=owner if on >= 0 else its,
            requests=asked,
            annotations={"alibabacloud.com/gpu-index": str(device)} if device >= 0 else {},
        )
        pod_object.spec = specs.setdefault(repr(asked), pod_object).spec
        built.append(pod_object)
    return snapshot(made, built, controllers=[top, owner, waiting, its])


def _node(row: Row, *, shares: bool) -> Node:
    room = {
        "cpu": f"{row['cpu_milli']}m",
        "memory": f"{row['memory_mib']}Mi",
        "pods": "1000",
        "nvidia.com/gpu": row["gpu"],
        **({SHARE: str(1000 * int(row["gpu"]))} if shares else {}),
    }
    return node(row["sn"], allocatable=room)


def _requests(row: Row) -> dict[str, str]:
    asked = {"cpu": f"{row['cpu_milli']}m", "memory": f"{row['memory_mib']}Mi"}
    gpus, share = int(row["num_gpu"]), int(row["gpu_milli"])
    if gpus == 1 and share < 1000:
        return {**asked, SHARE: str(share)}
    return {**asked, "nvidia.com/gpu": str(gpus)} if gpus else asked
