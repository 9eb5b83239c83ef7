"""What every means of steering promises, whichever it is."""

import re
from copy import deepcopy
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from pkgutil import iter_modules

import pytest

import rescheduler
from rescheduler.acting.effective_policies import drop_missing_steering, not_set_up
from rescheduler.actions.steering.extender_lease import NAME
from rescheduler.actions.steering.steering_format import read
from rescheduler.kube.pods.tolerations import SOFT_TAINT
from rescheduler.model.errors import ActionError, LockLost
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.past_steering import PastSteering
from rescheduler.policies.files.policy_set import PolicySet, policy_set
from rescheduler.policies.limits import Limits
from rescheduler.policies.steering_fields import SteeringFields as Wanted
from rescheduler.steering import means as folder
from rescheduler.steering.means.soft_taint import SoftTaint
from rescheduler.steering.means_base import Means
from rescheduler.steering.means_registry import MEANS
from rescheduler.steering.steering import Steering
from tests.fakes.stage import Process, Stage
from tests.fakes.steering import TABLE_KEY
from tests.runtime.skewed import spread
from tests.steering.extending import LEASE_KEY, Extending, stage

__all__ = ["stage"]

ALL = pytest.mark.parametrize("means", MEANS.values(), ids=lambda means: means.name)
NODES = ["n5", "n6"]


class Acting:
    """A process that holds the lock where every means is set up, with one move to steer."""

    def __init__(self, stage: Stage, means: type[Means], name: str = "a") -> None:
        stage.world.steers = True
        self.stage = stage
        self.extending = Extending(stage)
        self.process = Process(stage, name, before=self._follow)
        self.process.lease.acquire(forever=True)
        self.history = self.process.ledger.open()
        self.steering = Steering(self.process.steering_port())
        self.extending.follow()
        taints = means.taints
        how = PastSteering(
            by=means.name,
            strength="Prefer",
            hostnames=[] if taints else NODES,
            shunned=NODES if taints else [],
            until=stage.now() + timedelta(minutes=2),
            open=False,
        )
        self.move = PastMove(
            plan="p",
            podUid="uid-1",
            namespace="default",
            pod="web-1",
            workload="rs-1",
            controller="rs-1",
            source="n1",
            at=stage.now(),
            steered=how,
        )
        self.how = how

    def _follow(self, _number: int, method: str, path: str) -> None:
        if method == "GET" and path.endswith(NAME):
            self.extending.follow()

    def enter(self) -> None:
        self.history.moves = [self.move]
        self.process.ledger.write(self.history)
        assert self.steering.enter(self.history, [self.move]) is None
        assert (self.how.open, written(self.stage)) == (True, True)

    def fail(self) -> None:
        """From now on nothing can be written to nodes and the table."""
        self.process.before = lambda _, method, path: (
            500
            if method in ("PUT", "PATCH") and ("nodes/" in path or "-steering" in path)
            else None
        )


def written(stage: Stage) -> bool:
    """Whether anything steers: an entry of the table, or a taint of ours."""
    entries = read(stage.world.objects.get(TABLE_KEY, {}).get("data") or {})[0]
    nodes = [node for key, node in stage.world.objects.items() if key[0] == "nodes"]
    taints = [taint["key"] for node in nodes for taint in node["spec"].get("taints") or ()]
    return bool(entries) or SOFT_TAINT.key in taints


def wanting(means: type[Means]) -> PolicySet:
    wanted = Wanted.model_validate({"by": means.name})
    return policy_set([spread()], Limits(minReplicas=1, steering=wanted), ())


def test_each_file_is_a_means() -> None:
    files = sorted(file.name for file in iter_modules(folder.__path__))
    assert [means.__module__.rpartition(".")[2] for means in MEANS.values()] == files
    for name, means in MEANS.items():
        assert name == means.name
        assert means.about.endswith("."), "it stands in the middle of a description"
        assert bool(means.since) == bool(means.before)


def test_no_other_file_of_the_program_names_one() -> None:
    """So a new one is one file. An annotation may name a class of the same name.

    A receiver of notifications may be a webhook, too.
    """
    quoted = re.compile(rf'(?<!-> )"({"|".join(MEANS)})[":]')
    package = Path(rescheduler.__path__[0])
    own = set(Path(folder.__path__[0]).iterdir())
    own |= {package / "reporting/notice_bodies.py", package / "policies/notifications.py"}
    product = package.rglob("*.py")
    naming = [path.name for path in product if path not in own and quoted.search(path.read_text())]
    assert naming == []


