"""Make the recording that the demo plays: a real control plane of 100 nodes, with trouble in it.

Run as `python -m tests.recordings.record`.
"""

import tempfile
from pathlib import Path

from tests.e2e.builders.cluster import Cluster
from tests.e2e.builders.load import BaseLoad, Load
from tests.e2e.builders.nodes import nodes
from tests.e2e.builders.surroundings import budget
from tests.e2e.builders.workloads import deployment
from tests.e2e.controlplane.server import ControlPlane
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.program import ROOT, Program, install_program

HERE = Path(__file__).parent
HOT = 5


def build(cluster: Cluster) -> None:
    """60 GPU nodes, 5 of them hot; 40 plain ones, whose web pods all sit in two of three zones."""
    base = BaseLoad(cpu=1.0, memory=4 << 30)
    cluster.create(
        *nodes(60, "gpu-", zones=["a", "b", "c"], cpu=64, memory="512Gi", gpus=8, load=base),
        *nodes(40, "cpu-", zones=["a", "b", "c"], cpu=32, memory="128Gi", load=base),
    )
    gpu = [f"gpu-{number}" for number in range(1, 61)]
    cpu = [f"cpu-{number}" for number in range(1, 41)]
    rows = []
    for number in range(8):
        load = Load(gpu=0.95, cpu=2.0, memory=8 << 30)
        app = deployment(f"train-{number}", HOT, cpu=4, memory="16Gi", gpus=1, load=load)
        rows.append((app, gpu[:HOT]))
    for number in range(5):
        own = gpu[HOT + number :: 5]
        load = Load(gpu=0.8, cpu=1.0, memory=4 << 30)
        app = deployment(f"serve-{number}", len(own), cpu=2 + number, gpus=1, load=load)
        rows.append((app, own))
    for number in range(70):
        zoned = [name for name in cpu if number > 5 or int(name[4:]) % 3 != 0]
        places = [zoned[(number * 7 + step) % len(zoned)] for step in range(20)]
        load = Load(cpu=0.1, memory=1 << 28)
        rows.append((deployment(f"web-{number}", 20, cpu="200m", load=load), places))
    cluster.create(*(budget(app["metadata"]["name"], max_unavailable=1) for app, _ in rows))
    cluster.arrange(rows, deadline=200)


def main() -> None:
    """Build, measure, record, stop."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plane = ControlPlane(folder / "plane")
        metrics = None
        try:
            build(Cluster(plane))
            metrics = Metrics(folder / "metrics", plane.exporter_kubeconfig)
            metrics.warm(20)
            binary = install_program(folder)
            program = Program(binary, plane.kubeconfig, metrics.url)
            file = ROOT / "tests" / "recordings" / "gpu-cluster.snapshot"
            done = program.run("record", "--out", file, "--policies", HERE / "policies")
            if done.code:
                raise SystemExit(done.stderr)
        finally:
            if metrics is not None:
                metrics.stop()
            plane.stop()


if __name__ == "__main__":
    main()
