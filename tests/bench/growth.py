"""`python -m tests.bench.growth`: what `rescheduler plan` costs as a cluster grows.

One line a size, 30 pods a node: CPU seconds and peak memory of the whole process, from its start to
the written plan, on a recording with every reading, with all policies that the project ships and
replacements steered. The processes that make the recordings are not counted.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import cast

from rescheduler.sources.kubernetes.cluster import read_cluster
from rescheduler.sources.kubernetes.transport import Connection
from rescheduler.sources.policy_files import load_policies
from rescheduler.sources.recording import save
from tests.bench.__main__ import NETWORKS, POLICIES, ROOT
from tests.bench.load import readings
from tests.bench.synthetic import Fleet

SIZES = (500, 1_000, 2_500, 5_000, 10_000)
PODS = 30
"""Of each node."""
STEERED = "\n  steering: {by: AdmissionPolicy, strength: Require}\n"
MADE = (0, 1)
"""Exit codes with a plan: 1 where a policy could not be evaluated, such as NUMA without zones."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.growth", description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--record", type=Path, help="make the input in this folder, and end")
    options = parser.parse_args()
    if options.record:
        record(options.nodes[0], options.record)
        return 0
    _say(f"{'nodes':>7} {'pods':>8} {'CPU s':>7} {'peak MiB':>9} {'ms a node':>10}")
    for nodes in options.nodes:
        with tempfile.TemporaryDirectory() as folder:
            again = [sys.executable, "-m", "tests.bench.growth", "--nodes", str(nodes)]
            subprocess.run([*again, "--record", folder], cwd=ROOT, check=True)
            seconds, peak = planned(Path(folder))
        milliseconds = seconds / nodes * 1000
        _say(f"{nodes:>7,} {nodes * PODS:>8,} {seconds:>7.1f} {peak:>9.0f} {milliseconds:>10.2f}")
    return 0


def record(nodes: int, folder: Path) -> None:
    """Write policies and a recording of so many nodes into the folder."""
    policies = folder / "policies"
    policies.mkdir()
    for path in POLICIES.glob("*.yaml"):
        more = STEERED if path.name == "limits.yaml" else ""
        (policies / path.name).write_text(path.read_text() + more)
    # Its second document are Limits, which are given already.
    (policies / "networks.yaml").write_text(NETWORKS.read_text().split("\n---\n")[0])
    snapshot = read_cluster(cast("Connection", Fleet(nodes, nodes * PODS)))
    asked = {
        request for policy in load_policies(policies).policies for request in policy.requests()
    }
    save(replace(snapshot, readings=readings(snapshot, asked)), folder / "snapshot")


def planned(folder: Path) -> tuple[float, float]:
    """CPU seconds and peak MiB of one `rescheduler plan` of what `record` wrote.

    Raises:
        RuntimeError: it made no plan.
    """
    command = [sys.executable, "-m", "rescheduler", "plan", "-p", str(folder / "policies")]
    command += ["--snapshot", str(folder / "snapshot"), "-o", "json"]
    command += ["--out", str(folder / "plan.json")]
    with (folder / "log").open("w+") as log:
        process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in MADE or not (folder / "plan.json").exists():
            log.seek(0)
            raise RuntimeError(f"no plan was made: {log.read()}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