@ALL
def test_where_it_is_set_up_it_is_ready_and_confirmed(stage: Stage, means: type[Means]) -> None:
    acting = Acting(stage, means)
    assert drop_missing_steering(wanting(means), acting.steering) == (wanting(means), [])
    assert not_set_up(wanting(means), acting.steering) == []
    acting.enter()
    made = means(acting.process.steering_port())
    assert (made.ready(()), made.confirm(), made.lingering_problem()) == (None, None, None)


@ALL
def test_where_nothing_is_set_up_it_says_so_and_enters_nothing(
    stage: Stage, means: type[Means]
) -> None:
    acting, steering = Acting(stage, means), Steering(Process(stage, "b").steering_port())
    del stage.world.objects[TABLE_KEY]
    del stage.world.objects[LEASE_KEY]
    stage.world.steers = stage.world.may_taint = False
    policies, (note,) = drop_missing_steering(wanting(means), steering)
    assert {policies.limits.steering_of(policy).by for policy in policies.policies} == {"None"}
    assert (note.code, f"steering.by {means.name}:" in note.message) == ("STR001", True)
    assert not_set_up(wanting(means), steering) == [note]
    acting.history.moves = [acting.move]
    assert acting.steering.enter(acting.history, [acting.move]) is not None
    acting.move.refuse("ACT010", stage.now())
    acting.steering.close([acting.move])
    assert not written(stage)


@ALL
def test_what_cannot_be_asked_is_not_in_effect_and_not_missing(
    stage: Stage, means: type[Means]
) -> None:
    acting = Acting(stage, means)
    acting.process.before = lambda *_: 500
    _, (note,) = drop_missing_steering(wanting(means), acting.steering)
    assert note.code == "STR001"
    assert not_set_up(wanting(means), acting.steering) == []


@ALL
def test_it_steers_until_the_replacement_was_steered(stage: Stage, means: type[Means]) -> None:
    acting = Acting(stage, means)
    acting.enter()
    acting.move.evict("ACT001")
    assert not acting.steering.close([acting.move])
    assert written(stage)
    acting.move.replacement, acting.move.landedOn = "uid-2", "n5"
    assert acting.steering.close([acting.move])
    assert (written(stage), acting.how.open, acting.move.compared) == (False, False, False)
    assert not acting.steering.close([acting.move]), "there is nothing left"


@ALL
@pytest.mark.parametrize("why", ["deadline", "refused", "the run ends"])
def test_it_steers_no_longer_than_it_must(stage: Stage, means: type[Means], why: str) -> None:
    acting = Acting(stage, means)
    acting.enter()
    if why == "refused":
        acting.move.refuse("ACT004", stage.now())
    else:
        acting.move.evict("ACT001")
    if why == "deadline":
        acting.steering = acting.steering.with_clock(lambda: acting.how.until)
    assert acting.steering.close([acting.move], every=why == "the run ends")
    assert (written(stage), acting.how.open) == (False, False)
    assert acting.move.compared, "what comes now is not steered, and was not predicted"
    kept = acting.how.hostnames or acting.how.shunned
    assert kept == (NODES if why == "refused" else []), "it may be tried once more"


@ALL
def test_what_a_process_that_ended_left_is_swept(stage: Stage, means: type[Means]) -> None:
    acting = Acting(stage, means)
    acting.enter()
    acting.move.evict("ACT001")
    stage.seconds += 120
    after = Acting(stage, means, "b")
    assert after.steering.sweep(History(moves=[acting.move]))
    assert (written(stage), acting.how.open) == (False, False)
    assert any(said.startswith(("swept", "sweeping")) for said in after.process.warned)
    assert not after.steering.sweep(History(moves=[acting.move]))


@ALL
def test_what_was_left_and_cannot_be_swept_is_an_error(stage: Stage, means: type[Means]) -> None:
    acting = Acting(stage, means)
    acting.enter()
    acting.fail()
    with pytest.raises(ActionError):
        acting.steering.sweep(acting.history)
    assert acting.how.open
    acting.how.close_entry(again=True)
    assert not acting.steering.sweep(acting.history), "where nothing was left nothing is needed"


@ALL
def test_where_it_cannot_be_written_nothing_may_be_evicted(
    stage: Stage, means: type[Means]
) -> None:
    acting = Acting(stage, means)
    acting.fail()
    acting.history.moves = [acting.move]
    problem = acting.steering.enter(acting.history, [acting.move])
    assert problem is not None
    assert problem.code == means.writer.code
    assert acting.how.open, "nobody knows whether it was written"
    acting.move.refuse("ACT010", stage.now())
    assert not acting.steering.close([acting.move]), "it is tried again later"
    with pytest.raises(ActionError):
        acting.steering.close([acting.move], every=True)
    assert acting.how.open


