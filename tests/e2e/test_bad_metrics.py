"""Whatever is wrong with the metrics: no eviction, a reason in the report, and an exit code."""

from pathlib import Path

import pytest

from tests.e2e.builders.cluster import Cluster
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.load_scenarios import hot_gpus
from tests.e2e.loop import USER, WINDOW, Loop, plan, swift, utilization, write_policies
from tests.e2e.program import Program

pytestmark = pytest.mark.e2e


def nothing_moves(cluster: Cluster, program: Program, policies: Path, codes: set[str]) -> None:
    """Assert that an Enforce cycle evicts nothing, says why with one of the codes, and exits 1."""
    mark = cluster.control_plane.audit.mark()
    report = Loop(program, policies).once(code=1)
    (policy,) = report["policies"]
    assert policy["problem"], report["readings"]
    assert policy["problem"]["code"] in codes, policy["problem"]
    assert report["moves"] == []
    assert not cluster.control_plane.audit.since(mark).evictions(by=USER)


def test_bad_metrics_evict_nothing(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    hot_gpus(cluster, count=12, hot=2)
    metrics.warm(2 * WINDOW)
    policies = write_policies(tmp_path / "policies", utilization(gpu="50%"), swift())
    _, healthy = plan(actor, policies)
    assert healthy["moves"], "the hot nodes must be seen while the metrics are fine"

    spoiled = Program(actor.binary, actor.kubeconfig, metrics.proxy.url, actor.environment)
    for mode in ("unavailable", "denied", "page", "truncated", "failed"):
        metrics.proxy.mode = mode
        nothing_moves(cluster, spoiled, policies, {"RDG001"})
    metrics.proxy.mode = "warnings"
    nothing_moves(cluster, spoiled, policies, {"RDG002"})
    gone = Program(actor.binary, actor.kubeconfig, "http://127.0.0.1:1", actor.environment)
    nothing_moves(cluster, gone, policies, {"RDG001"})

    metrics.inject(missing_share=0.5)
    metrics.prometheus.wait_for("count(count by (Hostname) (DCGM_FI_DEV_GPU_UTIL)) == 6")
    nothing_moves(cluster, actor, policies, {"RDG003", "RDG004"})
    metrics.inject(not_a_number=("DCGM_FI",))
    metrics.prometheus.wait_for("count(DCGM_FI_DEV_GPU_UTIL != DCGM_FI_DEV_GPU_UTIL) == 96")
    nothing_moves(cluster, actor, policies, {"RDG006"})
    metrics.inject(hidden=("DCGM_FI",))
    metrics.prometheus.wait_for(f"absent(count_over_time(DCGM_FI_DEV_GPU_UTIL[{WINDOW}s]))")
    nothing_moves(cluster, actor, policies, {"RDG004", "RDG009", "RDG003"})
    metrics.inject(target="error")
    metrics.prometheus.wait_for("absent(up == 1)")
    nothing_moves(cluster, actor, policies, {"RDG004", "RDG009", "RDG003"})

    metrics.heal()
    metrics.prometheus.wait_for("count(DCGM_FI_DEV_GPU_UTIL) == 96")
    metrics.warm(2 * WINDOW)
    assert plan(actor, policies)[1]["moves"], "the faults are gone, so the hot nodes are seen again"


def test_stale_values_evict_nothing(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    hot_gpus(cluster, count=12, hot=2)
    metrics.inject(explicit_timestamps=True)
    metrics.warm(2 * WINDOW)
    # A window longer than the greatest age: the values are there, and all too old.
    patient = utilization(gpu="50%").replace(f"window: {WINDOW}s", "window: 2m")
    policies = write_policies(tmp_path / "policies", patient, swift())
    metrics.inject(frozen=True, explicit_timestamps=True)
    metrics.prometheus.wait_for("time() - timestamp(DCGM_FI_DEV_GPU_UTIL) > 16", series=96)
    nothing_moves(cluster, actor, policies, {"RDG004"})

    # A window that holds none of them any more.
    short = write_policies(tmp_path / "short", utilization(gpu="50%"), swift())
    nothing_moves(cluster, actor, short, {"RDG003"})


def test_differing_copies_evict_nothing(
    cluster: Cluster, metrics: Metrics, actor: Program, tmp_path: Path
) -> None:
    hot_gpus(cluster, count=12, hot=2)
    metrics.inject(duplicated=0.2)
    metrics.warm(2 * WINDOW)
    policies = write_policies(tmp_path / "policies", utilization(gpu="50%", cpu="50%"), swift())

    nothing_moves(cluster, actor, policies, {"RDG005"})
