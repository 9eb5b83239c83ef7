"""What is missing holds its workload and namespace, and everybody only where several show it."""

from copy import deepcopy
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from rescheduler.actions.resets import reset
from rescheduler.kube import annotations
from rescheduler.kube.controllers import ConditionWithMessage, Namespace
from rescheduler.kube.managed_fields import ControllerFields, NamespaceMeta, TemplateWrite
from rescheduler.kube.objects import Named, ObjectMeta
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import Plan
from rescheduler.runtime.exit_codes import exit_code
from tests.cases import every
from tests.cluster import NOW, pod
from tests.planning.scenarios import SWIFT, hot_gpus
from tests.planning.world import World

HELD = "ELG038"
ROOMY = SWIFT.model_copy(update={"movesPerCycle": 40})


def tenants(names: int = 8) -> World:
    """Five hot nodes with pods of eight workloads, spread over so many namespaces `team-N`."""
    world = hot_gpus(limits=ROOMY)
    found = [pod.metadata for pod in world.snapshot.pods]
    for metadata in found + [controller.metadata for controller in world.snapshot.controllers]:
        app = metadata.name.split("-")
        metadata.namespace = "serve" if app[0] == "serve" else f"team-{int(app[1]) % names}"
    names_of = sorted({pod.metadata.namespace for pod in world.snapshot.pods})
    spaces = [Namespace(metadata=NamespaceMeta(name=name)) for name in names_of]
    world.snapshot = replace(world.snapshot, namespaces=spaces)
    world.measure()
    return world


def lose(world: World, number: int, **changed: Any) -> PastMove:
    """A pod of `train-N` was evicted an hour ago, and its owner lacks one Ready pod since."""
    (top,) = [c for c in world.snapshot.controllers if c.metadata.name == f"train-{number}"]
    top.status.readyReplicas = top.wanted - 1
    fields: dict[str, Any] = {
        "plan": "p",
        "podUid": f"gone-{number}-{len(world.history.moves)}",
        "namespace": top.metadata.namespace,
        "pod": f"train-{number}-9",
        "workload": top.metadata.uid,
        "source": "n1",
        "at": NOW - timedelta(hours=1),
        "state": "lost",
        "settled": NOW - timedelta(minutes=50),
    }
    world.history.moves.append(PastMove(**(fields | changed)))
    world.measure()  # a snapshot of its own
    return world.history.moves[-1]


def moved(made: Plan) -> set[str]:
    return {move.pod.namespace for move in made.moves}


@pytest.mark.parametrize(
    ("state", "code", "name"),
    [
        ("lost", "ACT011", "team-1"),
        ("evicted", "ACT019", "team-1"),
        ("evicted", "ACT001", "team-1/train-1-9"),
        ("intended", "", "team-1/train-1-9"),
    ],
)
def test_a_hold_says_by_which_name_it_is_forgiven(state: str, code: str, name: str) -> None:
    """A pod with a long grace period is awaited for long after its replacement is missed."""
    world = tenants(4)
    settled = NOW - timedelta(minutes=50) if state == "lost" else None
    lose(world, 1, state=state, code=code, settled=settled)
    [said] = {refusal.message for refusal in world.plan().refused if refusal.code == HELD}
    assert f"or `rescheduler reset hold {name}` forgives it" in said
    assert "team-1" not in moved(world.plan())
    if "/" in name:
        assert reset(world.history, "hold", "team-1", NOW) == []
    assert len(reset(world.history, "hold", name, NOW)) == 1
    world.measure()
    assert "team-1" in moved(world.plan())


def test_a_missing_replacement_holds_its_namespace_and_nobody_else() -> None:
    world = tenants(4)
    assert {"team-0", "team-1"} <= moved(world.plan())
    lose(world, 0)
    made = world.plan()
    assert made.guards == []
    assert "team-0" not in moved(made)
    assert "team-1" in moved(made)
    assert made.totals.refused[HELD] > 0, "train-4 is in the same namespace"
    assert made.totals.refused.get("GRD003", 0) == 0


@pytest.mark.parametrize(
    ("lost", "everybody"), [((0, 4), False), ((0, 1), False), ((0, 1, 2), True)]
)
def test_everybody_is_held_from_three_namespaces_on(lost: tuple[int, ...], everybody: bool) -> None:
    world = tenants(4)
    for number in lost:
        lose(world, number)
    made = world.plan()
    assert [guard.code for guard in made.guards] == ["GRD003"] * len(lost) * everybody
    assert bool(made.moves) != everybody


