"""The fault matrix on the wire: each cell one run in Enforce, through a proxy that spoils it.

Whatever happens to a request, nothing is evicted twice or beyond the limits, the report and the
exit code say what it was, and no intent is left by the next run.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import spoiling
from tests.e2e.between import Between, Trouble
from tests.e2e.builders.cluster import Cluster
from tests.e2e.crashing import DELAY, Crashes, accepted, intents
from tests.e2e.exporter.metrics import Metrics
from tests.e2e.load_scenarios import hot_gpus
from tests.e2e.loop import SPREAD, WINDOW, swift, utilization, write_policies
from tests.e2e.program import Finished, Program
from tests.e2e.spoiling import Strike, status

pytestmark = pytest.mark.e2e

Json = dict[str, Any]
Say = Callable[[str], None]

MOVES = 2
"""Of a run that nothing disturbs."""
PER_TILT = 16
"""Moves after which the cluster is tilted again, so that every run has two to make: of a tilted one
about 22 are wanted, as replacements and the pods of the emptied zone happen to land."""


@dataclass
class Cell:
    """A fault in a phase. nth, times, path: as in `Strike`.

    code: the exit code. says: what the verdict, the results of the moves or the error must name.
    evicted: how many pods the run may evict. open: whether an intent stays for two minutes.
    """

    fault: str
    phase: str
    trouble: Trouble
    code: int
    says: str
    evicted: tuple[int, ...] = (0,)
    nth: int = 0
    times: int = 1000
    path: str = ""
    open: bool = False


STOLEN = "/stolen"
"""Where redirects point: nothing may come there."""

SLOW_DOWN = status(429, "TooManyRequests", Retry_After="1")
UNAVAILABLE = status(503, "ServiceUnavailable")
FORBIDDEN = status(403, "Forbidden")
UNAUTHORIZED = status(401, "Unauthorized")
EXPIRED = status(410, "Expired")
CONFLICT = status(409, "Conflict")
GONE = status(404, "NotFound")

PODS = "GET /api/v1/pods?"


def before_an_eviction(between: Between) -> Iterator[Cell]:
    """Faults of lock and state, after which nothing can have been evicted."""
    refused, redirected = spoiling.refused(between), spoiling.redirected(between.url + STOLEN)
    no_answer, no_json = "no answer", "without a JSON object"
    yield Cell("connection refused", "lock", refused, 1, no_answer)
    yield Cell("hang", "lock", spoiling.silent, 1, no_answer)
    yield Cell("reply lost", "lock", spoiling.lost, 1, no_answer, path="PUT")
    yield Cell("401 or 403", "lock", FORBIDDEN, 1, "403")
    yield Cell("409, once", "lock", CONFLICT, 0, "ACT013", (MOVES,), path="PUT", times=1)
    yield Cell("429", "lock", SLOW_DOWN, 1, "429")
    yield Cell("503 or 504", "lock", UNAVAILABLE, 1, "503")
    yield Cell("wrong content type", "lock", spoiling.page, 1, no_json)
    yield Cell("connection refused", "state", refused, 1, no_answer)
    yield Cell("slow drip", "state", spoiling.dripping, 1, no_answer)
    yield Cell("reset in the body", "state", spoiling.half, 1, no_answer)
    yield Cell("truncated", "state", spoiling.truncated, 1, no_json)
    yield Cell("401 or 403", "state", FORBIDDEN, 1, "403")
    yield Cell("404", "state", GONE, 1, "GRD004")
    yield Cell("409", "state", CONFLICT, 1, "changed three times", path="PUT")
    yield Cell("503 or 504", "state", UNAVAILABLE, 1, "503")
    empty = spoiling.rewritten(lambda _answer: {})
    yield Cell("empty", "state", empty, 1, "GRD004")
    yield Cell("wrong content type", "state", spoiling.page, 1, no_json)
    yield Cell("gzip bomb", "state", spoiling.bomb(), 1, "larger than 8 MiB")
    yield Cell("redirect", "state", redirected, 1, "307")


def in_the_snapshot(between: Between) -> Iterator[Cell]:
    """Faults of the snapshot and of what comes before an eviction, none of which is made."""
    refused, redirected = spoiling.refused(between), spoiling.redirected(between.url + STOLEN)
    yield Cell("connection refused", "snap", refused, 1, "refused")
    yield Cell("hang", "snap", spoiling.silent, 1, "timed out", path=PODS)
    yield Cell("slow drip", "snap", spoiling.dripping, 1, "timed out", path=PODS)
    yield Cell("reset in the body", "snap", spoiling.half, 1, "reset by peer", path=PODS)
    yield Cell("truncated", "snap", spoiling.truncated, 1, "truncated", path=PODS)
    yield Cell("401 or 403", "snap", UNAUTHORIZED, 1, "401")
    budgets = "/poddisruptionbudgets"
    yield Cell("401 or 403 of a kind", "snap", FORBIDDEN, 1, "poddisruptionbudgets", path=budgets)
    yield Cell("410", "snap", spoiling.paged(40, EXPIRED), 1, "expired", path=PODS)
    yield Cell("429", "snap", SLOW_DOWN, 1, "429", path=PODS)
    yield Cell("500", "snap", status(500, "InternalError"), 1, "500", path=PODS)
    yield Cell("503 or 504", "snap", UNAVAILABLE, 1, "503", path=PODS)
    yield Cell("wrong content type", "snap", spoiling.page, 1, "JSON is malformed", path=PODS)
    yield Cell("gzip bomb", "snap", spoiling.bomb(), 1, "larger than 128 MiB", path=PODS)
    yield Cell("redirect", "snap", redirected, 1, "307", path=PODS)
    none = spoiling.rewritten(lambda answer: {**answer, "items": []})
    yield Cell("empty", "snap", none, 1, "GRD011", path="GET /api/v1/nodes?")
    yield Cell("connection refused", "wal", refused, 1, "ACT016")
    yield Cell("hang", "wal", spoiling.silent, 1, "ACT016")
    yield Cell("401 or 403", "wal", FORBIDDEN, 1, "ACT016")
    yield Cell("409", "wal", CONFLICT, 1, "ACT016")
    yield Cell("429", "wal", SLOW_DOWN, 1, "ACT016")
    yield Cell("503 or 504", "wal", UNAVAILABLE, 1, "ACT016")
    yield Cell("redirect", "wal", redirected, 1, "ACT016")
    yield Cell("401 or 403", "evict", FORBIDDEN, 3, "ACT007")
    yield Cell("404", "evict", GONE, 3, "ACT002")
    yield Cell("409", "evict", CONFLICT, 3, "ACT003")
    yield Cell("429", "evict", SLOW_DOWN, 3, "ACT005")
    yield Cell("500", "evict", status(500, "more than one PodDisruptionBudget"), 3, "ACT006")


def around_an_eviction(between: Between) -> Iterator[Cell]:
    """Faults that pass, or that come once something was evicted."""
    refused, all_, some = spoiling.refused(between), (MOVES,), (1, MOVES)
    half, expired = spoiling.half, spoiling.once(EXPIRED)
    yield Cell("reset in the body, once", "snap", half, 0, "ACT013", all_, path=PODS, times=1)
    yield Cell("410, once", "snap", spoiling.paged(40, expired), 0, "ACT013", all_, path=PODS)
    yield Cell("429, once", "snap", SLOW_DOWN, 0, "ACT013", all_, path=PODS, times=1)
    yield Cell("503 or 504, once", "snap", UNAVAILABLE, 0, "ACT013", all_, path=PODS, times=1)
    yield Cell("reply lost", "wal", spoiling.lost, 0, "ACT013", all_)
    yield Cell("reply lost", "evict", spoiling.lost, 0, "ACT013", all_)
    yield Cell("reset in the body", "evict", half, 0, "ACT013", all_)
    yield Cell("504, once done", "evict", spoiling.after(504), 0, "ACT013", all_)
    yield Cell("wrong content type", "evict", spoiling.after(200), 0, "ACT013", all_)
    yield Cell("connection refused", "settle", refused, 1, "ACT016", some)
    yield Cell("reply lost", "settle", spoiling.lost, 0, "ACT013", all_)
    yield Cell("503 or 504", "settle", UNAVAILABLE, 1, "ACT016", some)
    yield Cell("connection refused", "watch", refused, 1, "ACT016", some)
    for fault, trouble in (
        ("reset in the body", half),
        ("429", SLOW_DOWN),
        ("503 or 504", UNAVAILABLE),
    ):
        yield Cell(f"{fault}, once", "watch", trouble, 0, "ACT013", all_, times=1)
    yield Cell("truncated", "watch", spoiling.truncated, 1, "ACT016", some, times=1)
    # Where a page is too large, a smaller one is asked for.
    yield Cell("gzip bomb, once", "watch", spoiling.bomb(), 0, "ACT013", all_, times=1)
    yield Cell("gzip bomb, twice", "watch", spoiling.bomb(), 1, "ACT016", some, times=2)
    yield Cell("401 or 403", "report", FORBIDDEN, 0, "ACT013", all_)
    yield Cell("reply lost", "report", spoiling.lost, 0, "ACT013", all_)
    yield Cell("503 or 504", "report", UNAVAILABLE, 0, "ACT013", all_)


def unknown_for_long(between: Between) -> Iterator[Cell]:
    """Faults after which it stays open for two minutes whether a pod was evicted: it was not."""
    refused, redirected = spoiling.refused(between), spoiling.redirected(between.url + STOLEN)
    yield Cell("connection refused", "evict", refused, 1, "ACT016", open=True)
    yield Cell("hang", "evict", spoiling.silent, 3, "ACT009", open=True)
    yield Cell("503 or 504", "evict", UNAVAILABLE, 3, "ACT009", open=True)
    yield Cell("redirect", "evict", redirected, 3, "ACT009", open=True)


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    """Prints a line of the table at once."""

    def printed(line: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()

    return printed


@dataclass
class Cells:
    """Runs cell after cell on one cluster. wrong: what was not as the cells expect."""

    crashes: Crashes
    say: Say
    quiet: Path
    wrong: list[str]
    moved: int = 0

    def run(self, cell: Cell) -> None:
        """One run with the fault, and one without it where that one may have left something."""
        if self.moved >= PER_TILT:
            self.crashes.tilt()
            self.moved = 0
        began, between = time.monotonic(), self.crashes.between
        before = len(self.crashes.evictions())
        strike = Strike(cell.phase, cell.trouble, cell.nth, cell.times, cell.path)
        between.trouble = strike
        done = self.enforce(self.crashes.policies)
        between.trouble = None
        between.accept()
        self.crashes.judge(f"{cell.fault} at {cell.phase}")
        evicted = len(self.crashes.evictions()) - before
        self.moved += evicted
        self.crashes.expire()
        left = intents(self.crashes.cluster)
        if left or evicted:
            after = self.enforce(self.quiet)
            assert after.code == 0, f"{cell.fault}: {after.stderr}{said(after)}"
            left = intents(self.crashes.cluster)
        right = (
            strike.struck > 0
            and done.code == cell.code
            and cell.says in said(done)
            and evicted in cell.evicted
            and (cell.open or not left)
        )
        line = f"{'' if right else '!':1} {cell.fault:23} {cell.phase:6} exit {done.code}"
        line += f"  evicted {evicted}  {said(done)[:60]:60} {time.monotonic() - began:4.1f} s"
        self.say(line)
        if not right:
            self.wrong.append(f"{line}\n  struck {strike.struck}, left {len(left)}\n{said(done)}")

    def enforce(self, policies: Path) -> Finished:
        """One run."""
        given = ("--policies", policies, "--mode", "Enforce", "-o", "json")
        return self.crashes.program.run("run", "--once", *given, timeout=400)


def said(done: Finished) -> str:
    """The verdict and what became of the moves; or the error, where there is no report."""
    if not done.stdout:
        return " ".join(done.stderr.split())
    report = done.json()
    moves = [move["code"] for move in report["moves"]]
    return " ".join([report["verdict"]["code"], *moves, report["verdict"]["message"]])


def test_on_the_way_to_the_api_server(crashes: Crashes, say: Say, tmp_path: Path) -> None:
    elsewhere = SPREAD.replace("[default]", "[kube-public]")
    quiet = write_policies(tmp_path / "quiet", elsewhere, swift())
    crashes.policies = write_policies(
        tmp_path / "spread", SPREAD, swift(per_cycle=MOVES, batch=MOVES, per_workload=4)
    )
    cells, between = Cells(crashes, say, quiet, []), crashes.between
    say("\n  fault                   phase")
    for made in (before_an_eviction, in_the_snapshot, around_an_eviction, unknown_for_long):
        for cell in made(between):
            cells.run(cell)
    assert intents(crashes.cluster), "no cell has left an intent open: they are not where meant"
    time.sleep(DELAY + 2)
    after = cells.enforce(quiet)
    assert after.code == 0, after.stderr
    assert not intents(crashes.cluster)
    assert not [path for path in between.paths if path.startswith(STOLEN)], "a redirect was heeded"
    assert not cells.wrong, "\n".join(cells.wrong)


def metric_faults(between: Between) -> Iterator[Cell]:
    """What can happen to a query; `says` is the code of the policy's problem."""
    refused, redirected = spoiling.refused(between), spoiling.redirected(between.url + STOLEN)
    silent = "RDG001"
    for fault, trouble in (
        ("connection refused", refused),
        ("reset", spoiling.cut),
        ("reset in the body", spoiling.half),
        ("truncated", spoiling.truncated),
        ("401 or 403", UNAUTHORIZED),
        ("429", SLOW_DOWN),
        ("500", status(500, "InternalError")),
        ("503 or 504", UNAVAILABLE),
        ("wrong content type", spoiling.page),
        ("redirect", redirected),
        ("gzip bomb", spoiling.bomb()),
        ("another kind", spoiling.rewritten(lambda answer: {**answer, "data": _SCALAR})),
        ("empty", spoiling.rewritten(lambda _answer: {})),
    ):
        yield Cell(fault, "metric", trouble, 1, silent)
    warned = spoiling.rewritten(lambda answer: {**answer, "warnings": ["a store is away"]})
    yield Cell("partial", "metric", warned, 1, "RDG002")
    flagged = spoiling.rewritten(lambda answer: {**answer, "isPartial": True})
    yield Cell("partial, flagged", "metric", flagged, 1, "RDG002")
    for value, says in (
        ("NaN", "RDG006"),
        ("+Inf", "RDG006"),
        ("-1", "RDG006"),
        ("1e12", "RDG004"),
    ):
        yield Cell(f"nonsense: {value}", "metric", spoiling.values(value), 1, says)
    yield Cell("no rows", "metric", spoiling.rows(lambda _rows: []), 1, "RDG009")
    fewer = spoiling.rows(lambda found: found[: len(found) // 2])
    yield Cell("half of the rows", "metric", fewer, 1, "RDG003")
    twice = spoiling.rows(lambda found: [*found, *map(_other, found)])
    yield Cell("twice", "metric", twice, 1, "RDG005")
    yield Cell("hang", "metric", spoiling.silent, 1, silent)
    yield Cell("slow drip", "metric", spoiling.dripping, 1, silent)


_SCALAR = {"resultType": "scalar", "result": [0, "1"]}


def _other(row: Json) -> Json:
    at, value = row["value"]
    return {**row, "value": [at, str(float(value) * 0.9 + 0.01)]}


def test_on_the_way_to_prometheus(
    cluster: Cluster, metrics: Metrics, actor: Program, say: Say, tmp_path: Path
) -> None:
    hot_gpus(cluster, count=12, hot=2)
    metrics.warm(2 * WINDOW)
    policies = write_policies(tmp_path / "policies", utilization(gpu="50%"), swift(per_cycle=1))
    between = Between(metrics.url)
    program, wrong = replace(actor, prometheus=between.url), []
    given = ("--once", "--policies", policies, "--mode", "Enforce", "-o", "json")
    mark = cluster.control_plane.audit.mark()
    say("\n  fault                   phase")
    try:
        for cell in metric_faults(between):
            began = time.monotonic()
            between.trouble = strike = Strike(cell.phase, cell.trouble)
            done = program.run("run", *given, timeout=400)
            between.trouble = None
            between.accept()
            report = json.loads(done.stdout or "{}")
            problems = [
                policy["problem"] for policy in report.get("plan", report).get("policies", [])
            ]
            codes = [(problem or {}).get("code", "") for problem in problems]
            right = done.code == cell.code and all(cell.says in code for code in codes) and codes
            line = f"{'' if right and strike.struck else '!':1} {cell.fault:23} {cell.phase:6} "
            line += f"exit {done.code}  {codes}  {time.monotonic() - began:4.1f} s"
            say(line)
            if line.startswith("!"):
                wrong.append(f"{line}\n{problems}\n{done.stderr}")
        assert not wrong, "\n".join(wrong)
        assert not [path for path in between.paths if path.startswith(STOLEN)]
        assert not accepted(cluster.control_plane.audit.since(mark))
        assert not intents(cluster)

        between.trouble = Strike("metric", SLOW_DOWN, times=1)
        assert program.run("run", *given).code == 0
        evicted = accepted(cluster.control_plane.audit.since(mark))
        assert len(evicted) == 1, "what passes by itself holds nothing up"
    finally:
        between.stop()
