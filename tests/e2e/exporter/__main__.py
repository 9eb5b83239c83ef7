"""`python -m tests.e2e.exporter`: serve the load of a cluster until SIGTERM."""

import argparse
import signal
import sys
import threading
from pathlib import Path

import msgspec

from tests.e2e.controlplane.kubeconfig import connect
from tests.e2e.exporter.faults import Faults
from tests.e2e.exporter.pages import Pages
from tests.e2e.exporter.serving import control_server, metrics_server
from tests.e2e.exporter.watching import follow
from tests.e2e.exporter.world import World


def main() -> int:
    """Follow the API server, serve, and end well on SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.exporter", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True, help="pages: /metrics/<job>")
    parser.add_argument("--control", type=int, required=True, help="port of the fault switch")
    parser.add_argument("--faults", default="{}", help="faults from the start, JSON")
    options = parser.parse_args()
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    world = World()
    pages = Pages(world, msgspec.json.decode(options.faults, type=Faults))
    follow(connect(options.kubeconfig), world)
    metrics_server(options.port, pages, ended)
    control_server(options.control, pages)
    ended.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
