"""kube-state-metrics' series that place each pod on its node."""

from collections.abc import Iterator

from tests.e2e.exporter.series import MONITORING, Sample, View, labels
from tests.e2e.exporter.world import RunningNode

_TARGET = labels(
    endpoint="http",
    instance="10.244.0.9:8080",
    service="kube-prometheus-stack-kube-state-metrics",
)


def series(node: RunningNode, view: View) -> Iterator[Sample]:
    """One node and the pods that run on it; a second copy comes from another instance."""
    target = _TARGET.replace("10.244.0.9", "10.244.0.10") if view.copy else _TARGET
    name, address = node.node.metadata.name, node.node.address
    info = labels(node=name, internal_ip=address, system_uuid=name, container=MONITORING)
    yield Sample("kube_node_info", f"{target},{info}", 1.0)
    for running in node.pods.values():
        pod = running.pod
        owner = pod.metadata.ownerReferences[0] if pod.metadata.ownerReferences else {}
        own = labels(
            namespace=pod.metadata.namespace,
            pod=pod.metadata.name,
            uid=pod.metadata.uid,
        )
        about = labels(
            node=name,
            host_ip=address,
            pod_ip=pod.status.podIP,
            created_by_kind=str(owner.get("kind", "")),
            created_by_name=str(owner.get("name", "")),
            host_network=str(pod.spec.hostNetwork).lower(),
        )
        yield Sample("kube_pod_info", f"{target},{own},{about}", 1.0)
        yield Sample("kube_pod_start_time", f"{target},{own}", round(running.started))
