"""Acting under seeded faults, crashes and stalls, checked against the truth of the cluster.

Codes I01 to I31 name the promises: who is evicted once, with the intent stored first, and so on.
"""

import random
from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import pytest

from rescheduler.model.history import History
from rescheduler.model.plan import Plan, PlannedMove
from rescheduler.model.problem import Problem
from rescheduler.policies.limits import Limits
from rescheduler.runtime.enforce.acting import act
from tests.fakes.moves import plan_of, planned
from tests.fakes.stage import WIDE, Killed, Process, Stage, warm
from tests.fakes.truth import Truth

LIMITS = Limits(**WIDE, movesPerHour=2, readyTimeout=timedelta(seconds=60))
STORY = Limits(**WIDE, readyTimeout=timedelta(seconds=60))
EVICTION = "eviction"


def objection(stage: Stage) -> Callable[[PlannedMove, History], Problem | None]:
    """The part of the re-check that needs no placement: cool-downs, and the guard on the lost."""

    def check(move: PlannedMove, history: History) -> Problem | None:
        if any(past.state == "lost" for past in history.moves):
            return Problem(code="GRD003", message="")
        until = history.cool_until(move.owner.uid, LIMITS.coolDown, LIMITS.coolDownCap)
        if until is not None and stage.now() < until:
            return Problem(code="ELG022", message="")
        return None

    return check


def build(stage: Stage, truth: Truth, chance: random.Random) -> list[PlannedMove]:
    """A few workloads on three nodes, some under budgets, and moves of many of their pods."""
    moves = []
    for number in range(chance.randint(2, 4)):
        kind = chance.choice(["ReplicaSet", "ReplicaSet", "StatefulSet"])
        uid, app = f"owner-{number}", f"app{number}"
        replicas = chance.randint(2, 3)
        truth.wanted[uid] = replicas
        for index in range(replicas):
            node = f"n{chance.randint(1, 3)}"
            pod = stage.world.add_pod(f"{app}-{index}", node, owner=(kind, uid), app=app)
            if chance.random() < 0.7:
                moves.append(planned(pod, batch=chance.randint(1, 3)))
        if chance.random() < 0.4:
            stage.world.add_budget(f"b{number}", app, allowed=chance.choice([0, 1, 1]))
        if chance.random() < 0.1:
            stage.world.add_budget(f"c{number}", app, allowed=1)
    chance.shuffle(moves)
    return moves


class Weather:
    """What goes wrong around one process, drawn from a seed; `seen` counts what was reached."""

    def __init__(
        self, stage: Stage, truth: Truth, chance: random.Random, seen: Counter[str]
    ) -> None:
        self.stage = stage
        self.truth = truth
        self.chance = chance
        self.seen = seen
        self.rate = chance.choice([0.0, 0.02, 0.06])
        crashes = chance.random() < 0.5
        self.crash = chance.randint(0, 60) if crashes else -1
        self.crash_after = chance.random() < 0.5
        self.process: Process | None = None

    def before(self, number: int, method: str, path: str) -> str | int | None:
        if number == self.crash and not self.crash_after:
            self.seen["killed before a request"] += 1
            raise Killed
        # A request that was stalled on its way is judged by test_stalled_at_any_request_...
        if self.chance.random() < self.rate / 4 and EVICTION not in path:
            self.seen["stalled"] += 1
            self.stage.seconds += self.chance.choice([5, 50, 200])
        if self.chance.random() < self.rate * 2:
            self.seen["a pod replaced by others"] += 1
            pods = [name for kind, _, name in self.stage.world.objects if kind == "pods"]
            self.stage.world.swap("default", self.chance.choice(pods))
        if self.chance.random() < self.rate * (3 if EVICTION in path else 0.5):
            self._around(path)
        if self.chance.random() < self.rate / 4 and self.process is not None:
            self.seen["asked to stop"] += 1
            self.process.stopped = "SIGTERM"
        # Weighted towards where it matters: a run has few evictions among its requests.
        if self.chance.random() < self.rate * (6 if EVICTION in path else 1):
            return self._fault(method, path)
        return None

    def _around(self, path: str) -> None:
        """Something that a pod hangs on changes."""
        world = self.stage.world
        what = self.chance.choice(["cordon", "opt-out", "scale", "scale", "autoscale", "budget"])
        # Only what changes after all was read again is left to the API server to refuse.
        what = "budget" if EVICTION in path else what
        self.seen[f"changed: {what}"] += 1
        match what:
            case "cordon":
                name = f"n{self.chance.randint(1, 3)}"
                node = world.objects.get(("nodes", "", name))
                if node is not None:
                    node["spec"]["unschedulable"] = True
                    self.truth.cordoned.setdefault(name, self.stage.now())
            case "opt-out" if self.chance.random() < 0.2:
                namespace = world.objects["namespaces", "", "default"]
                namespace["metadata"]["annotations"] = {"rescheduler.io/opt-out": "true"}
            case "scale":
                world.objects[self.chance.choice(world.owners())]["metadata"]["generation"] += 1
            case "autoscale":
                world.add_autoscaler(self.chance.choice(world.owners()), current=2, desired=3)
            case "budget":
                for (kind, _, _), value in world.objects.items():
                    if kind == "poddisruptionbudgets":
                        value["status"]["disruptionsAllowed"] = 0

    def _fault(self, method: str, path: str) -> str | int | None:
        if EVICTION in path:
            fault = self.chance.choice(["lost", 403, 429, 500, 504])
            self.seen[f"eviction: {fault}"] += 1
            return fault
        self.seen["other request lost"] += 1
        return self.chance.choice(["lost", 503])

    def after(self, number: int, _method: str, path: str) -> str | None:
        if number == self.crash and self.crash_after:
            self.seen["killed after an eviction" if EVICTION in path else "killed after"] += 1
            raise Killed
        if self.chance.random() < self.rate * (6 if EVICTION in path else 1):
            self.seen["reply of an eviction lost" if EVICTION in path else "reply lost"] += 1
            return "lost"
        return None


