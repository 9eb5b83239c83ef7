"""Steering by an extender, on a stage."""

import numpy as np
import pytest

from rescheduler.actions.steering.extender_lease import NAME, ExtenderLease
from rescheduler.actions.steering.steering_format import read
from rescheduler.planning.advice import Advice
from rescheduler.runtime.servers.extender.extender_answers import Answers, known_of
from rescheduler.runtime.servers.extender.lease_writer import Showing
from rescheduler.runtime.servers.open_entries import OpenEntries
from tests.fakes.stage import LEASES, Process, Stage, warm
from tests.fakes.steering import TABLE_KEY

LEASE_KEY = ("leases", "rescheduler", NAME)
NODES = ["n1", "n5", "n6"]
KNOWN = known_of(Advice(NODES, {}, np.zeros((0, 3), dtype=np.uint8)), {n: n for n in NODES})


class Extending:
    """An extender on the stage that has data, and shows itself whenever it is told to."""

    def __init__(self, stage: Stage, name: str = "extender-0") -> None:
        self.stage = stage
        self.process = Process(stage, name)
        lease = ExtenderLease(self.process._stored(LEASES, NAME), self.process.clock)
        self.entries = OpenEntries(stage.now)
        self.answers = Answers(self.entries, stage.now)
        self.showing = Showing(lease, self.entries, self.answers, name)
        self.answers.asked = stage.now()
        self.answers.known = KNOWN

    def follow(self) -> None:
        table = self.stage.world.objects.get(TABLE_KEY, {})
        version = table.get("metadata", {}).get("resourceVersion", "")
        self.showing.replace_and_show(self.entries.replace)(
            read(table.get("data") or {})[0], version
        )
        self.showing.show()


@pytest.fixture
def stage() -> Stage:
    made = warm(Stage())
    made.world.put(*TABLE_KEY, {"apiVersion": "v1", "kind": "ConfigMap"})
    made.world.put(*LEASE_KEY, {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"})
    for number, name in enumerate(("n5", "n6")):
        made.world.add_pod(f"t-{number}", name, owner=("ReplicaSet", f"o-{number}"), app="o")
    made.world.place = lambda _: "n5"
    return made
