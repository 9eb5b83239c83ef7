"""What a release leaves behind, made with the program as it is.

`python -m tests.compatibility.first_release` writes the archive of the version. It is run
once for a release, before that is tagged; afterwards the archive stays as it is.
"""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import msgspec

from rescheduler import __version__
from rescheduler.actions.finding_history_store import FindingHistoryStore
from rescheduler.actions.ledger_format import StoredState, encode_state, fill_config_map, note_of
from rescheduler.actions.report_store import ReportStore
from rescheduler.actions.steering.steering_format import encode_entries
from rescheduler.model.finding_history import Observation
from rescheduler.model.kept_cycles import CycleRecord
from rescheduler.model.moves.calibration import LandingRecord
from rescheduler.model.moves.gains import Baseline, GainRecord, MeasuredGain
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.selection import Selection, SelectionRecord
from rescheduler.model.moves.steering_entry import SteeringEntry
from rescheduler.reporting.formats.plan_json import to_json
from tests.compatibility.kept_object import KeptObject
from tests.reporting import full
from tests.reporting.history import samples

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
AT = datetime(2026, 11, 21, 14, 2, 7, tzinfo=UTC)


def moves() -> Iterator[PastMove]:
    """One move under way, one whose replacement was measured, and one that was refused."""
    fields: dict[str, Any] = {
        "plan": "p1",
        "namespace": "shop",
        "workload": "w1",
        "source": "n1",
        "at": AT,
    }
    yield PastMove(podUid="u1", pod="web-1", state="evicted", landing={"n2": 0.75}, **fields)
    yield PastMove(
        podUid="u2",
        pod="web-2",
        state="ready",
        settled=AT + timedelta(minutes=2),
        replacement="u9",
        landedOn="n2",
        policies=["zones"],
        usage={"pod.cpu": 0.5},
        counted={"node label rack": "r1"},
        **fields,
    )
    yield PastMove(podUid="u3", pod="web-3", state="refused", code="ACT004", settled=AT, **fields)


def history() -> History:
    """A history in which every list has something."""
    selection = Selection(pods=317, nodes=60)
    return History(
        list(moves()),
        landings=[LandingRecord(kind="ReplicaSet", version="1.36", compared=3, weight=2.5)],
        rampSince=AT,
        rampMade=1,
        baselines=[Baseline(plan="p1", batch=1, at=AT, nodes={"node.cpu": {"n1": 0.9}})],
        gains=[GainRecord(policy="zones", pairs=[MeasuredGain(promised=1.0, measured=0.75)])],
        selections=[
            SelectionRecord(
                policy="zones",
                meaning="m1",
                acceptedSelection=selection,
                peak=selection,
                at=AT,
                seen=AT,
            )
        ],
        slow={"batch": AT},
    )


def state_objects() -> dict[str, Any]:
    """The ConfigMap of the state, and what the Lease remembers of it."""
    state = StoredState(fence=7, sequence=42, written=AT, follows=["0" * 64], history=history())
    config_map = fill_config_map({"data": {"paused": "true"}}, encode_state(state))
    note = note_of(state, config_map["binaryData"]["state"])
    return {"configMap": config_map, "note": msgspec.json.encode(note).decode()}


def finding_history() -> dict[str, Any]:
    """The ConfigMap of `stableFor`."""
    kept = KeptObject({})
    seen = Observation("zones", "m1", timedelta(minutes=15), (b"\1" * 8, b"\2" * 8))
    FindingHistoryStore(kept, where="rescheduler/findings").remember([seen], AT)
    return kept.content


def last_report() -> dict[str, Any]:
    """The ConfigMap that `status` reads: one cycle, and the report of it."""
    kept = KeptObject({})
    [*_, cycle] = samples.good_week().cycles
    record = CycleRecord(cycle=cycle, instance="rescheduler-0", next=AT + timedelta(minutes=5))
    ReportStore(kept, where="rescheduler/report").keep(record, full.acted_on())
    return kept.content


def steering_table() -> dict[str, str]:
    """The data of the ConfigMap that tells replacements where to go."""
    entry = SteeringEntry(
        owner="c1",
        namespace="shop",
        template="7c9d8b6f5d",
        hostnames=("n2", "n3"),
        strength="Require",
        deadline=AT,
        plan="p1",
        pod="u1",
    )
    return encode_entries([entry])


def policies() -> str:
    """The documents of every kind, as the examples have them."""
    files = [
        path for path in sorted((ROOT / "policies").glob("*.yaml")) if "_test" not in path.name
    ]
    return "---\n".join(path.read_text(encoding="utf-8") for path in files)


def artifacts() -> Iterator[tuple[str, bytes]]:
    """Each file and its content."""
    objects = {
        "state": state_objects(),
        "finding-history": finding_history(),
        "last-report": last_report(),
        "steering-table": steering_table(),
    }
    for name, content in objects.items():
        yield f"{name}.json", msgspec.json.encode(content)
    yield "plan.json", to_json(full.rich())
    yield "outcome.json", to_json(full.acted_on())
    yield "trail.jsonl", b"".join(samples.lines(samples.week()))
    yield "policies.yaml", policies().encode()
    yield "cluster.snapshot", (ROOT / "tests/recordings/gpu-cluster.snapshot").read_bytes()


def write_artifacts(archive: Path) -> None:
    """Write all of it, the same to the byte where nothing has changed."""
    with ZipFile(archive, "w", ZIP_DEFLATED) as packed:
        for name, content in artifacts():
            packed.writestr(ZipInfo(name), content, ZIP_DEFLATED)


if __name__ == "__main__":
    write_artifacts(HERE / f"{__version__}.zip")
    sys.stdout.write(f"wrote {HERE / __version__}.zip\n")