def one_run(process: Process, plan: Plan, truth: Truth, seen: Counter[str]) -> None:
    """Act once, perhaps to the death, and hold the outcome against the truth."""
    before = len(truth.accepted)
    began = process.stage.seconds
    try:
        outcome = act(plan, process.actor())
    except Killed:
        return
    seen[outcome.verdict.code] += 1
    done = {uid for _, uid, _ in truth.accepted[before:]}
    for move in outcome.moves:
        seen[f"{move.result} {move.code}"] += 1
        # What was not answered, and is gone by somebody else's hand, counts as ours.
        gone = done | process.stage.world.swapped
        if move.result == "evicted" and move.pod.uid not in gone:
            truth.broken.append(f"I26 {move.pod.uid} is said to be evicted")
        if move.result in ("refused", "skipped") and move.pod.uid in done:
            truth.broken.append(f"I26 {move.pod.uid} is said to be {move.result}")
    asked = Counter(path for _, path in process.sent if EVICTION in path)
    if max(asked.values(), default=0) > 2:
        truth.broken.append("I03 asked more than twice in one run")
    if process.stage.seconds - began > 3600:
        truth.broken.append("I30 the run did not end")


def simulate(seed: int, seen: Counter[str]) -> list[str]:
    """Three faulty runs and a clean one of the same plan, as after kill -9; what was broken."""
    chance = random.Random(seed)
    stage = warm(Stage())
    truth = Truth(stage.world, LIMITS)
    moves = build(stage, truth, chance)
    stage.world.ready_after = chance.choice([2.0, 10.0, 90.0])
    landing = chance.choice(["spare", "spare", "n1", ""])
    stage.world.place = lambda _: landing
    plan = plan_of(stage.world, moves, expires=timedelta(hours=9))
    for number in range(4):
        process = Process(stage, f"p{number}", limits=LIMITS, wall=chance.choice([0, 25, -25]))
        process.objection = objection(stage)
        if number < 3:
            weather = Weather(stage, truth, chance, seen)
            weather.process = process
            process.before, process.after = weather.before, weather.after
        one_run(process, plan, truth, seen)
        stage.seconds += chance.choice([1, 30, 100, 400, 4000]) if number < 2 else 400
        stage.world.tick()
    truth.in_the_end()
    return truth.broken


