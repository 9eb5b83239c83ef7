"""Each entry of the table is taken once, and only by a pod that it is for."""

from datetime import timedelta
from typing import Any

import pytest

from rescheduler.kube.objects import ObjectMeta
from rescheduler.runtime.servers.open_entries import OpenEntries
from tests.runtime.servers.entries import NOW, entry, metadata


def table(*entries: Any) -> OpenEntries:
    made = OpenEntries(lambda: NOW)
    made.replace(entries)
    return made


def take(some: OpenEntries, pod: ObjectMeta, **more: Any) -> str:
    found = some.take(pod, pod.uid, namespace="web", **more)
    return found.pod if found else ""


def test_as_many_pods_are_steered_as_there_are_entries_and_no_more() -> None:
    some = table(entry("old-1"), entry("old-2"))
    taken = [take(some, metadata(f"new-{number}")) for number in range(5)]
    assert taken == ["old-1", "old-2", "", "", ""]


def test_who_asks_again_gets_the_same() -> None:
    some = table(entry("old-1"), entry("old-2"))
    assert take(some, metadata("b")) == take(some, metadata("b")) == "old-1"
    some.replace([entry("old-1"), entry("old-2"), entry("old-3")])
    assert take(some, metadata("b")) == "old-1"
    assert take(some, metadata("c")) == "old-2"


def test_a_gone_entry_steers_nobody_and_one_that_returns_is_new() -> None:
    some = table(entry("old-1"))
    assert take(some, metadata("a")) == "old-1"
    some.replace([])
    assert take(some, metadata("a")) == ""
    some.replace([entry("old-1")])
    assert take(some, metadata("b")) == "old-1"


def test_a_dry_run_takes_nothing() -> None:
    some = table(entry("old-1"))
    assert take(some, metadata("a"), looks=True) == "old-1"
    assert take(some, metadata("b")) == "old-1"


@pytest.mark.parametrize(
    "pod",
    [
        metadata(owner="rs2"),
        metadata(labels={"pod-template-hash": "other"}),
        metadata(labels={"pod-template-hash": "", "controller-revision-hash": "x"}),
        metadata(labels=None),
        metadata(ownerReferences=None),
    ],
    ids=["another owner", "another template", "another revision", "no template", "no owner"],
)
def test_a_pod_that_it_is_not_for_gets_nothing(pod: ObjectMeta) -> None:
    assert take(table(entry("old-1")), pod) == ""


def test_nor_after_the_deadline_nor_under_another_name_or_namespace() -> None:
    late = entry("old-1", deadline=NOW - timedelta(seconds=1))
    assert take(table(late), metadata("a")) == ""
    named = entry("old-1", name="web-0")
    assert take(table(named), metadata("a")) == ""
    assert take(table(named), metadata("a", name="web-0")) == "old-1"
    assert table(entry("old-1")).take(metadata("a"), "a", namespace="other") is None
