"""cAdvisor's series as kubelet serves them: containers, the pod as a whole, and its sandbox."""

from collections.abc import Iterator
from functools import lru_cache
from uuid import NAMESPACE_DNS, uuid5

from tests.e2e.builders.load import QUEUE, TALKS_TO, TALKS_TO_ZONE
from tests.e2e.builders.nodes import ZONE
from tests.e2e.exporter.objects import Pod
from tests.e2e.exporter.series import Sample, View, labels
from tests.e2e.exporter.world import RunningNode, RunningPod


@lru_cache(maxsize=4096)
def _target(node: str, address: str, copy: int) -> str:
    return labels(
        endpoint="https-metrics",
        instance=f"{address}:{10250 + copy}",
        metrics_path="/metrics/cadvisor",
        node=node,
        service="kubelet-copy" if copy else "prometheus-kubelet",
    )


def _id(pod: Pod, part: str) -> str:
    return uuid5(NAMESPACE_DNS, f"{pod.metadata.uid}/{part}").hex


def _group(pod: Pod, part: str = "") -> str:
    tail = f"/cri-containerd-{_id(pod, part)}.scope" if part else ""
    return f"/kubepods.slice/kubepods-burstable.slice/pod{pod.metadata.uid}.slice{tail}"


def series(node: RunningNode, view: View) -> Iterator[Sample]:
    """Every pod that runs on one node."""
    target = _target(node.node.metadata.name, node.node.address, view.copy)
    for running in node.pods.values():
        yield from _pod(node, running, target, view)


def _pod(node: RunningNode, running: RunningPod, target: str, view: View) -> Iterator[Sample]:
    pod, now, factor = running.pod, view.now, view.factor
    own = f'{target},namespace="{pod.metadata.namespace}",pod="{pod.metadata.name}"'
    cpu = running.cpu.read(now) * factor
    memory = running.memory * factor
    whole = f'{own},id="{_group(pod)}"'
    # The first container does the work; its sum and the pod's own row count the same twice.
    for index, container in enumerate(pod.spec.containers):
        row = (
            f'{own},container="{container.name}",id="{_group(pod, container.name)}",'
            f'image="{container.image}",name="{_id(pod, container.name)}"'
        )
        first = 1.0 if index == 0 else 0.0
        yield Sample("container_cpu_usage_seconds_total", f'{row},cpu="total"', cpu * first)
        yield Sample("container_memory_working_set_bytes", row, memory * first)
    yield Sample("container_cpu_usage_seconds_total", f'{whole},cpu="total"', cpu)
    yield Sample("container_memory_working_set_bytes", whole, memory)
    sandbox = (
        f'{own},id="{_group(pod, "sandbox")}",image="registry.k8s.io/pause:3.10",'
        f'interface="eth0",name="{_id(pod, "sandbox")}"'
    )
    # A pod in the host's network shows the host's card, and so does every other of its kind.
    shared = pod.spec.hostNetwork
    transmit = node.transmit if shared else running.transmit
    receive = node.receive if shared else running.receive
    yield Sample("container_network_transmit_bytes_total", sandbox, transmit.read(now) * factor)
    yield Sample("container_network_receive_bytes_total", sandbox, receive.read(now) * factor)
    if QUEUE in pod.metadata.annotations:
        # Of the pod's own exporter, found by its annotations: labels as such a job gives them.
        yield Sample("inference_queue_length", own, pod.metadata.load("queue") * factor)
    yield from _talk(node, running, own, running.transmit.read(now) * factor)


def _talk(node: RunningNode, running: RunningPod, own: str, sent: float) -> Iterator[Sample]:
    """What a mesh's proxy beside the pod, or a flow log, would count: all goes to one other end."""
    metadata = running.pod.metadata
    space, notes = metadata.namespace, metadata.annotations
    source = f'{own},source_namespace="{space}",source_workload="{metadata.labels.get("app", "")}"'
    if (partner := notes.get(TALKS_TO)) is not None:
        other = f'destination_namespace="{space}",destination_workload="{partner}"'
        yield Sample("mesh_sent_bytes_total", f"{source},{other}", sent)
    if (zone := notes.get(TALKS_TO_ZONE)) is not None:
        here = node.node.metadata.labels.get(ZONE, "")
        zones = f'source_zone="{here}",destination_zone="{zone}"'
        yield Sample("flow_sent_bytes_total", f"{source},{zones}", sent)
