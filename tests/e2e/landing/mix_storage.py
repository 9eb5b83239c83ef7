"""Volumes of every kind that ties a pod to nodes."""

from collections.abc import Sequence
from random import Random
from typing import Any

from tests.e2e.builders.nodes import HOSTNAME, ZONE
from tests.e2e.builders.surroundings import claim, volume

Manifest = dict[str, Any]
WAIT = "wait"
"""The class whose volumes are bound when their first pod is scheduled."""
GROW = "grow"
"""The end of the name of the class whose volumes are made when their first pod is scheduled."""
DRIVER = "disk.test"
_KINDS = ("zonal", "reach", "waiting", "growing", "own", "exclusive", "attached", "disk", "disk")
_EXCLUSIVE = ["ReadWriteOncePod"]


class Storage:
    """Draws volumes; each name is used once."""

    def __init__(
        self, draw: Random, prefix: str, nodes: Sequence[str], zones: Sequence[str]
    ) -> None:
        self._draw, self._prefix, self._nodes, self._zones = draw, prefix, nodes, zones
        self._count = 0
        self._grow = f"{prefix}{GROW}"

    def surroundings(self) -> list[Manifest]:
        """Classes, volumes that wait for a claim, and drivers with their limits and room."""
        draw = self._draw
        made = [_class(WAIT, "kubernetes.io/no-provisioner"), self._growing(), *self._room()]
        for number in range(draw.randint(2, 6)):
            free = volume(f"{self._prefix}free{number}", size=f"{draw.choice([5, 10, 20])}Gi")
            free["spec"]["storageClassName"] = WAIT
            free["spec"]["nodeAffinity"] = self._reach()
            made.append(free)
        if draw.random() < 0.5:
            made += [self._limit(name) for name in self._nodes if draw.random() < 0.6]
        return made

    def _growing(self) -> Manifest:
        """A class whose volumes are made where the pod goes, in some zones only."""
        made = _class(self._grow, DRIVER)
        if self._zones and self._draw.random() < 0.5:
            values = self._draw.sample(self._zones, 1)
            made["allowedTopologies"] = [
                {"matchLabelExpressions": [{"key": ZONE, "values": values}]}
            ]
        return made

    def _room(self) -> list[Manifest]:
        """The driver, and how much it can still make in each segment, where it reports that."""
        reported = self._draw.random() < 0.5
        driver = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIDriver",
            "metadata": {"name": DRIVER},
            "spec": {"storageCapacity": reported, "attachRequired": False},
        }
        segments = [("disk", "ssd"), ("disk", "hdd"), *((ZONE, zone) for zone in self._zones)]
        rooms = [
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "CSIStorageCapacity",
                "metadata": {"name": f"{self._prefix}-{value}", "namespace": "default"},
                "storageClassName": self._grow,
                "nodeTopology": {"matchLabels": {key: value}},
                "capacity": self._draw.choice(["1Gi", "15Gi", "100Gi"]),
            }
            for key, value in segments
            if self._draw.random() < 0.5
        ]
        return [driver, *rooms]

    def _limit(self, node: str) -> Manifest:
        """How many volumes the driver attaches to a node."""
        driver = {
            "name": DRIVER,
            "nodeID": node,
            "topologyKeys": [],
            "allocatable": {"count": self._draw.randint(1, 2)},
        }
        return {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSINode",
            "metadata": {"name": node},
            "spec": {"drivers": [driver]},
        }

    def volumes(self, namespace: str) -> tuple[list[Manifest], list[dict[str, Any]]]:
        """What has to be made first, and the pod's `volumes`."""
        self._count += 1
        kind = self._draw.choice(_KINDS)
        if kind == "disk":
            return [], [self._disk()]
        named = f"{self._prefix}v{self._count}"
        mounted = [{"name": "data", "persistentVolumeClaim": {"claimName": named}}]
        asking = claim(named, namespace=namespace)
        if kind in {"waiting", "growing", "own"}:
            del asking["spec"]["volumeName"]
            asking["spec"]["storageClassName"] = WAIT if kind == "waiting" else self._grow
            if kind == "own":
                template = {"spec": asking["spec"]}
                return [], [{"name": "own", "ephemeral": {"volumeClaimTemplate": template}}]
            return [asking], mounted
        backing = volume(named)
        if kind == "zonal" and self._zones:
            reached = self._draw.choice(["a", "b", "a__b"])
            backing["metadata"]["labels"] = {ZONE: reached}
        elif kind == "exclusive":
            backing["spec"]["accessModes"] = _EXCLUSIVE
            asking["spec"]["accessModes"] = _EXCLUSIVE
        elif kind != "attached":
            backing["spec"]["nodeAffinity"] = self._reach()
        return [backing, asking], mounted

    def _disk(self) -> dict[str, Any]:
        """A disk named in the pod itself, of which there are few."""
        number = self._draw.randint(0, 2)
        choices: list[dict[str, Any]] = [
            {"gcePersistentDisk": {"pdName": f"disk{number}", "readOnly": number == 0}},
            {"awsElasticBlockStore": {"volumeID": f"disk{number}"}},
            {"iscsi": {"iqn": f"iqn.2001-04.test:{number}", "lun": 0, "targetPortal": "10.9.9.9"}},
            {"rbd": {"monitors": ["10.9.9.8"], "image": f"disk{number}", "pool": "p"}},
            {"image": {"reference": f"registry.test/big{number}:1"}},
        ]
        return {"name": "disk", **self._draw.choice(choices)}

    def _reach(self) -> dict[str, Any]:
        """The nodes from which a volume can be reached."""
        draw = self._draw
        key, values = "disk", [draw.choice(["ssd", "hdd"])]
        if self._zones and draw.random() < 0.5:
            key, values = ZONE, draw.sample(self._zones, draw.randint(1, 2))
        elif draw.random() < 0.4:
            key, values = HOSTNAME, draw.sample(self._nodes, min(4, len(self._nodes)))
        term = {"matchExpressions": [{"key": key, "operator": "In", "values": values}]}
        return {"required": {"nodeSelectorTerms": [term]}}


def _class(name: str, provisioner: str) -> Manifest:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    }