def test_where_fewer_namespaces_move_fewer_hold_everybody() -> None:
    """Of three that have workloads one is protected: two can move, and both lack a replacement."""
    world = tenants(2)
    world.limits = ROOMY.model_copy(update={"protectedNamespaces": ["serve"]})
    lose(world, 0)
    assert world.plan().guards == []
    lose(world, 1)
    assert [guard.code for guard in world.plan().guards] == ["GRD003"] * 2


@pytest.mark.parametrize(("missing", "everybody"), [(6, False), (7, True)])
def test_a_third_of_the_last_moves_holds_everybody(missing: int, everybody: bool) -> None:
    """From two namespaces: what one alone does holds nobody else, however often it does it."""
    world = tenants(8)
    for number in range(20):
        done: dict[str, Any] = {"state": "ready", "readySince": NOW, "podUid": f"done-{number}"}
        lose(world, number % 2, **({} if number >= 20 - missing else done))
    made = world.plan()
    assert bool(made.guards) == everybody
    for move in world.history.moves:
        move.workload, move.namespace = world.history.moves[0].workload, "team-0"
    assert world.plan().guards == [], "they are all of one namespace"


@pytest.mark.parametrize("where", ["namespace", "owner"])
def test_who_opted_out_holds_nobody(where: str) -> None:
    world = tenants(4)
    for number in (0, 1, 2):
        lose(world, number)
    assert world.plan().guards
    out = {annotations.OPT_OUT: "true"}
    if where == "namespace":
        found: list[ObjectMeta] = [namespace.metadata for namespace in world.snapshot.namespaces]
    else:
        found = [controller.metadata for controller in world.snapshot.controllers]
    for metadata in found:
        if metadata.name in ("team-0", "train-0"):
            metadata.annotations = out
    made = world.plan()
    assert made.guards == []
    # The rest of its namespace is free again where only the workload is left alone.
    assert ("team-0" in moved(made)) == (where == "owner")


def test_a_hold_ends_with_its_cause_and_by_time() -> None:
    world = tenants(4)
    past = lose(world, 0)
    assert "team-0" not in moved(world.plan())
    past.settled = NOW - timedelta(hours=49)
    past.at = past.settled - timedelta(minutes=6)
    assert "team-0" in moved(world.plan())
    past.settled = NOW - timedelta(minutes=50)
    (top,) = [c for c in world.snapshot.controllers if c.metadata.name == "train-0"]
    top.status.readyReplicas = top.wanted
    world.measure()
    assert "team-0" in moved(world.plan())


def test_no_hold_is_silent_where_nothing_else_moves() -> None:
    """All pods that are worth a move are of the namespace that is held; others only could move."""
    world = tenants(1)
    assert moved(world.plan()) == {"team-0"}
    lose(world, 0)
    made = world.plan()
    assert made.moves == []
    assert [guard.code for guard in made.guards] == ["GRD003"]
    assert "pod team-0/train-0-9 was evicted" in made.guards[0].message
    assert exit_code(made) == 3
    world.history.moves.clear()
    world.history.slow = {"team-0": world.snapshot.taken - timedelta(minutes=59)}
    for controller in world.snapshot.controllers:
        controller.status.readyReplicas = controller.wanted
    world.measure()
    slow = world.plan()
    assert [guard.code for guard in slow.guards] == ["ELG040"]
    assert exit_code(slow) == 3
    world.history.slow = {"team-0": world.snapshot.taken - timedelta(minutes=61)}
    assert world.plan().guards == []


def test_a_hold_says_why_and_how_it_ends() -> None:
    world = tenants(4)
    lose(world, 0)
    (top,) = [c for c in world.snapshot.controllers if c.metadata.name == "train-0"]
    text = "pods 'train-0-' is forbidden: exceeded quota: gpus"
    top.status.conditions = [
        ConditionWithMessage(
            type="ReplicaFailure", status="True", reason="FailedCreate", message=text
        )
    ]
    made = world.plan()
    (refused,) = {refusal.message for refusal in made.refused if refusal.code == HELD}
    assert "pod team-0/train-0-9 was evicted at 2026" in refused
    assert f"FailedCreate: {text}" in refused
    assert "until it has, at the latest until 2026" in refused
    assert "rescheduler reset hold team-0" in refused


