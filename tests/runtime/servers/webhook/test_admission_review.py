"""The webhook's answers: always allowed, patched only where the table says so."""

import base64
from typing import Any

import msgspec
import pytest

from rescheduler.kube.pods.steered_affinity import steered_affinity
from rescheduler.runtime.servers.open_entries import OpenEntries
from rescheduler.runtime.servers.webhook.admission_review import answer
from tests.runtime.servers.entries import NOW, entry
from tests.runtime.servers.webhook.reviews import AFFINITY, review


def entries(**more: Any) -> OpenEntries:
    made = OpenEntries(lambda: NOW)
    made.replace([entry(**more)])
    return made


def asked(some: OpenEntries, body: bytes) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(answer(some, body))
    assert found["kind"] == "AdmissionReview"
    assert found["response"]["allowed"] is True
    return dict(found["response"])


@pytest.mark.parametrize("strength", ["Prefer", "Require"])
def test_the_affinity_is_merged_as_planning_has_it(strength: str) -> None:
    response = asked(entries(strength=strength), review("r7"))
    assert response["uid"] == "r7"
    assert response["patchType"] == "JSONPatch"
    (operation,) = msgspec.json.decode(base64.b64decode(response["patch"]))
    expected = steered_affinity(AFFINITY, ("h1", "h2"), require=strength == "Require")
    assert operation == {"op": "add", "path": "/spec/affinity", "value": expected}


def test_one_pod_more_than_there_are_entries_stays_as_it_is() -> None:
    some = entries()
    assert "patch" in asked(some, review("r1"))
    assert "patch" not in asked(some, review("r2"))


def test_a_dry_run_is_patched_and_leaves_the_entry() -> None:
    some = entries()
    assert "patch" in asked(some, review("r1", dryRun=True))
    assert "patch" in asked(some, review("r2"))


def test_a_request_without_a_pod_is_allowed() -> None:
    assert "patch" not in asked(entries(), review("r1", object=None))


NESTED = b'{"request": ' * 5_000


@pytest.mark.parametrize("body", [b"", b"[]", b'{"request": 3}', b"\xff", NESTED], ids=range(5))
def test_what_is_no_review_is_an_error_of_the_caller(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        answer(entries(), body)


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_dry_run_of_a_table_update_is_answered_with_our_version(dry_run: bool) -> None:
    some = entries()
    some.replace([entry()], "17")
    table = {"metadata": {"name": "rescheduler-steering", "annotations": {"a": "b"}}}
    body = review("r1", object=table, resource={"resource": "configmaps"}, dryRun=dry_run)
    response = asked(some, body)
    if not dry_run:
        assert "patch" not in response
        return
    (operation,) = msgspec.json.decode(base64.b64decode(response["patch"]))
    notes = {"a": "b", "rescheduler.io/seen": "17", "rescheduler.io/seen-by-Webhook": "17"}
    assert operation == {"op": "add", "path": "/metadata/annotations", "value": notes}
