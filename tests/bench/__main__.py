"""`python -m tests.bench`: CPU seconds and memory of decoding, recording, planning, reporting.

Each phase runs in a process of its own, so that its peak memory is its own. The pages of the
synthetic API server are made one by one, and the time that this takes is not counted.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast
from unittest.mock import patch

from rescheduler.cli.main import collect_seldom
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.finding_history import FindingHistory
from rescheduler.model.moves.history import History
from rescheduler.policies.steering_fields import SteeringFields
from rescheduler.sources.kubernetes.cluster import read_cluster
from rescheduler.sources.kubernetes.transport import MAX_PAGE, Connection, GetResponse
from rescheduler.sources.recording import load, save
from tests.bench.load import readings
from tests.bench.measured import with_measured
from tests.bench.synthetic import Fleet

if TYPE_CHECKING:
    from rescheduler.model.moves.plan import Plan

ROOT = Path(__file__).resolve().parents[2]
POLICIES = ROOT / "policies"
NETWORKS = POLICIES / "gallery" / "08-hot-networks.yaml"
"""Beside the usual ones, so that every load is read."""


T = TypeVar("T")


class Untimed(Fleet):
    """A fleet that knows how long it took to make its pages."""

    spent = 0.0

    def fetch(
        self,
        path: str,
        query: dict[str, str] | None = None,
        until: float | None = None,
        *,
        most: int = MAX_PAGE,
    ) -> GetResponse:
        start = time.process_time()
        answer = super().fetch(path, query, until, most=most)
        self.spent += time.process_time() - start
        return answer


class Watch:
    """Collects CPU seconds of what is done under a name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.facts: dict[str, object] = {}

    def time(self, name: str, work: Callable[[], T]) -> T:
        start = time.process_time()
        result = work()
        self.seconds[name] = time.process_time() - start
        return result

    def decode(self, fleet: Untimed) -> Snapshot:
        snapshot = self.time("decode", lambda: read_cluster(cast("Connection", fleet)))
        self.seconds["decode"] -= fleet.spent
        self.facts["pods"] = len(snapshot.pods)
        self.facts["specs"] = len({id(pod.spec) for pod in snapshot.pods})
        return snapshot


def decode(fleet: Untimed, watch: Watch) -> None:
    """Decode the lists."""
    watch.decode(fleet)


def record(fleet: Untimed, watch: Watch) -> None:
    """Write a recording and load it again."""
    snapshot = watch.decode(fleet)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "snapshot"
        watch.time("save", lambda: save(snapshot, path))
        watch.time("load", lambda: load(path))
        watch.facts["MiB on disk"] = round(path.stat().st_size / 2**20, 1)


def whole(fleet: Untimed, watch: Watch) -> None:
    """Decode, make one plan with the policies that the project ships, and report it."""
    # Imported here: the other phases are to hold nothing but their own.
    from rescheduler.reporting.formats.page import render_page  # noqa: PLC0415
    from rescheduler.reporting.formats.plan_json import to_json  # noqa: PLC0415
    from rescheduler.reporting.formats.terminal import render_table  # noqa: PLC0415

    made = _plan(fleet, watch)
    watch.time(
        "report",
        lambda: (to_json(made), render_page(made), render_table(made, width=120, color=False)),
    )


def many(fleet: Untimed, watch: Watch) -> None:
    """Plan where half of all pods are candidates, and the limits let 100 of them move."""
    _plan(
        fleet,
        watch,
        movesPerCycle=100,
        movesPerNode=10,
        movesPerNamespace=100,
        movesPerWorkload=10,
        movesPerHour=100,
        movesPerDay=100,
    )


def steered(fleet: Untimed, watch: Watch) -> None:
    """Plan as in `whole`, where each replacement is steered."""
    _plan(fleet, watch, steering=SteeringFields(by="AdmissionPolicy", strength="Require"))


def measured(fleet: Untimed, watch: Watch) -> None:
    """Plan as in `whole`, with measured traffic and distances, and the past of every GPU."""
    _plan(fleet, watch, pairs=True)