def say(world: World, number: int, message: str) -> None:
    """The Deployment `train-N` says why its ReplicaSet makes no pod."""
    (top,) = [c for c in world.snapshot.controllers if c.metadata.name == f"train-{number}"]
    top.status.conditions = [
        ConditionWithMessage(
            type="ReplicaFailure", status="True", reason="FailedCreate", message=message
        )
    ]
    world.measure()


@pytest.mark.parametrize(
    ("message", "own"),
    [
        ('pods "train-0-x" is forbidden: exceeded quota: gpus, requested: pods=1', True),
        ('pods "x" is forbidden: violates PodSecurity "restricted:latest": privileged', True),
        ('pods "x" is forbidden: maximum cpu usage per Container is 1, but limit is 4', True),
        ('Pod "x" is invalid: spec.containers[0].image: Required value', True),
        ('admission webhook "mine.evil" denied the request: no', False),
        ("ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no", False),
        ('pods "w" is forbidden: status unknown for quota: q, resources: pods', False),
        ('pods "w" is forbidden: no PriorityClass with name gpu was found', False),
        ('Internal error occurred: failed calling webhook "w": connection refused', False),
        ('pods is forbidden: User "system:serviceaccount:kube-system:rs" cannot create', False),
        ("the server was unable to return a response in the time allotted", False),
    ],
    ids=[
        "quota",
        "security",
        "limitrange",
        "invalid",
        "webhook",
        "policy",
        "lagging",
        "class",
        "uncalled",
        "rights",
        "timeout",
    ],
)
def test_what_an_owner_brings_on_itself_is_no_evidence_against_others(
    message: str, own: bool
) -> None:
    """Three namespaces lack a replacement, which would hold everybody."""
    world = tenants(4)
    for number in (0, 1, 2):
        lose(world, number)
        say(world, number, message)
    made = world.plan()
    assert [guard.code for guard in made.guards] == ["GRD003"] * 3 * (not own)
    assert moved(made) == ({"team-3"} if own else set())
    for controller in world.snapshot.controllers:
        controller.status.conditions = None
    world.measure()
    assert world.plan().guards, "nothing says why"


def lack(world: World, number: int, **spec: Any) -> None:
    """The replacement of the pod of `train-N` is there, and Pending with this in its spec."""
    lose(world, number)
    template = next(p for p in world.snapshot.pods if p.metadata.name == f"train-{number}-0")
    made = pod(
        f"train-{number}-new",
        namespace=template.metadata.namespace,
        labels={"app": f"train-{number}"},
        requests={"cpu": "1"},
    )
    made.metadata.ownerReferences = template.metadata.ownerReferences
    for name, value in spec.items():
        setattr(made.spec, name, value)
    world.snapshot = replace(world.snapshot, pods=[*world.snapshot.pods, made])
    world.measure()


@every(
    [
        ({"schedulingGates": [Named(name="mine")]}, 0, True),
        ({"nodeSelector": {"no": "node"}}, 30, True),
        ({"nodeSelector": {"no": "node"}}, 90, False),
        ({"nodeSelector": {"no": "node"}}, 0, False),
        ({"nodeSelector": {"kubernetes.io/hostname": "n1"}}, 30, False),
        ({"schedulerName": "nobody", "nodeSelector": {"no": "node"}}, 30, False),
        ({}, 30, False),
    ]
)
def test_a_replacement_that_fits_no_node_by_its_own_rules_holds_it_alone(
    spec: dict[str, Any], edited: int, own: bool
) -> None:
    """edited: minutes since its template was written; the pods were evicted 60 minutes ago.

    What was not written since admitted the nodes where they ran, so the cluster has changed.
    """
    world = tenants(4)
    written = msgspec.convert({"f:spec": {"f:template": {}}}, ControllerFields)
    for number in (0, 1, 2):
        (top,) = [c for c in world.snapshot.controllers if c.metadata.name == f"train-{number}"]
        at = NOW - timedelta(minutes=edited)
        if edited:
            top.metadata.managedFields = [TemplateWrite(time=at, fieldsV1=written)]
        lack(world, number, **spec)
    made = world.plan()
    assert bool([guard for guard in made.guards if guard.code == "GRD003"]) != own
    if own:
        assert {"team-0", "team-1", "team-2"}.isdisjoint(moved(made))
        lack(world, 2)  # one that nothing keeps, beside the one that is bound
        lack(world, 1)
        lack(world, 0)
        assert world.plan().guards


