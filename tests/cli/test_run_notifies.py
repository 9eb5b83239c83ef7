"""`rescheduler run` tells receivers about its cycles, once and on a schedule."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.cli.recorded import call, here
from tests.sources.server import Reply, Served, serving

__all__ = ["here"]

ROOT = Path(__file__).parents[2]
NOTIFICATIONS = """
---
apiVersion: rescheduler.io/v1alpha1
kind: Notifications
metadata: {name: notifications}
spec:
  receivers:
    - {name: team, type: Webhook, addressFile: address}
"""
RUN = ("run", "--policies", "told.yaml", "--snapshot", "cluster.snapshot",
       "--notification-files", "secrets")  # fmt: skip


def tell(served: Served) -> None:
    """Let the policies have a receiver, whose address is in its file."""
    policies = Path("spread.yaml").read_text()
    Path("told.yaml").write_text(policies + NOTIFICATIONS)
    Path("secrets").mkdir()
    Path("secrets/address").write_text(f"{served.url}/very-secret")


@pytest.mark.parametrize("status", [200, 500])
def test_one_run_tells_and_its_result_is_the_same_if_it_cannot(here: Path, status: int) -> None:
    with serving(lambda _request: Reply(status=status)) as served:
        tell(served)
        told = call(*RUN, "--once", "-o", "json")
        [request] = served.requests
    body = json.loads(request.body)
    plan = json.loads(told.stdout)
    assert told.exit_code == 0
    assert body["occasion"] == "PlanAwaitsReview"
    assert body["plan"] == plan["id"]
    assert "default/web-0: from n1" in body["lines"][0]
    silent = call("run", "--policies", "spread.yaml", *RUN[3:], "--once", "-o", "json")
    assert json.loads(silent.stdout)["digest"] == plan["digest"]
    assert ("NTF002" in told.stderr) == (status == 500)
    assert "very-secret" not in told.output


@pytest.mark.parametrize("hangs", [False, True])
def test_a_service_tells_of_a_plan_once_and_waits_for_nobody(here: Path, hangs: bool) -> None:
    silence = threading.Event() if hangs else None
    with serving(lambda _request: Reply(hang=silence)) as served:
        tell(served)
        with Path("log").open("w") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "rescheduler", *RUN, "--every", "1s",
                 "--listen", "127.0.0.1:0"],
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stderr=log,
            )  # fmt: skip
        try:
            until = time.monotonic() + 60
            while Path("log").read_text().count("cycle ends") < 3:
                assert process.poll() is None, Path("log").read_text()
                assert time.monotonic() < until, Path("log").read_text()
                time.sleep(0.05)
            process.terminate()
            assert process.wait(20) == 0
        finally:
            if silence is not None:
                silence.set()
            process.kill()
            process.wait()
    assert len(served.requests) == 1
    assert "very-secret" not in Path("log").read_text()
