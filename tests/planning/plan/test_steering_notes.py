"""What is asked for and cannot act on a cluster is noted."""

from dataclasses import replace

import pytest

from rescheduler.model.cluster.snapshot import Cluster
from rescheduler.model.moves.steering_entry import Strength
from rescheduler.planning.plan.steering_notes import steering_notes
from rescheduler.policies.limits import Limits
from rescheduler.policies.steering_fields import SteeringFields
from rescheduler.scheduler.config.scheduler import Scheduler
from tests.cases import every
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
        ("Extender", "Require", "v1.36.0", 100, ""),
        ("Extender", "Require", "v1.36.0", 101, "of 101 nodes default-scheduler asks it"),
        ("Extender", "Require", "v1.36.0", 150, "unless percentageOfNodesToScore is 100"),
        ("Extender", "Prefer", "v1.36.0", 300, ""),
        ("None", "Prefer", "v1.33.0", 300, ""),
    ],
)
@pytest.mark.parametrize("by_policy", [False, True])
def test_what_cannot_act_is_noted(
    by: str, strength: str, version: str, nodes: int, said: str, by_policy: bool
) -> None:
    steering = SteeringFields.model_validate({"by": by, "strength": strength})
    policy = spread().model_copy(update={"steering": steering if by_policy else None})
    limits = Limits() if by_policy else Limits(steering=steering)
    made = replace(
        snapshot([node(f"n{number}") for number in range(nodes)], []),
        cluster=Cluster(uid="u", version=version),
    )
    notes = list(steering_notes([policy], limits, made))
    assert [note.code for note in notes] == ["STR001"] * bool(said)
    assert all(said in note.message and by in note.message for note in notes)


@pytest.mark.parametrize(("percentage", "noted"), [(100, False), (99, True), (0, True)])
def test_a_scheduler_that_looks_at_all_nodes_is_asked_about_all(
    percentage: int, noted: bool
) -> None:
    limits = Limits(steering=SteeringFields(by="Extender", strength="Require"))
    made = replace(
        snapshot([node(f"n{number}") for number in range(150)], []),
        cluster=Cluster(uid="u", version="v1.36.0"),
    )
    declared = Scheduler(name="default", percentageOfNodesToScore=percentage)
    notes = list(steering_notes([spread()], limits, made, [declared]))
    assert bool(notes) is noted


@every(
    [
        ("Prefer", {"prioritizeVerb": "p"}, ""),
        ("Prefer", {"filterVerb": "f"}, "prioritizeVerb, which Prefer needs"),
        ("Require", {"prioritizeVerb": "p"}, "filterVerb, which Require needs"),
        ("Require", {"filterVerb": "f"}, ""),
    ]
)
def test_an_extender_that_no_scheduler_asks_is_noted(
    strength: Strength, verbs: dict[str, str], said: str
) -> None:
    url = "http://rescheduler-extender.rescheduler.svc:8888"
    declared = Scheduler.model_validate(
        {
            "name": "all",
            "harmlessExtenders": [url],
            "configuration": {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "extenders": [{"urlPrefix": url, "weight": 2, "ignorable": True, **verbs}],
            },
        }
    )
    limits = Limits(steering=SteeringFields(by="Extender", strength=strength))
    made = replace(snapshot([node("n1")], []), cluster=Cluster(uid="u", version="v1.36.0"))
    notes = list(steering_notes([spread()], limits, made, [declared]))
    assert [note.code for note in notes] == ["STR001"] * bool(said)
    assert all(said in note.message for note in notes)