@pytest.mark.parametrize("lacking", [True, False])
@pytest.mark.parametrize(("finalizers", "ready"), [(True, True), (True, False), (False, True)])
def test_a_pod_that_its_own_finalizers_keep_holds_nobody_else(
    finalizers: bool, ready: bool, lacking: bool
) -> None:
    """lacking: whether its controller waits until it is gone, or has replaced it."""
    world = tenants(4)
    for number in (0, 1, 2):
        (old,) = [p for p in world.snapshot.pods if p.metadata.name == f"train-{number}-0"]
        (top,) = [c for c in world.snapshot.controllers if c.metadata.name == f"train-{number}"]
        lose(world, number, state="evicted", code="ACT019", podUid=old.metadata.uid, settled=None)
        if not lacking:
            top.status.readyReplicas = top.wanted
            new = deepcopy(old)
            new.metadata.name = new.metadata.uid = f"train-{number}-new"
            world.snapshot = replace(world.snapshot, pods=[*world.snapshot.pods, new])
        old.metadata.deletionTimestamp = NOW - timedelta(minutes=55)
        old.metadata.finalizers = ["evil.io/keep"] if finalizers else None
    if not ready:
        unready = next(n for n in world.snapshot.nodes if n.metadata.name == "n1")
        unready.status.conditions = []
    world.measure()
    assert bool(world.plan().guards) != (finalizers and ready)


def test_three_namespaces_of_one_tenant_hold_nobody_else() -> None:
    world = tenants(4)
    for number in (0, 1, 2):
        lose(world, number)
    assert world.plan().guards
    for namespace in world.snapshot.namespaces:
        mob = namespace.metadata.name in ("team-0", "team-1", "team-2")
        namespace.metadata.labels = {"tenant": "mob"} if mob else {}
    world.limits = ROOMY.model_copy(update={"tenantLabel": "tenant"})
    world.measure()
    made = world.plan()
    assert made.guards == []
    assert moved(made) == {"team-3"}
    lose(world, 3)
    world.limits = world.limits.model_copy(update={"protectedNamespaces": ["serve"]})
    world.measure()
    said = [guard.message for guard in world.plan().guards]
    assert "nothing moves until" in said[0], "only two tenants move, and both lack a replacement"


@pytest.mark.parametrize("missing", [2, 3])
def test_several_namespaces_of_a_tenant_hold_all_of_it(missing: int) -> None:
    """Else a failure of the whole cluster would cost it a pod in one namespace after the other."""
    world = tenants(5)
    for number in range(missing):
        lose(world, number)
    for space in world.snapshot.namespaces:
        of_another = space.metadata.name in ("team-4", "serve")
        space.metadata.labels = {"tenant": "other" if of_another else "mob"}
    world.limits = ROOMY.model_copy(update={"tenantLabel": "tenant"})
    world.measure()
    made = world.plan()
    assert made.guards == []
    assert moved(made) == ({"team-4"} if missing == 3 else {"team-2", "team-3", "team-4"})
    said = [refusal.message for refusal in made.refused if "team-3" in refusal.pod.namespace]
    assert any("nothing of tenant mob moves" in message for message in said) == (missing == 3)


@pytest.mark.parametrize("one", [True, False])
def test_a_third_of_the_last_moves_counts_where_two_tenants_show_it(one: bool) -> None:
    world = tenants(4)
    for namespace in world.snapshot.namespaces:
        namespace.metadata.labels = {"tenant": "mob" if one else namespace.metadata.name}
    world.limits = ROOMY.model_copy(update={"tenantLabel": "tenant"})
    for number in range(20):
        done: dict[str, Any] = {"state": "ready", "readySince": NOW, "podUid": f"done-{number}"}
        lose(world, number % 2, **({} if number >= 13 else done))
    for namespace in world.snapshot.namespaces:
        if namespace.metadata.name not in ("team-0", "team-1"):
            namespace.metadata.labels = {}
    world.measure()
    assert bool(world.plan().guards) != one
