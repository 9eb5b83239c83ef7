"""How each artifact of a release is read, and what must be found in it."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rescheduler.actions import finding_history_store, ledger_format
from rescheduler.actions.finding_history_store import FindingHistoryStore
from rescheduler.actions.ledger_format import decode_state, note_in
from rescheduler.actions.report_store import ReportStore
from rescheduler.actions.steering.steering_format import read
from rescheduler.documents.envelope import API_VERSION
from rescheduler.model import kept_cycles
from rescheduler.model.moves import plan
from rescheduler.model.trails import trail
from rescheduler.sources import recording
from tests.cli.recorded import call
from tests.compatibility.kept_object import KeptObject

FORMATS = {
    "state": f"schemaVersion {ledger_format.SCHEMA_VERSION}",
    "finding-history": f"schemaVersion {finding_history_store.SCHEMA_VERSION}",
    "last-report": f"schemaVersion {kept_cycles.SCHEMA_VERSION}",
    "steering-table": "lines of 6 fields",
    "plan": f'schemaVersion "{plan.SCHEMA_VERSION}"',
    "outcome": f'schemaVersion "{plan.SCHEMA_VERSION}"',
    "cluster": f"version {recording.VERSION}",
    "trail": f"trail {trail.VERSION}",
    "policies": API_VERSION,
}
"""What says of each artifact how it is written, as this version writes it."""


def loaded(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def read_state(path: Path) -> object:
    objects = loaded(path)
    state = decode_state(objects["configMap"], "rescheduler/rescheduler-state")
    note = note_in(objects["note"], "rescheduler/rescheduler")
    assert state is not None
    assert note is not None
    assert note.checksum == objects["configMap"]["data"]["checksum"]
    history = state.history
    return {
        "moves": [f"{move.podUid} {move.state}" for move in history.moves],
        "sequence": [state.sequence, note.sequence],
        "remembered": [len(history.landings), len(history.baselines), len(history.gains)],
        "selections": [record.policy for record in history.selections],
        "slow": list(history.slow),
    }


def read_findings(path: Path) -> object:
    findings = FindingHistoryStore(KeptObject(loaded(path)), where="x/y").read()
    watch = findings.watch_of("zones")
    assert watch is not None
    return len(watch.first_times())


def read_report(path: Path) -> object:
    kept = ReportStore(KeptObject(loaded(path)), where="x/y").read()
    assert kept is not None
    return {"cycles": len(kept.log.records), "report": type(kept.report).__name__}


def read_table(path: Path) -> object:
    entries, broken = read(loaded(path))
    return {"to": [entry.hostnames for entry in entries], "broken": broken}


def read_file(path: Path) -> object:
    shown = call("render", str(path), "-o", "table")
    assert shown.exit_code == 0, shown.output
    return len(loaded(path).get("plan", loaded(path))["moves"])


def read_recording(path: Path) -> object:
    snapshot = recording.load(path)
    return {"nodes": len(snapshot.nodes), "pods": len(snapshot.pods)}


def read_trail(path: Path) -> object:
    shown = call("history", "--audit-trail", str(path), "-o", "json")
    assert shown.exit_code == 0, shown.output
    history = json.loads(shown.stdout)
    return {
        "cycles": len(history["cycles"]),
        "moves": len(history["moves"]),
        "broken": history["integrity"]["broken"],
    }


def read_policies(path: Path) -> object:
    checked = call("check", str(path))
    assert checked.exit_code == 0, checked.output
    valid = re.search(r"\d+ valid", checked.stdout)
    return valid and valid[0]


READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "state": ("state.json", read_state),
    "finding-history": ("finding-history.json", read_findings),
    "last-report": ("last-report.json", read_report),
    "steering-table": ("steering-table.json", read_table),
    "plan": ("plan.json", read_file),
    "outcome": ("outcome.json", read_file),
    "cluster": ("cluster.snapshot", read_recording),
    "trail": ("trail.jsonl", read_trail),
    "policies": ("policies.yaml", read_policies),
}
"""Of each artifact its file in the archive of a release, and how this version reads it."""
