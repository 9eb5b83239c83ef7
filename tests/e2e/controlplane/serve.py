"""`python -m tests.e2e.controlplane.serve`: everything for trying the program by hand.

Starts the control plane, the exporter, Prometheus and the spoiling proxy, makes a small cluster
with hot GPU nodes in it, prints the addresses, and stays until SIGTERM or Ctrl-C.
"""

import argparse
import signal
import sys
import tempfile
import threading
from pathlib import Path

from tests.e2e.builders.cluster import Cluster
from tests.e2e.controlplane.build import BuildError
from tests.e2e.controlplane.processes import StartError
from tests.e2e.controlplane.server import ControlPlane
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.load_scenarios import hot_gpus

_SAID = """\
kubeconfig          {kubeconfig}
API server          {api}
Prometheus          {prometheus}
Prometheus, proxied {proxy}
exporter            {exporter}/<job>
faults              curl -X PUT {control}/faults -d '{{"target": "error"}}'
audit log           {audit}
logs                {logs}
"""


def main() -> int:
    """Start, print, wait, stop; 1 where something did not come up."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.e2e.controlplane.serve",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--empty", action="store_true", help="no nodes and no pods")
    parser.add_argument("--nodes", type=int, default=12, help="nodes, a third of them hot")
    options = parser.parse_args()
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    with tempfile.TemporaryDirectory(prefix="rescheduler-serve-") as folder:
        try:
            _serve(Path(folder), 0 if options.empty else options.nodes, ended)
        except (BuildError, StartError) as error:
            sys.stderr.write(f"{error}\n")
            return 1
    return 0


def _serve(folder: Path, count: int, ended: threading.Event) -> None:
    plane = ControlPlane(folder)
    try:
        metrics = Metrics(folder / "metrics", plane.exporter_kubeconfig)
        try:
            if count:
                hot_gpus(Cluster(plane), count, hot=max(1, count // 3))
            sys.stdout.write(
                _SAID.format(
                    kubeconfig=plane.kubeconfig,
                    api=plane.url,
                    prometheus=metrics.url,
                    proxy=metrics.proxy.url,
                    exporter=metrics.exporter_url,
                    control=metrics.control_url,
                    audit=plane.layout.audit,
                    logs=plane.logs,
                )
            )
            sys.stdout.flush()
            ended.wait()
        finally:
            metrics.stop()
    finally:
        plane.stop()


if __name__ == "__main__":
    sys.exit(main())
