"""What the ledger holds in truth, read past the program."""

import base64
import gzip

import msgspec

from rescheduler.actions.ledger_format import StoredState
from tests.fakes.world import World

STATE = ("configmaps", "rescheduler", "rescheduler-state")


def stored_state(world: World) -> StoredState:
    """The state in the ConfigMap."""
    encoded = world.objects[STATE]["binaryData"]["state"]
    return msgspec.json.decode(gzip.decompress(base64.b64decode(encoded)), type=StoredState)
