"""What cycles find is known to later processes, whatever became of the earlier ones."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import yaml

from rescheduler.acting.actor import Actor
from rescheduler.actions.finding_history_store import FindingHistoryStore
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.plan import Outcome, Plan, Report, plan_in
from rescheduler.policies.base import Policy
from rescheduler.policies.files.policy_set import PolicySet, policy_from_document, policy_set
from rescheduler.policies.limits import Limits
from rescheduler.runtime.cycle import Parts, recall_findings, run_cycle
from rescheduler.runtime.exit_codes import exit_code
from tests.fakes.stage import MAPS, Process, Stage, warm
from tests.runtime.cycles import populate
from tests.runtime.skewed import SPREAD, hot, parts, skewed

STABLE = timedelta(minutes=10)


def waiting() -> Policy:
    document = yaml.safe_load(SPREAD)
    document["spec"]["stableFor"] = "10m"
    return policy_from_document(document)


def policies() -> PolicySet:
    return policy_set([waiting()], Limits(minPodAge=timedelta(0), coolDown=timedelta(0)))


def of(process: Process, *, acts: bool = False, remembers: bool = True, **more: Any) -> Parts:
    """Parts of a cycle of this process, at its stage's time."""
    memory = FindingHistoryStore(
        process._stored(MAPS, "rescheduler-finding-history"),
        where="rescheduler/rescheduler-finding-history",
    )

    def observe(*_: Any) -> Snapshot:
        return replace(skewed(), taken=process.stage.now())

    def actor(_: PolicySet) -> Actor:
        return replace(process.actor(), observe=observe)

    made = parts(policies=policies, observe=observe)
    acting = actor if acts else None
    return replace(made, memory=memory, remembers=remembers, actor=acting, **more)


def refused(report: Report) -> dict[str, int]:
    return plan_in(report).totals.refused


def later(stage: Stage, time: timedelta) -> None:
    stage.seconds += time.total_seconds()


def test_audit_watches_and_the_first_enforcing_process_after_the_wait_acts() -> None:
    stage = warm(Stage())
    populate(stage)
    assert refused(run_cycle(of(Process(stage, "audit")))) == {"STB001": 4}
    later(stage, STABLE / 2)
    early = run_cycle(of(Process(stage, "early"), acts=True))
    assert (len(early.moves), refused(early)) == (0, {"STB001": 4})
    later(stage, STABLE / 2)
    outcome = run_cycle(of(Process(stage, "ripe"), acts=True))
    assert isinstance(outcome, Outcome)
    assert [move.result for move in outcome.moves] == ["evicted"]
    assert stage.world.accepted == [move.pod.uid for move in outcome.moves]


def test_a_plan_reads_and_writes_nothing() -> None:
    stage = warm(Stage())
    run_cycle(of(Process(stage, "audit")))
    later(stage, STABLE)
    reader = Process(stage, "laptop")
    plan = run_cycle(of(reader, remembers=False))
    assert len(plan.moves) == 1
    assert {method for method, _ in reader.sent} == {"GET"}


def test_a_plan_from_where_nothing_was_remembered_waits() -> None:
    stage = warm(Stage())
    plan = run_cycle(of(Process(stage, "laptop"), remembers=False))
    assert refused(plan) == {"STB001": 4}
    assert isinstance(plan, Plan)
    assert plan.notes == []


def forbid(verbs: set[str]) -> Any:
    return lambda _, method, __: 403 if method in verbs else None


def test_what_may_not_be_read_counts_as_new_and_is_reported() -> None:
    stage = warm(Stage())
    run_cycle(of(Process(stage, "audit")))
    later(stage, STABLE)
    plan = run_cycle(of(Process(stage, "blind", before=forbid({"GET"})), remembers=False))
    assert isinstance(plan, Plan)
    assert (plan.moves, refused(plan)) == ([], {"STB001": 4})
    assert [note.code for note in plan.notes] == ["STB003"]
    assert "every finding counts as new" in plan.notes[0].message
    assert exit_code(plan) == 1, "it would wait without end"


def test_what_may_not_be_written_is_reported_and_harms_nothing() -> None:
    stage = warm(Stage())
    plan = run_cycle(of(Process(stage, "mute", before=forbid({"PUT", "POST"}))))
    assert isinstance(plan, Plan)
    assert refused(plan) == {"STB001": 4}
    assert [note.code for note in plan.notes] == ["STB003"]
    assert "could not be remembered" in plan.notes[0].message
    assert exit_code(plan) == 1, "it would wait without end"


def test_a_run_that_never_acts_as_it_remembers_nothing_is_no_success() -> None:
    stage = warm(Stage())
    populate(stage)
    for name in ("first", "later"):
        made = of(Process(stage, name, before=forbid_memory), acts=True)
        report = run_cycle(made)
        assert [note.code for note in plan_in(report).notes] == ["STR010", "STB003"]
        assert exit_code(report) == 1
        later(stage, STABLE)
    assert stage.world.accepted == []


def forbid_memory(_: int, method: str, path: str) -> int | None:
    writes = method in ("PUT", "POST") and (path.endswith("/configmaps") or "finding" in path)
    return 403 if writes else None


def test_a_memory_that_is_lost_between_plan_and_eviction_stops_it() -> None:
    stage = warm(Stage())
    populate(stage)
    run_cycle(of(Process(stage, "audit")))
    later(stage, STABLE)
    process = Process(stage, "ripe")
    made = of(process, acts=True)
    reads = iter([False])

    def lose(_: int, method: str, path: str) -> int | None:
        if method == "GET" and path.endswith("rescheduler-finding-history"):
            return None if next(reads, True) is False else 403
        return None

    process.before = lose
    outcome = run_cycle(made)
    assert stage.world.accepted == []
    assert isinstance(outcome, Outcome)
    assert [(move.result, move.code) for move in outcome.moves] == [("refused", "STB001")]


def test_nobody_asks_where_no_policy_waits() -> None:
    process = Process(warm(Stage()), "one")
    run_cycle(replace(of(process), policies=lambda: policy_set([hot()])))
    assert process.sent == []
    assert recall_findings(of(process), policy_set([hot()]))[0].watches == ()