def _plan(fleet: Untimed, watch: Watch, *, pairs: bool = False, **limits: object) -> "Plan":
    """Timed apart: the model, from when it stands until the plan is there, and suggestions.

    pairs: whether more than loads is measured.
    """
    from rescheduler.planning.evaluation.effort import UNHURRIED, Effort  # noqa: PLC0415
    from rescheduler.planning.plan import planner  # noqa: PLC0415
    from rescheduler.planning.plan.planner import plan_and_observations  # noqa: PLC0415
    from rescheduler.planning.plan.result import Outline  # noqa: PLC0415
    from rescheduler.sources.policy_files import load_policies  # noqa: PLC0415

    def begun() -> Effort:
        watch.seconds["model"] = time.process_time() - start
        return UNHURRIED

    snapshot = watch.decode(fleet)
    usual, networks = load_policies(POLICIES), load_policies(NETWORKS)
    policies = replace(
        usual,
        policies=(*usual.policies, *networks.policies),
        digests=usual.digests | networks.digests,
        files=usual.files | networks.files,
        sources=usual.sources | networks.sources,
        limits=usual.limits.model_copy(update=limits),
    )
    asked = {request for policy in policies.policies for request in policy.requests()}
    found = readings(snapshot, asked)
    if pairs:
        found = with_measured(snapshot, found, asked)
    read = replace(snapshot, readings=found)
    outline = Outline(mode="Audit", seed=0, tool="", recorded=False, suggests=True)
    start = time.process_time()
    suggest = planner.suggestions  # type: ignore[attr-defined] # to time it
    with patch.object(
        planner, "suggestions", lambda *given: watch.time("suggest", lambda: suggest(*given))
    ):
        made, _ = plan_and_observations(
            read, policies, History(), FindingHistory(), outline, effort=begun
        )
    both = watch.seconds["model"] + watch.seconds.get("suggest", 0.0)
    watch.seconds["plan"] = time.process_time() - start - both
    watch.facts["suggestions"] = len(made.suggestions)
    watch.facts["candidates"] = made.totals.candidates
    watch.facts["moves"] = len(made.moves)
    watch.facts["steps"] = made.search.steps if made.search is not None else 0
    watch.facts["guards"] = [guard.code for guard in made.guards]
    watch.facts["problems"] = [p.name for p in made.policies if p.problem is not None]
    return made


PHASES = {phase.__name__: phase for phase in (decode, record, whole, steered, many, measured)}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=150_000)
    parser.add_argument("--phase", choices=PHASES, help="run this one here; print JSON")
    options = parser.parse_args()
    if options.phase:
        collect_seldom()
        watch = Watch()
        fleet = Untimed(options.nodes, options.pods)
        PHASES[options.phase](fleet, watch)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        _say(json.dumps({"seconds": watch.seconds, "facts": watch.facts, "peak": peak}))
        return 0
    _say(f"{options.nodes:,} nodes, {options.pods:,} pods")
    _say(f"{'phase':<8} {'CPU s':>7} {'peak MiB':>9}  in detail")
    for phase in PHASES:
        command = [sys.executable, "-m", "tests.bench", "--phase", phase]
        size = ["--nodes", str(options.nodes), "--pods", str(options.pods)]
        done = subprocess.run(
            [*command, *size], cwd=ROOT, capture_output=True, text=True, check=False
        )
        if done.returncode:
            _say(f"{phase:<8} failed:\n{done.stderr}")
            return 1
        _show(phase, json.loads(done.stdout))
    return 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _show(phase: str, found: dict[str, Any]) -> None:
    steps = " + ".join(f"{name} {seconds:.1f}" for name, seconds in found["seconds"].items())
    facts = ", ".join(f"{name} {value}" for name, value in found["facts"].items())
    total = sum(found["seconds"].values())
    _say(f"{phase:<8} {total:>7.1f} {found['peak']:>9.0f}  {steps}; {facts}")


if __name__ == "__main__":
    sys.exit(main())
