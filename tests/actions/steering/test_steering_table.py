"""The table of replacements: written whole or not at all, by the lock's holder."""

from datetime import timedelta
from functools import partial
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.actions.steering.steering_format import (
    FENCE,
    MOST_BYTES,
    MOST_LINE,
    MOST_LINES,
    MOST_VALUE,
    encode_entries,
    read,
)
from rescheduler.actions.steering.steering_table import TABLE, SteeringTable
from rescheduler.model.errors import ActionError, LockLost
from rescheduler.model.moves.steering_entry import MOST_NODES, SteeringEntry
from tests.cases import every
from tests.fakes.stage import MAPS, START, Process, Stage
from tests.fakes.steering import wanted
from tests.runtime.servers import entries

KEY = ("configmaps", "rescheduler", TABLE)
SAFE = st.text("abz09-.", min_size=1, max_size=6).map(lambda text: f"x{text}y")


entry = partial(
    entries.entry, strength="Require", deadline=START + timedelta(minutes=2), plan="plan-1"
)


def table(process: Process) -> SteeringTable:
    return SteeringTable(process._stored(MAPS, TABLE), where=f"rescheduler/{TABLE}")


def stored(stage: Stage) -> tuple[list[SteeringEntry], dict[str, str]]:
    """The entries, and the keys that cannot be read, with why."""
    return read(stage.world.objects[KEY]["data"])


def begun() -> tuple[Stage, Process, SteeringTable]:
    stage = Stage()
    process = Process(stage, "one")
    return stage, process, table(process)


@given(
    st.lists(
        st.builds(
            entry,
            pod=SAFE,
            owner=SAFE,
            template=SAFE | st.just(""),
            name=SAFE | st.just(""),
            strength=st.sampled_from(["Prefer", "Require"]),
            hostnames=st.lists(SAFE, min_size=1, max_size=4).map(tuple),
            deadline=st.integers(0, 9999).map(lambda seconds: START + timedelta(seconds=seconds)),
        ),
        max_size=8,
    )
)
def test_what_is_written_is_read(entries: list[SteeringEntry]) -> None:
    found, broken = read(encode_entries(entries))
    assert not broken
    key = msgspec.json.encode
    assert sorted(map(key, found)) == sorted(map(key, entries))


def test_replacements_to_the_same_nodes_share_a_line() -> None:
    data = encode_entries([entry("p1"), entry("p2"), entry("p3", hostnames=("h9",))])
    assert data == {
        "rs1": "Require|abc||h1,h2|web|"
        "2026-11-21T12:02:00Z,plan-1,p1;2026-11-21T12:02:00Z,plan-1,p2\n"
        "Require|abc||h9|web|2026-11-21T12:02:00Z,plan-1,p3"
    }


def test_an_intent_is_there_once_until_it_is_removed() -> None:
    stage, _, ours = begun()
    assert ours.add([entry("p1"), entry("p2")], fence=3) is None
    assert ours.add([entry("p1", hostnames=("h7",))], fence=3) is None
    assert {entry.pod: entry.hostnames for entry in stored(stage)[0]} == {
        "p1": ("h7",),
        "p2": ("h1", "h2"),
    }
    ours.remove({"p1"}, fence=3)
    assert [entry.pod for entry in stored(stage)[0]] == ["p2"]


def test_what_does_not_fit_is_refused_whole() -> None:
    stage, _, ours = begun()
    ours.add([entry("p0")], fence=1)
    big = [
        entry(f"p{n}", owner=f"rs{n}", hostnames=tuple(f"{h:063}" for h in range(MOST_NODES)))
        for n in range(1, 200)
    ]
    problem = ours.add(big, fence=1)
    assert problem is not None
    assert problem.code == "STR003"
    assert str(MOST_BYTES) in problem.message
    assert [entry.pod for entry in stored(stage)[0]] == ["p0"]
    many = entry("p1", hostnames=tuple(f"h{n}" for n in range(MOST_NODES + 1)))
    assert getattr(ours.add([many], fence=1), "code", "") == "STR003"
    assert getattr(ours.add([entry("p|1")], fence=1), "code", "") == "STR003"
    assert getattr(ours.add([entry("p1", hostnames=("h 1",))], fence=1), "code", "") == "STR003"
    long = [entry(f"p{n}", hostnames=(f"h{n}", "h" * 60)) for n in range(1000)]
    assert getattr(ours.add(long, fence=1), "code", "") == "STR003"
    assert list(stage.world.objects[KEY]["data"]) == ["rs1"]


