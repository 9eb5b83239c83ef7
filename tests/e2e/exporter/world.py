"""Who runs where right now, and what has been used so far."""

import time
from threading import RLock

from tests.e2e.builders.nodes import GPU
from tests.e2e.exporter.counter import Counter
from tests.e2e.exporter.objects import Node, Pod

# 10 Gbit/s in bytes per second.
_SPEED = 1.25e9


class RunningPod:
    """A pod that uses something on its node, with its counters.

    cpu: core-seconds. transmit, receive: bytes. devices: indices of its GPUs.
    """

    def __init__(self, pod: Pod, now: float) -> None:
        """Starts at zero: a container's counters begin with the container."""
        self.pod = pod
        self.started = now
        self.cpu = Counter(now)
        self.transmit = Counter(now)
        self.receive = Counter(now)
        self.devices: list[int] = []

    @property
    def memory(self) -> float:
        """Working set, bytes."""
        return self.pod.metadata.load("memory")

    def refresh(self, scale: dict[str, float], now: float) -> None:
        """Use what is declared, as far as the node has it to give."""
        declared = self.pod.metadata
        own = not self.pod.spec.hostNetwork
        self.cpu.grow(declared.load("cpu") * scale["cpu"], now)
        self.transmit.grow(declared.load("network-tx") * scale["network-tx"] * own, now)
        self.receive.grow(declared.load("network-rx") * scale["network-rx"] * own, now)


class RunningNode:
    """A node with the pods on it. busy, idle: core-seconds; transmit, receive: bytes."""

    def __init__(self, node: Node, now: float) -> None:
        """Starts at zero, idle."""
        self.node = node
        self.busy = Counter(now)
        self.idle = Counter(now)
        self.transmit = Counter(now)
        self.receive = Counter(now)
        self.pods: dict[str, RunningPod] = {}

    @property
    def speed(self) -> float:
        """Bytes per second of its network card."""
        return self.node.metadata.load("network-speed", _SPEED)

    @property
    def gpus(self) -> int:
        """How many GPUs it has, each of which its device plugin offers so many times."""
        return int(self.node.capacity(GPU)) // self.replicas

    @property
    def replicas(self) -> int:
        """How many pods may share a GPU."""
        return int(self.node.metadata.labels.get("nvidia.com/gpu.replicas", "1"))

    @property
    def memory_used(self) -> float:
        """Bytes in use: its own and its pods'."""
        used = self.node.metadata.load("base-memory") + sum(p.memory for p in self.pods.values())
        return min(used, self.node.capacity("memory"))

    def owners_of(self, device: int) -> list[RunningPod]:
        """The pods that have a GPU; several where its device plugin shares it."""
        return [pod for pod in self.pods.values() if device in pod.devices]

    def admit(self, running: RunningPod) -> None:
        """Take a pod in, and give it the GPUs that the fewest have, as the device plugin does."""
        held = {device: len(self.owners_of(device)) for device in range(self.gpus)}
        free = [device for device in held if held[device] < self.replicas]
        running.devices = sorted(free, key=lambda device: (held[device], device))[
            : running.pod.gpus
        ]
        self.pods[running.pod.metadata.uid] = running

    def refresh(self, now: float) -> None:
        """Set every rate again after a change; pods share what they ask too much of."""
        scale = {}
        limits = {"cpu": self.node.capacity("cpu"), "network-tx": self.speed}
        limits["network-rx"] = self.speed
        rates = {}
        for key, limit in limits.items():
            base = self.node.metadata.load(f"base-{key}")
            asked = base + sum(p.pod.metadata.load(key) for p in self.pods.values())
            scale[key] = min(1.0, limit / asked) if asked else 1.0
            least = self.node.metadata.load(f"least-{key}")
            rates[key] = min(max(asked, least), limit)
        for pod in self.pods.values():
            pod.refresh(scale, now)
        self.busy.grow(rates["cpu"], now)
        self.idle.grow(limits["cpu"] - rates["cpu"], now)
        self.transmit.grow(rates["network-tx"], now)
        self.receive.grow(rates["network-rx"], now)


class World:
    """Follows nodes and pods by their watch events; hold `lock` while reading several things."""

    def __init__(self) -> None:
        """Empty."""
        self.lock = RLock()
        self.nodes: dict[str, RunningNode] = {}
        self._pods: dict[str, Pod] = {}

    def node_changed(self, node: Node) -> None:
        """A node came, or changed; one that came again under its name starts at zero."""
        with self.lock:
            now = time.time()
            known = self.nodes.get(node.metadata.name)
            if known is None or known.node.metadata.uid != node.metadata.uid:
                known = self.nodes[node.metadata.name] = RunningNode(node, now)
                for pod in self._pods.values():
                    if pod.spec.nodeName == node.metadata.name:
                        known.admit(RunningPod(pod, now))
            known.node = node
            known.refresh(now)

    def node_gone(self, node: Node) -> None:
        """A node went, with all its series."""
        with self.lock:
            known = self.nodes.get(node.metadata.name)
            if known is not None and known.node.metadata.uid == node.metadata.uid:
                del self.nodes[node.metadata.name]

    def pod_changed(self, pod: Pod) -> None:
        """A pod came, moved on in its life, or declares another load."""
        if not pod.runs:
            self.pod_gone(pod)
            return
        with self.lock:
            now = time.time()
            self._pods[pod.metadata.uid] = pod
            node = self.nodes.get(pod.spec.nodeName)
            if node is None:
                return
            known = node.pods.get(pod.metadata.uid)
            if known is None:
                node.admit(RunningPod(pod, now))
            else:
                known.pod = pod
            node.refresh(now)

    def pod_gone(self, pod: Pod) -> None:
        """A pod went, or ended: its load with it."""
        with self.lock:
            self._pods.pop(pod.metadata.uid, None)
            node = self.nodes.get(pod.spec.nodeName)
            if node is not None and node.pods.pop(pod.metadata.uid, None) is not None:
                node.refresh(time.time())

    def reconcile(self, nodes: list[Node] | None = None, pods: list[Pod] | None = None) -> None:
        """Bring one whole kind to what a list says."""
        with self.lock:
            if nodes is not None:
                uids = {node.metadata.uid for node in nodes}
                for known in [n.node for n in self.nodes.values()]:
                    if known.metadata.uid not in uids:
                        self.node_gone(known)
                for node in nodes:
                    self.node_changed(node)
            if pods is not None:
                uids = {pod.metadata.uid for pod in pods}
                for gone in [p for p in self._pods.values() if p.metadata.uid not in uids]:
                    self.pod_gone(gone)
                for pod in pods:
                    self.pod_changed(pod)
