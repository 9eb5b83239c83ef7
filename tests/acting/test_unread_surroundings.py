"""What a pod hangs on cannot be read right before its eviction: it stays, and the others go on."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from rescheduler.acting.actor import Actor
from rescheduler.acting.run import act
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.errors import ClusterUnavailable, ObjectLate, ObjectUnreadable
from rescheduler.model.moves.plan import Outcome, PlannedMove
from rescheduler.runtime.exit_codes import exit_code
from rescheduler.sources.kubernetes.page_decoding import Sharing
from rescheduler.sources.kubernetes.pod_reread import read_surroundings
from rescheduler.sources.kubernetes.transport import Connection
from tests.acting import stopping
from tests.acting.gang_runs import ROOM, evictions, gang
from tests.acting.room_runs import LIMITS, room
from tests.fakes.apiserver import Fault, serving
from tests.fakes.moves import plan_of, planned
from tests.fakes.outcomes import history, results
from tests.fakes.stage import Process, Stage, warm

SPACES = ("default", "evil", "worse", "worst")


@pytest.fixture
def stage() -> Stage:
    made = warm(Stage())
    for name in SPACES[1:]:
        made.world.put("namespaces", "", name, {})
    return made


def pair(stage: Stage, app: str, namespace: str = "default") -> list[dict[str, Any]]:
    """Two pods of one ReplicaSet."""
    return [
        stage.world.add_pod(
            f"{app}-{n}", f"n{n}", owner=("ReplicaSet", app), app=app, namespace=namespace
        )
        for n in range(2)
    ]


def process(stage: Stage, **more: Any) -> Process:
    return Process(stage, "a", namespaces=SPACES, **more)


Reread = Callable[[str, str], Snapshot]


def with_reread(actor: Actor, reread: Callable[[Reread, str, str], Snapshot]) -> Actor:
    """The actor that reads what a pod hangs on in this way, by the other one."""
    return replace(actor, reread=lambda space, name: reread(actor.reread, space, name))


def failing(fault: Exception, *pods: str) -> Callable[[Reread, str, str], Snapshot]:
    """What these pods hang on cannot be read."""

    def reread(usual: Reread, space: str, name: str) -> Snapshot:
        if name in pods:
            raise fault
        return usual(space, name)

    return reread


def run(stage: Stage, moves: list[PlannedMove], actor: Actor) -> Outcome:
    return act(plan_of(stage.world, moves), actor)


@pytest.mark.parametrize("name", ["../../../../../../api/v1/secrets", "?watch=true", "bad/status"])
def test_a_tenant_who_names_another_path_as_owner_ends_no_run(stage: Stage, name: str) -> None:
    """The UID is right, so that the pod is planned; only the last reading goes by the name."""
    bad, good = pair(stage, "bad", "evil"), pair(stage, "good")
    for manifest in bad:
        manifest["metadata"]["ownerReferences"][0]["name"] = name
    with serving(stage.world) as fake:
        fake.faults.append(Fault("GET", "secrets", 403, times=99))
        fake.faults.append(Fault("GET", "status", 403, times=99))
        connection = Connection(fake.client(), "here", attempts=1)
        actor = replace(
            process(stage).actor(),
            reread=lambda space, pod: read_surroundings(connection, space, pod),
        )
        moves = [planned(bad[0], batch=1), planned(good[0], batch=2)]
        outcome = run(stage, moves, actor)
        asked = [path for method, path, *_ in fake.requests if method == "GET"]
    assert results(outcome) == [("refused", "ACT024"), ("evicted", "ACT001")]
    assert "evil/bad-0" in outcome.moves[0].message
    assert f"{name!r} can be no name in" in outcome.moves[0].message
    assert [path for path in asked if "/evil" in path] == ["/api/v1/namespaces/evil/pods/bad-0"]
    assert not any("secrets" in path or "watch" in path or "status" in path for path in asked)
    assert (outcome.verdict.code, exit_code(outcome)) == ("ACT013", 3)
    assert exit_code(outcome, applying=True) == 3


def test_a_namespace_with_many_large_budgets_is_read_and_ends_no_run(stage: Stage) -> None:
    bad, good = pair(stage, "bad", "evil"), pair(stage, "good")
    for number in range(140):
        stage.world.add_budget(f"b-{number}", "nothing", allowed=1, namespace="evil")
        budget = stage.world.objects["poddisruptionbudgets", "evil", f"b-{number}"]
        budget["metadata"]["annotations"] = {"note": "x" * 250_000}
    with serving(stage.world) as fake:
        connection = Connection(fake.client(), "here", attempts=1)
        actor = replace(
            process(stage).actor(),
            reread=lambda space, pod: read_surroundings(connection, space, pod),
        )
        moves = [planned(bad[0], batch=1), planned(good[0], batch=2)]
        outcome = run(stage, moves, actor)
    assert outcome.moves[1].result == "evicted"
    assert outcome.moves[0].code in ("ACT001", "ACT024"), "by the speed of this machine"


ITS_OWN = [ObjectUnreadable("a budget is odd", "look."), ObjectLate("a list was not read in time")]
ids = [type(unreadable).__name__ for unreadable in ITS_OWN]


@pytest.mark.parametrize("fault", ITS_OWN, ids=ids)
def test_only_the_pod_whose_surroundings_cannot_be_read_stays(
    stage: Stage, fault: Exception
) -> None:
    acting = process(stage)
    moves = [planned(pair(stage, app)[0]) for app in ("a", "b", "c")]
    outcome = run(stage, moves, with_reread(acting.actor(), failing(fault, "b-0")))
    assert [move.code for move in outcome.moves] == ["ACT001", "ACT024", "ACT001"]
    assert "default/b-0" in outcome.moves[1].message
    assert str(fault.args[0]) in outcome.moves[1].message
    assert [past.pod for past in history(stage)] == ["a-0", "c-0"], "no intent was stored"


def test_an_outage_ends_the_run(stage: Stage) -> None:
    acting = process(stage)
    moves = [planned(pair(stage, app)[0]) for app in ("a", "b", "c")]
    fault = ClusterUnavailable("the connection broke")
    outcome = run(stage, moves, with_reread(acting.actor(), failing(fault, "b-0")))
    assert [move.code for move in outcome.moves] == ["ACT001", "ACT010", "ACT010"]
    assert (outcome.verdict.code, exit_code(outcome)) == ("ACT016", 1)


def test_where_three_namespaces_in_a_row_are_late_the_run_ends(stage: Stage) -> None:
    """The API server is slow itself, and is not to be asked on and on."""
    acting = process(stage)
    moves = [planned(pair(stage, f"w{n}", space)[0]) for n, space in enumerate(SPACES)]
    pods = [move.pod.name for move in moves]
    slow = with_reread(acting.actor(), failing(ObjectLate("late"), *pods))
    outcome = run(stage, moves, slow)
    assert [move.code for move in outcome.moves] == ["ACT024", "ACT024", "ACT010", "ACT010"]
    assert outcome.verdict.code == "ACT016"
    assert "default, evil, worse" in outcome.verdict.message
    assert stage.world.accepted == []


def test_after_late_namespaces_later_runs_begin_with_others(
    stage: Stage,
) -> None:
    """Three tenants with very many pods ended every run, so that nobody else ever moved."""
    moves = [planned(pair(stage, f"w{n}", space)[0]) for n, space in enumerate(SPACES[1:])]
    late = [move.pod.name for move in moves]
    moves.append(planned(pair(stage, "small")[0]))
    found: list[list[str]] = []
    for number in range(3):
        acting = Process(stage, f"p{number}", namespaces=SPACES, missed=True)
        outcome = run(stage, moves, with_reread(acting.actor(), failing(ObjectLate("late"), *late)))
        found.append([move.code for move in outcome.moves])
        stage.seconds += 900
    assert found[0] == ["ACT024", "ACT024", "ACT010", "ACT010"]
    assert found[1][:3] == ["ELG040"] * 3
    assert found[1][3] == "ACT001"
    assert "until 2026-" in outcome.moves[0].message
    stage.seconds += 1900
    acting = Process(stage, "later", namespaces=SPACES, missed=True)
    outcome = run(stage, moves[:3], acting.actor())
    assert [move.code for move in outcome.moves] == ["ACT001"] * 3, "and not for ever"


def test_a_namespace_that_is_late_is_not_read_again_in_the_run(stage: Stage) -> None:
    moves = [planned(pair(stage, f"w{n}", "evil")[0]) for n in range(6)]
    moves.append(planned(pair(stage, "good")[0]))
    asked: list[str] = []

    def reread(own: Reread, space: str, name: str) -> Snapshot:
        asked.append(name)
        if space == "evil":
            raise ObjectLate("late")
        return own(space, name)

    outcome = run(stage, moves, with_reread(process(stage).actor(), reread))
    assert [move.code for move in outcome.moves] == [*["ACT024"] * 6, "ACT001"]
    assert asked == ["w0-0", "w1-0", "good-0"]


def test_one_that_is_in_time_shows_that_the_api_server_is_not_slow(stage: Stage) -> None:
    moves = [planned(pair(stage, f"w{n}", space)[0]) for n, space in enumerate(SPACES)]
    moves.insert(2, planned(pair(stage, "fine")[0]))
    late = [move.pod.name for move in moves if move.pod.name != "fine-0"]
    slow = with_reread(process(stage).actor(), failing(ObjectLate("late"), *late))
    outcome = run(stage, moves, slow)
    assert [move.code for move in outcome.moves] == [*["ACT024"] * 2, "ACT001", *["ACT024"] * 2]
    assert outcome.verdict.code == "ACT013"


@pytest.mark.parametrize("fault", ITS_OWN, ids=ids)
def test_what_is_odd_ends_no_run_and_one_namespace_none_by_being_late(
    stage: Stage, fault: Exception
) -> None:
    """One tenant may have many pods, and many namespaces that are odd."""
    spaces = SPACES if not isinstance(fault, ObjectLate) else ("evil",) * 6
    moves = [planned(pair(stage, f"w{n}", space)[0]) for n, space in enumerate(spaces)]
    moves.append(planned(pair(stage, "good")[0]))
    pods = [move.pod.name for move in moves[:-1]]
    outcome = run(stage, moves, with_reread(process(stage).actor(), failing(fault, *pods)))
    assert [move.code for move in outcome.moves] == [*["ACT024"] * len(spaces), "ACT001"]
    assert outcome.verdict.code == "ACT013"


def test_what_takes_almost_as_long_as_it_may_leaves_no_time_for_the_intent(stage: Stage) -> None:
    def slowly(usual: Reread, space: str, name: str) -> Snapshot:
        stage.seconds += 4.6 if name == "bad-0" else 4.0
        return usual(space, name)

    moves = [planned(pair(stage, app)[0]) for app in ("bad", "good")]
    outcome = run(stage, moves, with_reread(process(stage).actor(), slowly))
    assert [move.code for move in outcome.moves] == ["ACT024", "ACT001"]
    assert "4.5 s" in outcome.moves[0].message
    assert [past.pod for past in history(stage)] == ["good-0"]


def test_a_pod_that_turns_odd_after_the_snapshot_leaves_an_outcome(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = pair(stage, "bad"), pair(stage, "good")
    acting, taken = process(stage), Sharing.pod
    begun: list[str] = []

    def before(_: int, _method: str, path: str) -> None:
        begun.extend([path] if path.endswith("/pods/bad-0") else [])

    def fails(self: Sharing, pod: Any) -> str | None:
        if pod.metadata.name == "bad-1" and begun and not stage.world.accepted:
            raise RecursionError("too deep")
        return taken(self, pod)

    acting.before = before
    monkeypatch.setattr(Sharing, "pod", fails)
    moves = [planned(bad[0]), planned(good[0])]
    outcome = run(stage, moves, acting.actor())
    assert [move.code for move in outcome.moves] == ["ACT024", "ACT001"]
    assert "default/bad-1 cannot be decoded: RecursionError" in outcome.moves[0].message


@pytest.mark.parametrize("fault", ITS_OWN, ids=ids)
def test_none_of_a_gang_goes_where_one_cannot_be_read(stage: Stage, fault: Exception) -> None:
    acting = process(stage, limits=ROOM)
    moves = gang(stage)
    outcome = run(stage, moves, with_reread(acting.actor(), failing(fault, "ring-1")))
    assert results(outcome) == [("refused", "ACT024")] * 3
    assert evictions(acting) == []
    assert history(stage) == []


@pytest.mark.parametrize("which", [0, 1])
def test_a_gang_whose_member_cannot_be_read_in_the_middle_ends_there(
    stage: Stage, which: int
) -> None:
    """Each is read once before any intent, and once more right before its own eviction."""
    acting, read = process(stage, limits=ROOM), list[str]()

    def reread(usual: Reread, space: str, name: str) -> Snapshot:
        read.append(name)
        if name == f"ring-{which}" and read.count(name) == 2:
            raise ObjectUnreadable("a budget is odd")
        return usual(space, name)

    moves = [*gang(stage), planned(pair(stage, "good")[0])]
    outcome = run(stage, moves, with_reread(acting.actor(), reread))
    assert results(outcome) == [
        *[("evicted", "ACT001")] * which,
        ("refused", "ACT024"),
        *[("skipped", "ACT010")] * (2 - which),
        ("evicted", "ACT001"),
    ]
    charged = [past.charged for past in history(stage)]
    assert charged == [*(n < which for n in range(3)), True]


def test_a_pod_beside_a_gang_that_cannot_be_read_is_no_outage(stage: Stage) -> None:
    """Whether a gang has pods to spare is asked of all pods of its namespace."""
    (move, _) = gang(stage, 2)
    surplus = structs.replace(move, group="", gangMinimum=1)
    acting = process(stage, limits=ROOM)
    usual = acting.actor()

    def pods(namespace: str, selector: str, name: str) -> Any:
        if not selector and not name:
            raise ObjectUnreadable("pod default/odd cannot be decoded")
        return usual.pods(namespace, selector, name)

    moves = [surplus, planned(pair(stage, "good")[0])]
    outcome = run(stage, moves, replace(usual, pods=pods))
    assert results(outcome) == [("refused", "ACT024"), ("evicted", "ACT001")]
    assert "default/odd" in outcome.moves[0].message


@pytest.mark.parametrize("fault", ITS_OWN, ids=ids)
def test_no_room_is_made_where_one_move_for_it_cannot_be_read(
    stage: Stage, fault: Exception
) -> None:
    acting = process(stage, limits=LIMITS)
    moves = [*room(stage, 1, 2), planned(pair(stage, "good")[0], batch=3)]
    outcome = run(stage, moves, with_reread(acting.actor(), failing(fault, "w1-0")))
    assert results(outcome) == [*[("refused", "ACT024")] * 2, ("evicted", "ACT001")]
    assert len(stage.world.accepted) == 1


@pytest.mark.parametrize("intended", [False, True])
@pytest.mark.parametrize("fault", ITS_OWN, ids=ids)
def test_a_gang_of_kueue_whose_pods_cannot_be_read_is_not_stopped(
    stage: Stage, fault: Exception, intended: bool
) -> None:
    moves = stopping.gang(stage)
    other = planned(pair(stage, "good")[0])
    acting = process(stage, limits=stopping.ROOM)

    def reread(usual: Reread, space: str, name: str) -> Snapshot:
        if name.startswith("train") and bool(history(stage)) == intended:
            raise fault
        return usual(space, name)

    outcome = run(stage, [*moves, other], with_reread(acting.actor(), reread))
    assert results(outcome) == [*[("refused", "ACT024")] * 3, ("evicted", "ACT001")]
    assert not any(method == "DELETE" for method, _ in acting.sent)
    assert [past.pod for past in history(stage) if past.charged] == ["good-0"]