def to_node(node: int, pods: int) -> list[SteeringEntry]:
    """Entries of one controller that share a line."""
    return [entry(f"{node}-{n}", hostnames=(f"h{node}",)) for n in range(pods)]


def test_a_controller_has_no_more_lines_than_the_policy_reads() -> None:
    stage, _, ours = begun()
    assert ours.add([entry for n in range(MOST_LINES) for entry in to_node(n, 1)], fence=1) is None
    problem = ours.add(to_node(MOST_LINES, 1), fence=1)
    assert problem is not None
    assert (problem.code, f"more than {MOST_LINES}" in problem.message) == ("STR003", True)
    assert len(stored(stage)[0]) == MOST_LINES


def test_no_line_or_value_is_longer_than_the_policy_reads() -> None:
    _, _, ours = begun()
    (line,) = encode_entries(to_node(0, 400)).values()
    lines = MOST_VALUE // len(line)
    assert ours.add([entry for n in range(lines) for entry in to_node(n, 400)], fence=1) is None
    problem = ours.add(to_node(lines, 400), fence=1)
    assert problem is not None, "the value is too long"
    (line,) = encode_entries(to_node(0, 1)).values()
    problem = table(Process(Stage(), "other")).add(to_node(0, MOST_LINE // len(line) * 2), fence=1)
    assert problem is not None, "the line is too long"
    assert problem.code == "STR003"


GARBAGE = {
    "words": "hello",
    "fields": "Require|abc||h1|web",
    "strength": "Force|abc||h1|web|2026-11-21T12:02:00Z,plan-1,p1",
    "hostname": "Prefer|abc||h1,,h2|web|2026-11-21T12:02:00Z,plan-1,p1",
    "no label": "Prefer|abc||h 1|web|2026-11-21T12:02:00Z,plan-1,p1",
    "too long": f"Prefer|abc||{'h' * 64}|web|2026-11-21T12:02:00Z,plan-1,p1",
    "time": "Prefer|abc||h1|web|soon,plan-1,p1",
    "item": "Prefer|abc||h1|web|2026-11-21T12:02:00Z",
    "empty": "",
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage_is_swept_and_named_and_in_nobodys_way(kind: str) -> None:
    stage, _, ours = begun()
    ours.add([entry("p1")], fence=1)
    stage.world.objects[KEY]["data"]["other"] = GARBAGE[kind]
    found, broken = stored(stage)
    assert [entry.pod for entry in found] == ["p1"]
    assert list(broken) == ["other"]
    left = ours.sweep(fence=2, surely=False)
    assert len(left) == 2
    assert "p1" in left[0]
    assert "other" in left[1]
    assert stage.world.objects[KEY]["data"] == {}
    stage.world.objects[KEY]["data"]["other"] = GARBAGE[kind]
    assert ours.add([entry("p2")], fence=2) is None
    assert list(stage.world.objects[KEY]["data"]) == ["rs1"]


def test_what_others_filled_it_with_makes_room() -> None:
    stage, _, ours = begun()
    ours.add([entry("p1")], fence=1)
    stage.world.objects[KEY]["data"]["junk"] = "x" * 2**20
    stage.world.objects[KEY]["binaryData"] = {"more": "AAAA"}
    assert ours.add([entry("p2")], fence=1) is None
    stored = stage.world.objects[KEY]
    assert list(stored["data"]) == ["rs1"]
    assert not stored.get("binaryData")


@every([None, "text", 7, []])
def test_data_of_another_shape_is_nothing(data: Any) -> None:
    stage, _, ours = begun()
    ours.add([entry("p1")], fence=1)
    stage.world.objects[KEY]["data"] = data
    assert ours.add([entry("p2")], fence=1) is None


def test_who_lost_the_lock_writes_nothing() -> None:
    stage, _one, ours = begun()
    other = table(Process(stage, "two"))
    ours.add([entry("p1")], fence=1)
    assert len(other.sweep(fence=2, surely=False)) == 1
    with pytest.raises(LockLost):
        ours.add([entry("p2")], fence=1)
    with pytest.raises(LockLost):
        ours.remove({"p1"}, fence=1)
    assert stage.world.objects[KEY]["data"] == {}
    assert stage.world.objects[KEY]["metadata"]["annotations"][FENCE] == "2"


def test_who_begins_after_the_state_was_lost_is_not_shut_out() -> None:
    stage, _, ours = begun()
    ours.add([entry("p1")], fence=57)
    other = table(Process(stage, "two"))
    other.sweep(fence=1, surely=False)
    assert other.add([entry("p2")], fence=1) is None


def test_of_two_writers_none_is_lost() -> None:
    stage = Stage()
    other = table(Process(stage, "two"))
    raced: list[str] = []

    def first(_number: int, method: str, _path: str) -> None:
        if method == "PUT" and not raced:
            raced.append(method)
            other.add([entry("p9")], fence=1)

    ours = table(Process(stage, "one", before=first))
    assert ours.add([entry("p1")], fence=1) is None
    assert sorted(entry.pod for entry in stored(stage)[0]) == ["p1", "p9"]


def test_nothing_is_created_or_written_where_there_is_nothing_to_say() -> None:
    stage, process, ours = begun()
    assert ours.sweep(fence=1, surely=False) == []
    ours.remove({"p1"}, fence=1)
    assert KEY not in stage.world.objects
    ours.add([entry("p1")], fence=1)
    before = len(process.sent)
    ours.remove({"p2"}, fence=1)
    assert [method for method, _ in process.sent[before:]] == ["GET"]


@pytest.mark.parametrize("ends", ["removed", "swept"])
@pytest.mark.parametrize("earlier", [False, True])
def test_a_write_that_arrives_after_it_was_taken_back_is_not_stored(
    ends: str, earlier: bool
) -> None:
    """A proxy holds it back; nobody has answered it, and the table shows nothing of it."""
    stage, process, made = begun()
    if earlier:
        made.add([entry(pod="other")], 1)
        made.remove({"other"}, 1)
    stage.world.put(*KEY, stage.world.objects.get(KEY, {"apiVersion": "v1", "kind": "ConfigMap"}))
    made.sweep(1, surely=False)
    held: list[Any] = []

    def late(_number: int, method: str, path: str) -> str | None:
        if method == "PUT" and not held:
            held.append(path)
            return "lost"
        return None

    bodies: list[dict[str, Any]] = []
    store = made._store
    real = store.replace

    def seen(body: dict[str, Any]) -> dict[str, Any] | None:
        bodies.append(body)
        return real(body)

    store.replace = seen  # type: ignore[method-assign]
    process.before = late
    with pytest.raises(ActionError):
        made.add([entry(pod="p1")], 1)
    if ends == "removed":
        made.remove({"p1"}, 1)
    else:
        table(process).sweep(1, surely=True)
    status, *_ = stage.world.handle("PUT", held[0], bodies[0])
    assert status == 409
    assert stored(stage)[0] == []


def test_a_reply_that_is_lost_is_an_error() -> None:
    stage = Stage()
    ours = table(Process(stage, "one", after=lambda _n, m, _p: "lost" if m == "PUT" else None))
    with pytest.raises(ActionError):
        ours.add([entry("p1")], fence=1)


def test_a_pod_goes_where_any_intent_of_its_template_and_name_lets_it() -> None:
    both = [entry("p1", hostnames=("a", "b")), entry("p2", hostnames=("b", "c"))]
    assert wanted(both, "abc", "") == (("a", "b", "c"), "Require")
    assert wanted(both, "other", "") is None
    mixed = [both[0], msgspec.structs.replace(both[1], strength="Prefer")]
    assert wanted(mixed, "abc", "") == (("a", "b", "c"), "Prefer")
    named = [
        msgspec.structs.replace(both[0], name="db-1"),
        msgspec.structs.replace(both[1], name="db-2"),
    ]
    assert wanted(named, "abc", "db-2") == (("b", "c"), "Require")
    assert wanted(named, "abc", "") is None
