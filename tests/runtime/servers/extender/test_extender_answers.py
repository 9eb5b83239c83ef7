"""The extender's answers: neutral without data, by the policies' costs, by the table."""

from typing import Any

import msgspec
import numpy as np
import pytest

from rescheduler.planning.advice import Advice
from rescheduler.runtime.servers.extender.extender_answers import Answers, known_of
from rescheduler.runtime.servers.extender.protocol import ExtenderArgs
from rescheduler.runtime.servers.open_entries import OpenEntries
from tests.cases import every
from tests.runtime.servers.entries import NOW, entry, metadata

NODES = ["n1", "n2", "n3", "n4"]
HOSTNAMES = {"n1": "h1", "n2": "h2", "n3": "h3", "n4": "h4"}


def answers(*entries: Any, costs: list[int] | None = None) -> Answers:
    table = OpenEntries(lambda: NOW)
    table.replace(entries)
    made = Answers(table, lambda: NOW)
    if costs is not None:
        advice = Advice(NODES, {"rs1": 0}, np.array([costs], dtype=np.uint8))
        made.known = known_of(advice, HOSTNAMES)
    return made


def args(names: list[str] = NODES, uid: str = "new-1", *, whole: bool = False) -> ExtenderArgs:
    pod = {"metadata": msgspec.to_builtins(metadata(uid)), "spec": {"nodeName": ""}}
    nodes = {"items": [{"metadata": {"name": name}, "status": {"x": name}} for name in names]}
    sent = {"Pod": pod, "Nodes": nodes} if whole else {"Pod": pod, "NodeNames": names}
    return msgspec.json.decode(msgspec.json.encode(sent), type=ExtenderArgs)


def scores(some: Answers, asked: ExtenderArgs | None = None) -> dict[str, int]:
    return {priority.Host: priority.Score for priority in some.prioritize(asked or args())}


def test_without_data_all_nodes_are_alike() -> None:
    assert set(scores(answers()).values()) == {0}
    assert answers().filter(args()).NodeNames == NODES


def test_the_cheapest_node_gets_the_most() -> None:
    assert scores(answers(costs=[0, 125, 250, 250])) == {"n1": 10, "n2": 5, "n3": 0, "n4": 0}


def test_scores_are_spread_over_the_nodes_that_are_asked_about() -> None:
    some = answers(costs=[0, 100, 200, 250])
    assert scores(some, args(["n2", "n3"])) == {"n2": 10, "n3": 0}
    assert scores(some, args(["n2"])) == {"n2": 0}


def test_a_node_that_came_since_is_in_the_middle() -> None:
    found = scores(answers(costs=[0, 125, 250, 250]), args(["n1", "n2", "n3", "new"]))
    assert found == {"n1": 10, "n2": 5, "n3": 0, "new": 5}


def test_the_nodes_of_the_table_come_first() -> None:
    some = answers(entry(hostnames=("h3",)), costs=[0, 125, 250, 250])
    assert scores(some) == {"n1": 0, "n2": 0, "n3": 10, "n4": 0}
    assert some.filter(args()).NodeNames == NODES
    assert scores(some, args(uid="another")) == {"n1": 10, "n2": 5, "n3": 0, "n4": 0}


@pytest.mark.parametrize("whole", [False, True])
def test_required_nodes_are_the_only_ones_left(whole: bool) -> None:
    some = answers(entry(strength="Require", hostnames=("h2", "h4")), costs=[0, 0, 0, 0])
    found = some.filter(args(whole=whole))
    assert set(found.FailedAndUnresolvableNodes) == {"n1", "n3"}
    assert "0123456789ab" in found.FailedAndUnresolvableNodes["n1"]
    if whole:
        sent = msgspec.json.decode(msgspec.json.encode(found))
        assert [item["metadata"]["name"] for item in sent["Nodes"]["items"]] == ["n2", "n4"]
        assert sent["Nodes"]["items"][0]["status"] == {"x": "n2"}
    else:
        assert found.NodeNames == ["n2", "n4"]


def test_another_pod_of_the_controller_is_not_kept_from_anything() -> None:
    some = answers(entry(strength="Require", hostnames=("h2", "h4")), costs=[0, 0, 0, 0])
    some.filter(args(uid="first"))
    assert some.filter(args(uid="second")).FailedAndUnresolvableNodes == {}


def test_without_data_no_node_is_kept_from_the_scheduler() -> None:
    asked = entry(strength="Require", hostnames=("h2", "h4"))
    assert answers(asked).filter(args()).FailedAndUnresolvableNodes == {}
    assert (
        answers(asked, costs=[0, 0, 0, 0]).filter(args(["n1", "n3"])).FailedAndUnresolvableNodes
        == {}
    )


@every(
    [
        (args(), True),
        (args(["n4", "came-since"]), True),
        (args(uid=""), False),
        (args([]), False),
        (args(["elsewhere"]), False),
    ]
)
def test_only_who_places_a_pod_of_this_cluster_is_a_scheduler_that_asks(
    asked: ExtenderArgs, counts: bool
) -> None:
    """Anybody who can reach the port may send anything."""
    some = answers(entry(strength="Require", hostnames=("h2", "h4")), costs=[0, 0, 0, 0])
    some.filter(asked)
    some.prioritize(asked)
    assert some.asked == (NOW if counts else None)
    left = some.filter(args(uid="real")).FailedAndUnresolvableNodes
    assert (left == {}) is counts, "it has taken the entry"


def test_without_data_nobody_takes_an_entry() -> None:
    some = answers(entry(strength="Require", hostnames=("h2", "h4")))
    some.filter(args())
    some.known = answers(costs=[0, 0, 0, 0]).known
    assert some.filter(args(uid="later")).NodeNames == ["n2", "n4"]
