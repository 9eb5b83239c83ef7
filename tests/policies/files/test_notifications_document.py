"""A document of kind Notifications: read with the policies, and refused with its place."""

import pytest
import yaml

from rescheduler.documents.envelope import to_document
from rescheduler.documents.text_files import TextFile
from rescheduler.model.errors import PolicyError
from rescheduler.policies.files.policy_set import PolicySet, read_policies
from rescheduler.policies.notifications import Notifications

POLICY = """\
apiVersion: rescheduler.io/v1alpha1
kind: Spread
metadata: {name: zones}
spec: {match: {all: true}}
---
"""
HEAD = """\
apiVersion: rescheduler.io/v1alpha1
kind: Notifications
metadata: {name: notifications}
spec:
"""


def read(text: str) -> PolicySet:
    file = TextFile("policies.yaml", "policies.yaml", POLICY + text)
    return read_policies("policies.yaml", [file], lambda beside, _name: beside)


def test_receivers_are_part_of_the_set_and_of_no_plan() -> None:
    loaded = read(f"{HEAD}  receivers:\n  - {{name: team, type: Slack, addressFile: slack-url}}\n")
    [receiver] = loaded.notifications.receivers
    assert (receiver.name, receiver.type, receiver.perHour) == ("team", "Slack", 4)
    assert [policy.name for policy in loaded.policies] == ["zones"]
    assert read("").notifications.receivers == []


def test_what_is_written_out_reads_as_the_same() -> None:
    made = read(f"{HEAD}  receivers:\n  - {{name: a, type: Teams, addressFile: b}}\n").notifications
    again = yaml.safe_dump(to_document(made))
    assert read(again).notifications == made


@pytest.mark.parametrize(
    ("receivers", "message"),
    [
        ("{name: a, type: Email, addressFile: b}", "spec.receivers.0.type"),
        ("{name: A b, type: Slack, addressFile: b}", "spec.receivers.0.name"),
        ("{name: a, type: Slack}", "spec.receivers.0.addressFile: is required"),
        ("{name: a, type: Slack, addressFile: ../b}", "the name of a file in the folder"),
        ("{name: a, type: Slack, addressFile: /var/run/b}", "the name of a file in the folder"),
        ("{name: a, type: Slack, addressFile: .., tokenFile: b}", "the name of a file"),
        ("{name: a, type: Slack, address: https://hooks.example/x}", "spec.receivers.0.address"),
        ("{name: a, type: Slack, addressFile: b, occasions: []}", "at least 1 entry"),
        ("{name: a, type: Slack, addressFile: b, timeout: 5m}", "spec.receivers.0.timeout"),
        ("{name: a, type: Slack, addressFile: b, perHour: 0}", "must be 1 or more"),
        (
            "{name: a, type: Slack, addressFile: b}\n  - {name: a, type: Teams, addressFile: c}",
            "spec.receivers.1.name: `a` is the name of another receiver too",
        ),
    ],
)
def test_what_cannot_be_used_is_named_with_its_field(receivers: str, message: str) -> None:
    with pytest.raises(PolicyError) as caught:
        read(f"{HEAD}  receivers:\n  - {receivers}\n")
    assert message in str(caught.value)


def test_a_second_document_is_refused() -> None:
    second = HEAD.replace("name: notifications", "name: others")
    with pytest.raises(PolicyError, match="notifications are given in"):
        read(f"{HEAD}  receivers: []\n---\n{second}  receivers: []\n")


def test_the_default_tells_nobody() -> None:
    assert Notifications().receivers == []
