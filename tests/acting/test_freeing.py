"""A replacement that must go to chosen nodes, and stays Pending, is evicted once and replaced."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from msgspec import structs

from rescheduler.acting.run import act
from rescheduler.kube.annotations import OPT_OUT
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.errors import ObjectLate, ObjectUnreadable
from rescheduler.model.moves.plan import ClusterRef
from rescheduler.policies.limits import Limits
from rescheduler.runtime.exit_codes import exit_code
from tests.acting.pending import pending
from tests.fakes.moves import plan_of
from tests.fakes.outcomes import history
from tests.fakes.stage import WIDE, Killed, Process, Stage
from tests.fakes.truth import STATE
from tests.planning.limits.more_limits import labelled_limits
from tests.steering.runs import run, stage, steered, table, web

__all__ = ["stage"]


def test_a_required_replacement_that_stays_pending_is_freed_once(stage: Stage) -> None:
    pending(stage)
    manifest = web(stage)
    process = Process(stage, "a")
    outcome = run(stage, steered(manifest), process=process)
    (move,) = outcome.moves
    assert (move.result, move.code, move.landedOn) == ("evicted", "ACT020", "spare")
    assert exit_code(outcome) == 3
    assert len(stage.world.accepted) == 2
    (freed,) = [
        announcement for announcement in process.announced if announcement[0].startswith("rs-1-r")
    ]
    assert freed[1:] == ("evicted", "ACT001")
    first, freeing = history(stage)
    assert (first.state, first.freed, freeing.frees) == ("ready", True, manifest["metadata"]["uid"])
    assert freeing.charged
    assert table(stage) == []
    (record,) = Process(stage, "reader").ledger.peek().landings
    assert record.compared == 1


def test_it_counts_by_the_labels_of_the_move_that_it_completes(stage: Stage) -> None:
    """Of the node none of them counts, as it leaves no node."""
    pending(stage)
    with labelled_limits() as more:
        manifest = web(stage)
        manifest["metadata"]["labels"]["team"] = "search"
        for most, freed in ((1, 1), (2, 2)):
            limits = more.model_validate(
                {**WIDE, "movesPerTeam": most, "movesPerRackAndHour": 1, "cyclePeriod": "1h"}
            )
            moves = [] if stage.world.accepted else [steered(manifest)]
            run(stage, *moves, process=Process(stage, f"a{most}", limits=limits))
            stage.seconds += 100
            assert len(stage.world.accepted) == freed
    assert [move.counted["pod label team"] for move in history(stage)] == ["search", "search"]


def test_a_preferred_replacement_that_is_pending_is_left_alone(stage: Stage) -> None:
    pending(stage)
    run(stage, steered(web(stage), "Prefer"))
    assert len(stage.world.accepted) == 1


def test_the_budgets_decide_whether_it_is_freed_now_or_later(stage: Stage) -> None:
    pending(stage)
    limits = Limits.model_validate({**WIDE, "movesPerCycle": 1, "cyclePeriod": "10m"})
    first = Process(stage, "a", limits=limits, missed=True)
    outcome = run(stage, steered(web(stage)), process=first)
    assert len(stage.world.accepted) == 1
    assert outcome.verdict.code == "GRD003"
    stage.seconds += 100
    outcome = run(stage, process=Process(stage, "z", limits=limits))
    assert len(stage.world.accepted) == 1
    assert [note.code for note in outcome.plan.notes] == ["STR007"]
    assert "PAC001" in outcome.plan.notes[0].message
    assert exit_code(outcome) == 1
    stage.seconds += 501
    outcome = run(stage, process=Process(stage, "b", limits=limits))
    assert len(stage.world.accepted) == 2
    assert outcome.plan.notes == []
    stage.seconds += 601
    run(stage, process=Process(stage, "c", limits=limits))
    assert len(stage.world.accepted) == 2


@pytest.mark.parametrize("per_node", [1, "100%"])
def test_it_leaves_no_node_so_that_no_limit_of_a_node_holds_it(
    stage: Stage, per_node: int | str
) -> None:
    """Nor does it use up that of the nodes that were removed meanwhile."""
    pending(stage)
    limits = Limits.model_validate({**WIDE, "movesPerNode": per_node, "inFlightPerWorkload": 5})
    moves = [
        steered(stage.world.add_pod(f"web-{n}", f"n{n}", owner=("ReplicaSet", f"rs-{n}"), app="w"))
        for n in range(2)
    ]
    outcome = run(stage, *moves, process=Process(stage, "a", limits=limits))
    assert [move.code for move in outcome.moves] == ["ACT020", "ACT020"]


def test_one_that_is_placed_at_the_last_moment_stays(stage: Stage) -> None:
    pending(stage)

    def placed(_number: int, _method: str, path: str) -> None:
        if path.endswith("eviction") and "-r" in path:
            (pod,) = [
                value
                for key, value in stage.world.objects.items()
                if key[0] == "pods" and "-r" in key[2]
            ]
            pod["metadata"]["resourceVersion"] = "999"
            pod["spec"]["nodeName"] = "n5"

    run(stage, steered(web(stage)), process=Process(stage, "a", before=placed))
    assert len(stage.world.accepted) == 1


REPLICA_SET, NAMESPACE = ("replicasets", "default", "rs-1"), ("namespaces", "", "default")
SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"


def annotated(stage: Stage, key: tuple[str, str, str], name: str, value: str) -> None:
    stage.world.objects[key]["metadata"].setdefault("annotations", {})[name] = value


def pending_pod(stage: Stage) -> tuple[str, str, str]:
    (key,) = [key for key in stage.world.objects if key[0] == "pods" and "-r" in key[2]]
    return key


def unreadable(stage: Stage) -> None:
    """It may be a budget that asks for more than we see."""
    key = ("poddisruptionbudgets", "default", "odd")
    stage.world.put(*key, {"metadata": {"generation": "one"}, "spec": {}, "status": {}})


def leaving(stage: Stage) -> None:
    """Marked right after it was listed: it goes by itself."""
    stage.world.objects[pending_pod(stage)]["metadata"]["deletionTimestamp"] = (
        "2026-11-21T12:09:00Z"
    )


MEANWHILE: dict[str, Callable[[Stage], object]] = {
    "the namespace opted out": lambda s: annotated(s, NAMESPACE, OPT_OUT, "true"),
    "its owner opted out": lambda s: annotated(s, REPLICA_SET, OPT_OUT, "true"),
    "it opted out": lambda s: annotated(s, pending_pod(s), OPT_OUT, "true"),
    "an autoscaler may not take it": lambda s: annotated(s, pending_pod(s), SAFE, "false"),
    "its owner was changed": lambda s: s.world.objects[REPLICA_SET]["metadata"].update(
        generation=2
    ),
    "its rollout is paused": lambda s: s.world.objects[REPLICA_SET]["spec"].update(paused=True),
    "its owner is gone": lambda s: s.world.objects.pop(REPLICA_SET),
    "it has no owner any more": lambda s: s.world.objects[pending_pod(s)]["metadata"].update(
        ownerReferences=[]
    ),
    "the namespace goes": lambda s: s.world.objects[NAMESPACE]["metadata"].update(
        deletionTimestamp="2026-11-21T12:09:00Z"
    ),
    "the namespace is gone": lambda s: s.world.objects.pop(NAMESPACE),
    "something there cannot be read": unreadable,
    "it is leaving": leaving,
    "it was placed": lambda s: s.world.objects[pending_pod(s)]["spec"].update(nodeName="n5"),
}


@pytest.mark.parametrize("fault", MEANWHILE)
def test_a_pending_one_is_not_freed_where_it_would_not_be_evicted_either(
    stage: Stage, fault: str
) -> None:
    """What has changed since it was listed, right before the request."""
    pending(stage)
    changed: list[str] = []

    def changes(_number: int, method: str, path: str) -> None:
        made = [key for key in stage.world.objects if key[0] == "pods" and "-r" in key[2]]
        if not changed and made and method == "GET" and path.endswith(f"/pods/{made[0][2]}"):
            changed.append(path)
            MEANWHILE[fault](stage)

    # With these limits an owner that is not known protects nobody.
    limits = Limits.model_validate({**WIDE, "otherOwners": "Allow"})
    process = Process(stage, "a", limits=limits, before=changes)
    run(stage, steered(web(stage)), process=process)
    assert changed
    assert len(stage.world.accepted) == 1
    assert len(history(stage)) == 1
    assert "a Pending replacement is not released yet" in process.warned


@pytest.mark.parametrize(("known", "evicted"), [({"packer"}, 1), (set(), 2)])
def test_it_is_not_freed_where_it_may_be_a_scheduler_that_the_plan_knew(
    stage: Stage, known: set[str], evicted: int
) -> None:
    pending(stage)
    manifest = web(stage)
    stage.world.put("namespaces", "", "jobs", {})
    asking = stage.world.add_pod("job-1", "n7", owner=("ReplicaSet", "jobs"), app="job")
    asking["metadata"]["namespace"] = "jobs"
    asking["spec"]["schedulerName"] = "packer"
    stage.world.put("pods", "jobs", "job-1", asking)
    del stage.world.objects["pods", "default", "job-1"]

    def relabel(_number: int, method: str, path: str) -> None:
        made = [key for key in stage.world.objects if key[0] == "pods" and "-r" in key[2]]
        if made and method == "GET" and path.endswith(f"/pods/{made[0][2]}"):
            stage.world.objects[made[0]]["metadata"]["labels"]["component"] = "packer"

    process = Process(stage, "a", namespaces=("default", "jobs"), before=relabel)
    actor = replace(process.actor(), schedulers=known)
    act(plan_of(stage.world, [steered(manifest)]), actor)
    assert len(stage.world.accepted) == evicted


def test_it_is_not_freed_where_the_limits_protect_it_by_now(stage: Stage) -> None:
    pending(stage)
    full = Limits.model_validate({**WIDE, "movesPerCycle": 1, "cyclePeriod": "10m"})
    run(stage, steered(web(stage)), process=Process(stage, "a", limits=full))
    stage.seconds += 601
    protects = full.model_copy(update={"protectedNamespaces": ["default"]})
    assert protects.protects("default")
    run(stage, process=Process(stage, "b", limits=protects))
    assert len(stage.world.accepted) == 1
    run(stage, process=Process(stage, "c", limits=full))
    assert len(stage.world.accepted) == 2


def test_it_is_not_freed_by_what_was_read_too_long_ago(stage: Stage) -> None:
    pending(stage)
    slow: list[str] = []
    reread: list[str] = []

    def stalls(_number: int, method: str, path: str) -> None:
        state = method == "PUT" and path.endswith("rescheduler-state")
        if state and not slow and len(stage.world.accepted) == 1 and reread:
            slow.append(path)
            stage.seconds += 6
        if method == "GET" and "/pods/rs-1-r" in path:
            reread.append(path)

    outcome = run(stage, steered(web(stage)), process=Process(stage, "a", before=stalls))
    assert slow
    assert outcome.verdict.code == "ACT016"
    assert len(stage.world.accepted) == 1
    assert [past.state for past in history(stage)][-1] == "refused"


@pytest.mark.parametrize(
    ("fault", "said"),
    [(ObjectUnreadable, "a budget is odd"), (ObjectLate, "2 pods of its namespace came late")],
)
def test_it_is_not_freed_where_what_it_hangs_on_cannot_be_read(
    stage: Stage, fault: type[Exception], said: str
) -> None:
    pending(stage)
    process = Process(stage, "a")
    usual = process.actor()

    def reread(namespace: str, name: str) -> Snapshot:
        if name.startswith("rs-1-r"):
            raise fault("a budget is odd")
        return usual.reread(namespace, name)

    outcome = act(plan_of(stage.world, [steered(web(stage))]), replace(usual, reread=reread))
    assert len(stage.world.accepted) == 1
    assert outcome.verdict.code != "ACT016"
    assert "a Pending replacement is not released yet" in process.warned
    (note,) = [note for note in outcome.plan.notes if note.code == "STR007"]
    assert "ACT024" in note.message
    assert said in note.message


def test_killed_while_it_is_freed_it_is_not_freed_again(stage: Stage) -> None:
    pending(stage)

    def dies(_number: int, _method: str, path: str) -> None:
        if path.endswith("eviction") and "-r" in path:
            raise Killed

    with pytest.raises(Killed):
        run(stage, steered(web(stage)), process=Process(stage, "a", after=dies))
    stage.seconds += 180
    run(stage, process=Process(stage, "b"))
    assert len(stage.world.accepted) == 2
    first, freeing = history(stage)
    assert (first.freed, freeing.state) == (True, "ready")
    assert first.landedOn == "spare"


def placed_just_then(stage: Stage, process: Process) -> None:
    """kube-scheduler finds a node for the replacement as its eviction is requested."""

    def places(_number: int, _method: str, path: str) -> None:
        if not path.endswith("eviction") or "/rs-1-r" not in path:
            return
        pod = stage.world.objects[pending_pod(stage)]
        if not pod["spec"]["nodeName"]:
            pod["metadata"]["resourceVersion"] = "999"
            pod["spec"]["nodeName"], pod["status"]["phase"] = "n5", "Running"
            pod["readyAt"] = stage.world.now() + timedelta(seconds=5)

    process.before = places


def test_one_that_found_a_node_after_all_is_no_fault(stage: Stage) -> None:
    pending(stage)
    process = Process(stage, "a")
    placed_just_then(stage, process)
    outcome = run(stage, steered(web(stage)), process=process)
    assert [move.landedOn for move in outcome.moves] == ["n5"]
    assert [note.code for note in outcome.plan.notes] == []
    assert exit_code(outcome) == 0


def test_one_that_changed_since_it_was_read_is_tried_again(stage: Stage) -> None:
    """kube-scheduler writes a new message into its condition with each try."""
    pending(stage)
    written: list[str] = []

    def writes(_number: int, _method: str, path: str) -> None:
        if path.endswith("eviction") and "/rs-1-r" in path and not written:
            stage.world.objects[pending_pod(stage)]["metadata"]["resourceVersion"] = "999"
            written.append(path)

    outcome = run(stage, steered(web(stage)), process=Process(stage, "a", before=writes))
    assert written
    assert [move.code for move in outcome.moves] == ["ACT020"]
    assert len(stage.world.accepted) == 2


def test_a_pause_does_not_hide_one_that_we_keep_pending(stage: Stage) -> None:
    pending(stage)
    limits = Limits.model_validate({**WIDE, "movesPerCycle": 1, "cyclePeriod": "10m"})
    run(stage, steered(web(stage)), process=Process(stage, "a", limits=limits))
    stage.seconds += 700
    stored = stage.world.objects[STATE]
    stage.world.put(*STATE, {**stored, "data": {**stored["data"], "paused": "true"}})
    outcome = run(stage, process=Process(stage, "b", limits=limits))
    assert outcome.verdict.code == "GRD006"
    (note,) = outcome.plan.notes
    assert (note.code, "GRD006" in note.message) == ("STR007", True)
    assert exit_code(outcome) == 1


def test_a_plan_for_another_cluster_frees_nothing_here(stage: Stage) -> None:
    pending(stage)
    limits = Limits.model_validate({**WIDE, "movesPerCycle": 1, "cyclePeriod": "10m"})
    run(stage, steered(web(stage)), process=Process(stage, "a", limits=limits))
    stage.seconds += 700
    foreign = structs.replace(plan_of(stage.world, []), cluster=ClusterRef(uid="another"))
    outcome = act(foreign, Process(stage, "b", limits=limits).actor())
    assert outcome.verdict.code == "ACT016"
    assert len(stage.world.accepted) == 1
