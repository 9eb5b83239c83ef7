"""Who only reads is told what is not set up to steer, as far as it may be seen."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from rescheduler.actions.steering.extender_lease import NAME
from rescheduler.policies.files.policy_set import PolicySet, policy_set
from rescheduler.policies.limits import Limits
from rescheduler.policies.steering_fields import SteeringFields
from rescheduler.runtime.steering_seen import not_set_up
from rescheduler.scheduler.config.scheduler import Scheduler
from rescheduler.sources.kubernetes.client import Connection
from tests.fakes.apiserver import FakeServer, Fault, serving
from tests.fakes.steering import TABLE_KEY
from tests.runtime.skewed import spread

ACCOUNT = ("serviceaccounts", "rescheduler", "rescheduler")
USER = "system:serviceaccount:rescheduler:rescheduler"
LEASE = ("leases", "rescheduler", NAME)

Change = Callable[[FakeServer], object]


def asking(by: str) -> PolicySet:
    return policy_set(
        [spread()], Limits(steering=SteeringFields.model_validate({"by": by})), (), ()
    )


@pytest.fixture
def server() -> Iterator[FakeServer]:
    """A cluster in which everything that steers is set up."""
    with serving() as made:
        made.world.put("namespaces", "", "rescheduler", {})
        made.world.put(*TABLE_KEY, {"apiVersion": "v1", "kind": "ConfigMap"})
        made.world.put(*ACCOUNT, {"apiVersion": "v1", "kind": "ServiceAccount"})
        made.world.tainters.add(USER)
        showing(made, timedelta(0), timedelta(0))
        yield made


def showing(server: FakeServer, renewed: timedelta, asked: timedelta) -> None:
    """The extender has shown itself, and was asked, so long ago."""
    shape = "%Y-%m-%dT%H:%M:%S.%fZ"
    now = server.world.now()
    notes = {"rescheduler.io/last-asked": (now - asked).strftime(shape)}
    spec = {"renewTime": (now - renewed).strftime(shape)}
    server.world.put(*LEASE, {"metadata": {"annotations": notes}, "spec": spec})


def told(server: FakeServer, by: str) -> list[str]:
    notes = not_set_up(Connection(server.client(), "test"), asking(by))
    assert {note.code for note in notes} <= {"STR001"}
    assert all(f"steering.by {by}:" in note.message for note in notes)
    return [note.message for note in notes]


@pytest.mark.parametrize("by", ["SoftTaint", "Extender", "Webhook", "AdmissionPolicy", "None"])
def test_nothing_is_told_where_all_is_set_up(server: FakeServer, by: str) -> None:
    assert told(server, by) == []


def gone(*key: str) -> Change:
    return lambda server: server.world.objects.pop((key[0], key[1], key[2]))


def test_only_what_is_asked_for_is_looked_at(server: FakeServer) -> None:
    assert told(server, "None") == []
    assert server.requests == []


@pytest.mark.parametrize(
    ("by", "change", "said"),
    [
        ("SoftTaint", lambda s: s.world.tainters.clear(),
         "service account rescheduler/rescheduler may not patch nodes"),
        ("Extender", gone(*TABLE_KEY), "the ConfigMap of the table does not exist"),
        ("Webhook", gone(*TABLE_KEY), "the ConfigMap of the table does not exist"),
        ("Extender", gone(*LEASE), "Lease rescheduler-extender was renewed never"),
        ("Extender", lambda s: showing(s, timedelta(minutes=5), timedelta(0)),
         "so no extender runs"),
        ("Extender", lambda s: showing(s, timedelta(0), timedelta(hours=2)),
         "no scheduler has called the extender"),
    ],
)  # fmt: skip
def test_what_is_missing_is_told_with_what_to_apply(
    server: FakeServer, by: str, change: Change, said: str
) -> None:
    change(server)
    (message,) = told(server, by)
    assert said in message
    assert "Apply the component of deploy/" in message


def test_a_declared_weight_that_is_not_used_is_reported_as_in_enforce(
    server: FakeServer,
) -> None:
    url = "http://extender:8888"
    verbs = {"urlPrefix": url, "prioritizeVerb": "prioritize", "weight": 1, "ignorable": True}
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [verbs],
    }
    declared = Scheduler.model_validate(
        {
            "kind": "Scheduler",
            "name": "own",
            "harmlessExtenders": [url],
            "configuration": configuration,
        }
    )
    wanted = replace(asking("Extender"), schedulers=(declared,))
    (note,) = not_set_up(Connection(server.client(), "test"), wanted)
    assert "has weight 1, not 2" in note.message


def test_where_nothing_is_deployed_nobody_lacks_the_right_to_taint(server: FakeServer) -> None:
    server.world.tainters.clear()
    gone(*ACCOUNT)(server)
    assert told(server, "SoftTaint") == []


@pytest.mark.parametrize(
    ("by", "unseen", "path"),
    [
        ("SoftTaint", "serviceaccounts", "/serviceaccounts"),
        ("SoftTaint", "subjectaccessreviews", "/subjectaccessreviews"),
        ("Extender", "leases", "/leases"),
        ("Webhook", "configmaps", "/configmaps"),
    ],
)
def test_what_may_not_be_seen_is_neither_told_nor_tried(
    server: FakeServer, by: str, unseen: str, path: str
) -> None:
    server.world.tainters.clear()
    gone(*LEASE)(server)
    if unseen == "configmaps":
        gone(*TABLE_KEY)(server)
    server.world.unseen.add(unseen)
    assert told(server, by) == []
    assert not [request for request in server.requests if path in request[1]]


@pytest.mark.parametrize("by", ["SoftTaint", "Extender"])
def test_an_api_server_that_refuses_to_answer_is_not_taken_for_an_answer(
    server: FakeServer, by: str
) -> None:
    server.world.tainters.clear()
    gone(*LEASE)(server)
    server.faults.append(Fault("POST", "accessreviews", 403, times=9))
    assert told(server, by) == []