def test_whatever_goes_wrong_no_promise_is_broken() -> None:
    seen: Counter[str] = Counter()
    for seed in range(500):
        broken = simulate(seed, seen)
        assert broken == [], f"seed {seed}: {broken}"
    for reached in (
        "killed before a request",
        "killed after",
        "killed after an eviction",
        "stalled",
        "asked to stop",
        "reply of an eviction lost",
        "eviction: lost",
        "eviction: 504",
        "eviction: 429",
        "ACT013",
        "ACT014",
        "ACT016",
        "ACT015",
        "GRD003",
        "GRD005",
        "evicted ACT001",
        "evicted ACT011",
        "evicted ACT012",
        "refused ACT002",
        "refused ACT003",
        "refused ACT004",
        "refused DRF005",
        "refused DRF007",
        "refused ELG011",
        "refused ELG013",
        "refused ACT007",
        "refused ELG022",
        "refused PAC005",
        "skipped ACT010",
        "unknown ACT009",
    ):
        assert seen[reached] >= 2, f"{reached} was reached {seen[reached]} times: {seen}"


def story(stage: Stage) -> tuple[Plan, Truth]:
    """Three workloads; the first batch has two moves, the second one."""
    truth = Truth(stage.world, STORY)
    moves = []
    for number, kind in enumerate(["ReplicaSet", "StatefulSet", "ReplicaSet"]):
        uid = f"owner-{number}"
        truth.wanted[uid] = 2
        for index in range(2):
            pod = stage.world.add_pod(f"a{number}-{index}", "n1", owner=(kind, uid), app=uid)
        moves.append(planned(pod, batch=1 + number // 2))
    plan = plan_of(stage.world, moves, expires=timedelta(hours=9))
    return plan, truth


def requests_of_a_calm_run() -> list[tuple[str, str]]:
    stage = warm(Stage())
    plan, _ = story(stage)
    process = Process(stage, "calm", limits=STORY)
    act(plan, process.actor())
    assert len(stage.world.accepted) == 3
    return process.sent


@pytest.mark.parametrize("applied", [False, True])
@pytest.mark.parametrize("pause", [1, 70, 400])
def test_killed_at_any_request_and_run_again(applied: bool, pause: int) -> None:
    for crash in range(len(requests_of_a_calm_run())):
        stage = warm(Stage())
        plan, truth = story(stage)

        def kill(number: int, _m: str, _p: str, crash: int = crash) -> None:
            if number == crash:
                raise Killed

        hook = {"after": kill} if applied else {"before": kill}
        first = Process(stage, "first", limits=STORY, **hook)
        with pytest.raises(Killed):
            act(plan, first.actor())
        for name in ("second", "third"):
            stage.seconds += pause
            stage.world.tick()
            process = Process(stage, name, limits=STORY)
            process.objection = objection(stage)
            one_run(process, plan, truth, Counter())
        stage.seconds += 400
        act(plan, Process(stage, "last", limits=STORY).actor())
        truth.in_the_end()
        assert truth.broken == [], f"killed at request {crash}"
        # Each move of the plan is made once in the end, unless its intent was never carried out.
        assert len(set(stage.world.accepted)) == len(stage.world.accepted) == 3


@pytest.mark.parametrize("applied", [False, True])
def test_stalled_at_any_request_while_another_one_takes_over(applied: bool) -> None:
    calm = requests_of_a_calm_run()
    late = 0
    for stall, (_, path) in enumerate(calm):
        stage = warm(Stage())
        plan, truth = story(stage)
        other = Process(stage, "other", limits=STORY)
        other.objection = objection(stage)

        def freeze(number: int, _m: str, _p: str, stall: int = stall, stage: Stage = stage) -> None:
            if number == stall:
                stage.seconds += 100
                act(plan, other.actor())  # noqa: B023

        hook = {"after": freeze} if applied else {"before": freeze}
        first = Process(stage, "first", limits=STORY, **hook)
        act(plan, first.actor())
        sent = [p for _, p in first.sent[stall + 1 :] if EVICTION in p]
        held_by_it_before = not any("leases" in p for _, p in first.sent[:stall])
        if not held_by_it_before:
            assert sent == [], f"stalled at {stall} ({path}), then sent {sent}"
            late += 1
        # Only a request that had passed its last gate can come late; UID and API server stop it.
        allowed = ("I09", "I02", "I06", "I08") if EVICTION in path else ()
        assert [b for b in truth.broken if not b.startswith(allowed or "-")] == []
        assert len(set(stage.world.accepted)) == len(stage.world.accepted)
    assert late > 20
