"""The metrics of the test cluster: load follows the pods, and every fault shows in Prometheus."""

from collections.abc import Callable

import pytest
import requests

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.load import BaseLoad, Load
from tests.e2e.builders.nodes import nodes
from tests.e2e.builders.workloads import bare_pod, deployment
from tests.e2e.exporter.faults import Faults
from tests.e2e.exporter.metrics import Metrics

pytestmark = pytest.mark.e2e
_BUSY = "(1 - avg by (instance) (rate(node_cpu_seconds_total{mode='idle'}[5s])))"
_GPU = "avg by (Hostname) (DCGM_FI_PROF_GR_ENGINE_ACTIVE)"


def test_load_follows_an_evicted_pod(cluster: Cluster, metrics: Metrics) -> None:
    cluster.create(*nodes(3, cpu=8, gpus=2, load=BaseLoad(cpu=0.8)))
    load = Load(cpu=4, memory=1 << 30, gpu=0.9, transmit=1e8)
    cluster.place(deployment("hot", 1, gpus=2, load=load), {"n1": 1})
    prometheus = metrics.prometheus
    prometheus.wait_for(f"{_BUSY} > 0.59 and {_BUSY} < 0.61")
    prometheus.wait_for("avg by (Hostname) (DCGM_FI_DEV_GPU_UTIL{Hostname='n1'}) == 90")
    assert prometheus.value(f"sum({_GPU})") == pytest.approx(0.9)
    assert prometheus.value("sum(rate(container_cpu_usage_seconds_total{container!=''}[5s]))")

    cluster.api.patch(cluster.api.read("v1", "Node", "n1"), {"spec": {"unschedulable": True}})
    (pod,) = cluster.pods("hot")
    assert cluster.api.evict(pod) == 201
    cluster.until(lambda: "n1" not in cluster.placement("hot"), "a landing elsewhere")
    cluster.settled()

    (landed,) = cluster.placement("hot")
    prometheus.wait_for(f"avg(DCGM_FI_DEV_GPU_UTIL{{Hostname='{landed}'}}) == 90", deadline=20)
    assert prometheus.value("avg(DCGM_FI_DEV_GPU_UTIL{Hostname='n1'})") == 0
    assert not prometheus.query("DCGM_FI_DEV_GPU_UTIL{Hostname='n1',exported_pod!=''}")
    prometheus.wait_for(f"{_BUSY} < 0.11", series=2, deadline=20)
    sent = "rate(node_network_transmit_bytes_total{device='eth0'}[5s]) > 0.99e8"
    prometheus.wait_for(sent, deadline=20)


def test_faults_show_in_prometheus(cluster: Cluster, metrics: Metrics) -> None:
    cluster.create(*nodes(4, gpus=1))
    prometheus = metrics.prometheus
    prometheus.wait_for("node_time_seconds", series=4)

    metrics.inject(jobs=("node-exporter",), target="error")
    prometheus.wait_for("up{job='node-exporter'} == 0")
    prometheus.wait_for("absent(node_time_seconds)")
    assert len(prometheus.query("DCGM_FI_DEV_GPU_UTIL")) == 4

    metrics.inject(missing_share=0.5)
    prometheus.wait_for("count(node_time_seconds) == 2")

    metrics.inject(missing_nodes=("n1",), not_a_number=("DCGM_FI_PROF",))
    prometheus.wait_for("absent(node_time_seconds{instance='10.1.0.2:9100'})")
    prometheus.wait_for(
        "count(DCGM_FI_PROF_GR_ENGINE_ACTIVE != DCGM_FI_PROF_GR_ENGINE_ACTIVE) == 3"
    )

    metrics.inject(duplicated=0.5, hidden=("DCGM_FI_PROF",))
    prometheus.wait_for("count by (instance) (node_time_seconds) == 2", series=4)
    prometheus.wait_for("absent(DCGM_FI_PROF_GR_ENGINE_ACTIVE)")

    metrics.inject(jobs=("kubelet",), target="hang")
    prometheus.wait_for("up{job='kubelet'} == 0")
    metrics.heal()
    prometheus.wait_for("up == 1", series=4)


def test_frozen_pages_grow_old_or_seem_fresh(
    cluster: Cluster, start_metrics: Callable[..., Metrics]
) -> None:
    cluster.create(*nodes(2, gpus=1))
    aging = start_metrics(Faults(explicit_timestamps=True))
    late = start_metrics(Faults(age=120))
    stuck = start_metrics()
    age = "time() - timestamp(DCGM_FI_DEV_GPU_UTIL)"
    late.prometheus.wait_for(f"({age} > 119) < 125", series=2)
    for metrics in (aging, stuck):
        metrics.prometheus.wait_for(f"({age}) < 3", series=2)
        metrics.inject(frozen=True, explicit_timestamps=metrics is aging)
    aging.prometheus.wait_for(f"({age}) > 4", series=2)
    clock = stuck.prometheus.value("max(node_time_seconds)")
    stuck.prometheus.wait_for("time() - max(node_time_seconds) > 4")
    assert stuck.prometheus.value("max(node_time_seconds)") == clock
    assert len(stuck.prometheus.query(f"({age}) < 3")) == 2


def test_declared_load_may_change_while_a_pod_runs(cluster: Cluster, metrics: Metrics) -> None:
    cluster.create(*nodes(1, gpus=1), bare_pod("p", gpus=1, load=Load(gpu=0.2)))
    cluster.settled()
    metrics.prometheus.wait_for("DCGM_FI_DEV_GPU_UTIL == 20")

    (pod,) = cluster.pods("p")
    cluster.annotate(pod, **Load(gpu=0.7).annotations())

    metrics.prometheus.wait_for("DCGM_FI_DEV_GPU_UTIL == 70")
    assert metrics.prometheus.value("count(DCGM_FI_DEV_GPU_UTIL{exported_pod='p'})") == 1


def test_the_proxy_spoils_answers(cluster: Cluster, metrics: Metrics) -> None:
    url = f"{metrics.proxy.url}/api/v1/query?query=up"
    with requests.Session() as session:
        session.trust_env = False
        assert "warnings" not in session.get(url, timeout=5).json()
        metrics.proxy.mode = "warnings"
        spoiled = session.get(url, timeout=5).json()
        assert (spoiled["status"], spoiled["warnings"]) == ("success", ["partial"])
        metrics.proxy.mode = "unavailable"
        assert session.get(url, timeout=5).status_code == 503
        metrics.proxy.mode = "truncated"
        assert not session.get(url, timeout=5).text.endswith("}")
        metrics.proxy.mode = "hang"
        with pytest.raises(requests.Timeout):
            session.get(url, timeout=0.5)
