"""What the model was never compared with is said, and does not act unless that is allowed."""

from dataclasses import replace
from typing import Any

import pytest

from rescheduler.model.cluster.snapshot import Cluster, Snapshot
from rescheduler.model.moves.plan import Plan
from rescheduler.planning.plan.planner import plan
from rescheduler.policies.files.policy_set import policy_set, scheduler_from_document
from rescheduler.reporting.view import view
from rescheduler.runtime.exit_codes import exit_code
from rescheduler.runtime.servers.telemetry import Telemetry
from rescheduler.scheduler.config.schedulers import Schedulers, schedulers_of
from rescheduler.scheduler.config.versions import COMPARED, NEWEST
from rescheduler.scheduler.model import SchedulerModel
from tests.cluster import node, pod, snapshot
from tests.planning.scenarios import hot_gpus
from tests.policies.scheduler_documents import USUAL, document
from tests.scheduler.config.observed import complete, observed
from tests.scheduler.containers import two

NEVER = [f"v1.{NEWEST + 1}.0", f"v1.{NEWEST + 2}.0-beta.0", "v1.99.0", "1.33.4-gke.1", "v1.33.0"]


def cluster(version: str, **more: Any) -> Snapshot:
    made = snapshot([node("a")], [pod("p", on="a")])
    return replace(made, cluster=Cluster(uid="1", version=version), **more)


def found(server: str, **spec: Any) -> Schedulers:
    documents = [scheduler_from_document(document("mine", **spec))] if spec else []
    return schedulers_of(cluster(server), documents)


def planned(version: str, **spec: Any) -> Plan:
    world = hot_gpus()
    documents = (scheduler_from_document(document("mine", **spec)),) if spec else ()
    policies = policy_set(world.policies, world.limits, documents)
    there = replace(world.snapshot, cluster=Cluster(uid="1", version=version))
    return plan(there, policies, world.history, mode="Enforce")


@pytest.mark.parametrize("version", NEVER)
def test_a_minor_version_that_was_never_compared_is_a_guard_that_names_it(version: str) -> None:
    schedulers = found(version)
    [guard] = schedulers.guards
    assert guard.code == "GRD012"
    minor = version.removeprefix("v").split(".")[1]
    assert f"{USUAL} is of 1.{minor}" in guard.message
    assert COMPARED[NEWEST] in guard.message
    assert f'allowVersions: ["1.{minor}"]' in guard.message
    assert schedulers.profiles[USUAL].problem == ""


@pytest.mark.parametrize("release", COMPARED.values())
def test_another_patch_of_a_compared_version_counts_as_compared(release: str) -> None:
    minor = release.rsplit(".", 1)[0]
    for version in (release, f"{minor}.0", f"{minor}.99-eks-113cf36"):
        assert found(version).guards == ()


def test_the_operator_may_allow_a_version_for_a_declared_scheduler() -> None:
    allowed = found("v1.99.0", allowVersions=["1.98", "1.99"])
    assert allowed.guards == ()
    [note] = allowed.notes
    assert note.code == "GRD012"
    assert "allowed by document mine" in note.message
    assert found("v1.99.0", allowVersions=["1.98"]).guards
    assert found("v1.99.0", schedulerName="other", allowVersions=["1.99"]).guards


def test_the_version_of_the_scheduler_counts_not_the_api_servers() -> None:
    assert found("v1.99.0", version="1.36").guards == ()
    assert found("v1.36.3", version="1.99").guards
    newer = cluster("v1.36.3", scheduler=observed(complete(), version="v1.99.1"))
    assert [guard.code for guard in schedulers_of(newer).guards] == ["GRD012"]


@pytest.mark.parametrize(("version", "expected"), [("1.36", 4000), ("1.37", 3000), ("", 3000)])
def test_requests_count_as_the_usual_scheduler_counts_them(version: str, expected: int) -> None:
    """A kube-scheduler of 1.36 before an API server of 1.37, while a cluster is upgraded."""
    growing, sample = pod("p", "a"), two()
    growing.spec.containers = sample.spec.containers
    growing.status.containerStatuses = sample.status.containerStatuses
    made = replace(snapshot([node("a")], [growing]), cluster=Cluster(uid="1", version="v1.37.2"))
    documents = [scheduler_from_document(document("mine", version=version))] if version else []
    known = schedulers_of(made, documents)
    assert known.profiles[USUAL].problem == ""
    occupancy = SchedulerModel(made, known.profiles).occupancy
    assert occupancy.requested[occupancy.index["cpu"]].tolist() == [expected]


def test_a_scheduler_that_no_pod_has_holds_nothing() -> None:
    assert found("v1.36.3", schedulerName="other", version="1.99").guards == ()


def test_the_plan_predicts_and_says_so_everywhere_and_nothing_acts() -> None:
    held = planned("v1.99.0")
    assert [guard.code for guard in held.guards] == ["GRD012"]
    assert held.moves == planned("v1.99.0", allowVersions=["1.99"]).moves
    assert held.moves
    assert exit_code(held) == 3
    assert "GRD012" in {alert.code for alert in view(held).alerts}
    telemetry = Telemetry()
    telemetry.observe(held)
    assert telemetry.gauge("guard_holding", "GRD012")._value.get() == 1


def test_a_plan_with_an_allowed_version_says_so_and_acts() -> None:
    allowed = planned("v1.99.0", allowVersions=["1.99"])
    assert allowed.guards == []
    assert "GRD012" in {note.code for note in allowed.notes}
    assert exit_code(allowed) == 0


def test_other_guards_leave_no_move_beside_it() -> None:
    world = hot_gpus()
    bare = replace(world.snapshot, nodes=[], cluster=Cluster(uid="1", version="v1.99.0"))
    bare = replace(bare, pods=[replace_node(pod) for pod in bare.pods])
    held = plan(bare, policy_set(world.policies, world.limits), world.history, mode="Enforce")
    assert {guard.code for guard in held.guards} >= {"GRD011", "GRD012"}
    assert not held.moves


def replace_node(pod: Any) -> Any:
    from msgspec import structs  # noqa: PLC0415 - of one test

    return structs.replace(pod, node="")
