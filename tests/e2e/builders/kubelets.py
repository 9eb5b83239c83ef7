"""What kubelets and a topology exporter do about NUMA, which KWOK does not play."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import msgspec
import yaml

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.nodes import GPU
from tests.e2e.controlplane.api import ApiError, Manifest

_CRD = Path(__file__).with_name("topology_crd.yaml")
_KIND = ("topology.node.k8s.io/v1alpha2", "NodeResourceTopology")
_OBSERVED = "kai.scheduler/numa-placement-observed"
_LOOK = 0.2


@dataclass
class Kubelets:
    """Admits pods to zones of GPUs, refuses those that fit in none, and writes what is where.

    policies: node to the policy of its topology manager; scope is the container. Each node has two
    zones of `gpus` each. Lower zones go first; where best-effort finds no zone for all, it takes
    the GPUs wherever they are. refused: names of the pods that ended with TopologyAffinityError.
    """

    cluster: Cluster
    policies: Mapping[str, str]
    gpus: int = 4
    refused: list[str] = field(default_factory=list)
    lies: dict[str, tuple[str, list[int]]] = field(default_factory=dict)
    _written: dict[str, list[int]] = field(default_factory=dict)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        """Install the kind and begin; what is there already is taken as it comes."""
        api = self.cluster.api
        crd = yaml.safe_load(_CRD.read_text(encoding="utf-8"))
        api.apply(crd)
        self.cluster.until(self._served, "NodeResourceTopology")
        self._observe()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End, and take the kind away with all its objects."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self.cluster.api.delete(yaml.safe_load(_CRD.read_text(encoding="utf-8")))

    def free(self, node: str) -> list[int]:
        """What is free in each zone of a node."""
        left = [self.gpus, self.gpus]
        for where, taken in self.lies.values():
            if where == node:
                left = [room - more for room, more in zip(left, taken, strict=True)]
        return left

    def split(self) -> list[str]:
        """UIDs of the pods that lie in both zones."""
        return [uid for uid, (_, taken) in self.lies.items() if all(taken)]

    def _served(self) -> bool:
        try:
            self.cluster.api.request("GET", f"/apis/{_KIND[0]}/noderesourcetopologies")
        except ApiError:
            return False
        return True

    def _run(self) -> None:
        while not self._stop.wait(_LOOK):
            self._observe()

    def _observe(self) -> None:
        pods = [p for p in self.cluster.pods() if p["spec"].get("nodeName") in self.policies]
        present = {p["metadata"]["uid"] for p in pods}
        for uid in set(self.lies) - present:
            del self.lies[uid]
        for pod in sorted(pods, key=lambda p: str(p["metadata"]["name"])):
            if pod["metadata"]["uid"] not in self.lies:
                self._admit(pod)
        for node in self.policies:
            self._write(node)

    def _admit(self, pod: Manifest) -> None:
        node, uid = pod["spec"]["nodeName"], pod["metadata"]["uid"]
        asked = sum(
            int(c["resources"].get("requests", {}).get(GPU, 0)) for c in pod["spec"]["containers"]
        )
        left = self.free(node)
        whole = next((zone for zone, room in enumerate(left) if room >= asked), None)
        if whole is not None:
            self.lies[uid] = (node, [asked if zone == whole else 0 for zone in (0, 1)])
        elif self.policies[node] in ("best-effort", "none"):
            self.lies[uid] = (node, [left[0], asked - left[0]])
        else:
            self.refused.append(pod["metadata"]["name"])
            status = {"phase": "Failed", "reason": "TopologyAffinityError"}
            self.cluster.api.patch(pod, {"status": status}, "status")
            return
        reported = [
            {"zone": f"node-{zone}", "amount": {GPU: str(amount)}}
            for zone, amount in enumerate(self.lies[uid][1])
            if amount
        ]
        note = {_OBSERVED: msgspec.json.encode(reported).decode()}
        self.cluster.api.patch(pod, {"metadata": {"annotations": note}})

    def _write(self, node: str) -> None:
        """The node's object, where something has changed."""
        left = self.free(node)
        if self._written.get(node) == left:
            return
        self._written[node] = left
        total = str(self.gpus)
        zones: list[dict[str, Any]] = [
            {
                "name": f"node-{number}",
                "type": "Node",
                "costs": [{"name": "node-0", "value": 10}, {"name": "node-1", "value": 20}],
                "resources": [
                    {"name": GPU, "capacity": total, "allocatable": total, "available": str(room)}
                ],
            }
            for number, room in enumerate(left)
        ]
        attributes = [
            {"name": "topologyManagerPolicy", "value": self.policies[node]},
            {"name": "topologyManagerScope", "value": "container"},
        ]
        self.cluster.api.apply(
            {
                "apiVersion": _KIND[0],
                "kind": _KIND[1],
                "metadata": {"name": node},
                "attributes": attributes,
                "zones": zones,
            }
        )
