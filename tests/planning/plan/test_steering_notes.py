"""What is asked for and cannot act on a cluster is noted."""

from dataclasses import replace

import pytest

from rescheduler.model.snapshot import Cluster
from rescheduler.planning.plan.steering_notes import steering_notes
from rescheduler.policies.limits import Limits
from rescheduler.policies.steering import Steering
from tests.cluster import node, snapshot
from tests.runtime.skewed import spread


@pytest.mark.parametrize(
    ("by", "strength", "version", "nodes", "said"),
    [
        ("AdmissionPolicy", "Prefer", "v1.33.4", 3, "use Webhook"),
        ("AdmissionPolicy", "Prefer", "v1.34.0", 3, ""),
        ("AdmissionPolicy", "Prefer", "", 3, ""),
        ("Webhook", "Require", "v1.33.0", 300, ""),
        ("SoftTaint", "Prefer", "v1.33.0", 3, ""),
        ("Extender", "Require", "v1.33.0", 99, ""),
        ("Extender", "Require", "v1.36.0", 100, "a sample"),
        ("Extender", "Prefer", "v1.36.0", 300, ""),
        ("None", "Prefer", "v1.33.0", 300, ""),
    ],
)
@pytest.mark.parametrize("by_policy", [False, True])
def test_what_cannot_act_is_noted(
    by: str, strength: str, version: str, nodes: int, said: str, by_policy: bool
) -> None:
    steering = Steering.model_validate({"by": by, "strength": strength})
    policy = spread().model_copy(update={"steering": steering if by_policy else None})
    limits = Limits() if by_policy else Limits(steering=steering)
    made = replace(
        snapshot([node(f"n{each}") for each in range(nodes)], []),
        cluster=Cluster(uid="u", version=version),
    )
    notes = list(steering_notes([policy], limits, made))
    assert [note.code for note in notes] == ["STR001"] * bool(said)
    assert all(said in note.message and by in note.message for note in notes)