@ALL
def test_who_has_lost_the_lock_is_told_so(stage: Stage, means: type[Means]) -> None:
    acting = Acting(stage, means)
    stage.seconds += 120
    Acting(stage, means, "b").enter()
    port = replace(acting.process.steering_port(), locked=lambda: True)
    acting.history.moves = [acting.move]
    steering = Steering(port)
    with pytest.raises(LockLost):
        steering.enter(acting.history, [acting.move])
    acting.move.refuse("ACT010", stage.now())
    with pytest.raises(LockLost):
        steering.close([acting.move])
    assert written(stage), "what the next holder has written stays"


TABLED = [means for means in MEANS.values() if not means.taints]


@pytest.mark.parametrize("means", TABLED, ids=lambda means: means.name)
def test_pods_of_a_controller_entered_at_once_may_go_to_nodes_of_all(
    stage: Stage, means: type[Means]
) -> None:
    acting, other = Acting(stage, means), "uid-3"
    first, second = acting.move, deepcopy(acting.move)
    second.podUid = other
    for move, node in ((first, "n5"), (second, "n6")):
        assert move.steered is not None
        move.steered.name_nodes([node])
    acting.history.moves = [first, second]
    assert acting.steering.enter(acting.history, [first, second]) is None
    entries = read(stage.world.objects[TABLE_KEY]["data"])[0]
    assert {entry.pod: entry.hostnames for entry in entries} == {
        "uid-1": ("n5", "n6"),
        other: ("n5", "n6"),
    }


@pytest.mark.parametrize("means", TABLED, ids=lambda means: means.name)
def test_while_a_pod_of_its_controller_is_steered_none_is_sent_elsewhere(
    stage: Stage, means: type[Means]
) -> None:
    """Anybody who steers cannot tell the two replacements apart."""
    acting = Acting(stage, means)
    acting.enter()
    other = deepcopy(acting.move)
    other.podUid = "uid-3"
    assert other.steered is not None
    other.steered.name_nodes(["n5", "n7"])
    acting.history.moves.append(other)
    problem = acting.steering.enter(acting.history, [other])
    assert problem is not None
    assert problem.code == "STR004"
    assert [entry.pod for entry in read(stage.world.objects[TABLE_KEY]["data"])[0]] == ["uid-1"]
    other.steered.name_nodes(NODES)
    assert acting.steering.enter(acting.history, [other]) is None
    other.controller = "rs-3"
    other.steered.name_nodes(["n7"])
    assert acting.steering.enter(acting.history, [other]) is None


def test_no_node_is_tainted_once_the_lock_may_be_lost(stage: Stage) -> None:
    acting = Acting(stage, SoftTaint)
    held = iter((True, False))
    port = replace(acting.process.steering_port(), locked=lambda: next(held))
    acting.history.moves = [acting.move]
    problem = Steering(port).enter(acting.history, [acting.move])
    assert problem is not None
    assert problem.code == "STR014"
    nodes = {name: stage.world.objects["nodes", "", name]["spec"].get("taints") for name in NODES}
    assert [name for name, taints in nodes.items() if taints] == ["n5"]


@pytest.mark.parametrize("means", TABLED, ids=lambda means: means.name)
def test_what_has_not_read_that_an_entry_was_taken_out_may_still_go_by_it(
    stage: Stage, means: type[Means]
) -> None:
    acting = Acting(stage, means)
    acting.enter()
    acting.process.before = lambda *_: None  # the extender does not follow any more
    stage.world.frozen = dict(stage.world.objects[TABLE_KEY])
    assert acting.steering.close([acting.move], every=True)
    problem = acting.steering.lingering_problem(means.name)
    assert problem is not None
    assert problem.code == "STR002"
    stage.world.steers = False
    stage.seconds += 60
    assert acting.steering.lingering_problem(means.name) is None, "nothing reads the table any more"


@ALL
def test_what_is_steered_by_something_else_is_not_entered(stage: Stage, means: type[Means]) -> None:
    acting = Acting(stage, means)
    others = [mean for mean in MEANS.values() if mean is not means]
    problem = Steering(acting.process.steering_port(), others).enter(acting.history, [acting.move])
    assert problem is not None
    assert (problem.code, problem.message) == ("STR001", f"nothing here steers by {means.name}")
    assert not written(stage)


@ALL
def test_others_wait_only_for_what_changes_where_they_land(
    stage: Stage, means: type[Means]
) -> None:
    acting = Acting(stage, means)
    acting.enter()
    assert acting.steering.holds_others(acting.move) == means.taints
    acting.steering.close([acting.move], every=True)
    assert not acting.steering.holds_others(acting.move)
