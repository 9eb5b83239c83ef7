"""What tests of the durable state share: where it is, what is in it, who opens it."""

import base64
import gzip
import hashlib
import json
from datetime import timedelta
from typing import Any

from rescheduler.actions.lease import NOTE
from rescheduler.model.moves.past_move import PastMove
from tests.fakes.stage import START, Process, Stage

KEY = ("configmaps", "rescheduler", "rescheduler-state")
LEASE = ("leases", "rescheduler", "rescheduler")
DAY = timedelta(days=1)


def past(uid: str, **more: Any) -> PastMove:
    fields = {
        "plan": "p",
        "podUid": uid,
        "namespace": "default",
        "pod": uid,
        "workload": "w",
        "source": "n1",
        "at": START,
        **more,
    }
    return PastMove(**fields)


def note(stage: Stage) -> dict[str, Any]:
    """What the Lease remembers."""
    found: dict[str, Any] = json.loads(stage.world.objects[LEASE]["metadata"]["annotations"][NOTE])
    return found


def stored_state(stage: Stage) -> dict[str, Any]:
    return unpacked(stage.world.objects[KEY])


def unpacked(stored: dict[str, Any]) -> dict[str, Any]:
    state = gzip.decompress(base64.b64decode(stored["binaryData"]["state"]))
    found: dict[str, Any] = json.loads(state)
    return found


def begun(stage: Stage, name: str = "a") -> Process:
    process = Process(stage, name)
    process.lease.acquire()
    process.ledger.open()
    return process


def later(process: Process, seconds: float) -> None:
    """So much time passes, and the lock is taken again by who had it."""
    process.stage.seconds += seconds
    process.lease.acquire()


def taken_over(stage: Stage, name: str = "b") -> Process:
    process = Process(stage, name)
    process.lease.acquire()
    return process


def packed(state: object) -> dict[str, Any]:
    data = gzip.compress(json.dumps(state).encode())
    return {
        "data": {"checksum": hashlib.sha256(data).hexdigest()},
        "binaryData": {"state": base64.b64encode(data).decode()},
    }
