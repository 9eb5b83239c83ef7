"""Owners above controllers: read, not read, listed, scaled and rolled out."""

from dataclasses import replace
from typing import Any

import pytest

from rescheduler.kube import annotations as names
from rescheduler.kube.controllers import MOST_OWNERS, Owner
from rescheduler.kube.objects import ObjectMeta, OwnerReference
from rescheduler.planning.eligibility.eligibility import refusal
from tests.cases import every
from tests.cluster import NOW, controller, pod
from tests.planning.cases import Case, settled
from tests.planning.eligibility.jobs import failure_policy, job


def run_by(case: Case, *kinds: str, read: bool = True) -> list[Owner]:
    """Owners of these kinds, each above the one before; the first is above the controller."""
    (below,) = case.snapshot.controllers
    made: list[Owner] = []
    for kind in kinds:
        above = Owner(kind=kind, metadata=ObjectMeta(name="top", namespace="default", uid=kind))
        (made[-1] if made else below).metadata.ownerReferences = [
            OwnerReference(
                kind=kind, name="top", uid=kind, apiVersion="example.com/v1", controller=True
            )
        ]
        made.append(above)
    case.snapshot.owners.extend(made if read else [])
    return made


def test_a_job_may_be_run_by_a_cron_job_and_by_nothing_else() -> None:
    for kind, code in (("CronJob", ""), ("JobSet", "ELG015"), ("TrainJob", "ELG015")):
        case = settled(job(**failure_policy("Ignore")))
        run_by(case, kind)
        assert case.verdict() == code
        case.limit(gangs="Whole", otherOwners="Allow")
        assert case.verdict() == ("" if kind == "JobSet" else code)


ABOVE = [
    ("Job", ("CronJob",)),
    ("Job", ("JobSet",)),
    ("Job", ("JobSet", "TrainJob")),
    ("StatefulSet", ("LeaderWorkerSet",)),
    ("StatefulSet", ("Pod", "StatefulSet", "LeaderWorkerSet")),
    ("ReplicaSet", ("Rollout",)),
    ("StatefulSet", ("Postgres",)),
]


def below(kind: str, *kinds: str, read: bool = True, **limits: Any) -> tuple[Case, list[Owner]]:
    case = settled(lambda case: case.own(kind, **failure_policy("Ignore")))
    case.top.status.replicas = case.top.status.readyReplicas = 3
    case.limit(gangs="Whole", **limits)
    return case, run_by(case, *kinds, read=read)


@pytest.mark.parametrize(("kind", "kinds"), ABOVE)
def test_every_owner_above_may_ask_that_its_pods_be_left_alone(
    kind: str, kinds: tuple[str, ...]
) -> None:
    assert below(kind, *kinds)[0].verdict() == ""
    for number in range(len(kinds)):
        case, owners = below(kind, *kinds)
        owners[number].metadata.annotations = {names.OPT_OUT: "true"}
        assert case.verdict() == "ELG011"
        case, owners = below(kind, *kinds)
        owners[number].metadata.deletionTimestamp = NOW
        assert case.verdict() == "ELG015"


@pytest.mark.parametrize(("kind", "kinds"), ABOVE)
def test_an_owner_above_that_is_not_read_may_have_opted_out(
    kind: str, kinds: tuple[str, ...]
) -> None:
    unread = kinds[0] in ("Rollout", "Postgres")
    case, _ = below(kind, *kinds, read=False)
    assert case.verdict() == ("ELG036" if unread else "ELG015"), "one that is read is gone"
    told = refusal(case.snapshot, 0, case.limits, case.history)
    assert told is not None
    assert f"run by {kinds[0]}" in told.message
    case, _ = below(kind, *kinds, read=False, otherOwners="Allow")
    assert case.verdict() == ("" if unread else "ELG015")


@every(
    [
        (["Rollout.example.com"], ""),
        (["Postgres.example.com", "Rollout.example.com"], ""),
        (["Postgres.example.com"], "ELG036"),
        # The same word in the API group of somebody else.
        (["Rollout.argoproj.io"], "ELG036"),
    ]
)
def test_owners_above_of_kinds_that_are_listed_are_allowed(allowed: list[str], code: str) -> None:
    assert below("ReplicaSet", "Rollout", read=False, otherOwners=allowed)[0].verdict() == code
    case, _ = below("Job", "TrainJob", read=False, otherOwners=["TrainJob.example.com"])
    assert case.verdict() == "ELG015", "of Jobs it is nothing to be allowed"


@pytest.mark.parametrize(
    ("kind", "above", "read"),
    [("ReplicaSet", "Rollout", False), ("StatefulSet", "LeaderWorkerSet", True)],
)
def test_the_autoscaler_of_an_owner_above_is_heeded(kind: str, above: str, *, read: bool) -> None:
    for target, desired, code in ((above, 3, ""), (above, 4, "ELG013"), ("Deployment", 4, "")):
        case, _ = below(kind, above, read=read, otherOwners="Allow")
        case.scale(target, "top", currentReplicas=3, desiredReplicas=desired)
        assert case.verdict() == code, (target, desired)


@every(
    [
        ("ReplicaSet", "Running", "ELG013"),
        ("ReplicaSet", "Pending", "ELG013"),
        ("ReplicaSet", "Failed", ""),
        ("ReplicationController", "Running", "ELG013"),
        # Of StatefulSets an operator keeps several for good.
        ("StatefulSet", "Running", ""),
    ]
)
def test_an_unread_owner_with_pods_of_two_replica_sets_may_be_rolling_out(
    kind: str, phase: str, code: str
) -> None:
    case, _ = below(kind, "Rollout", read=False, otherOwners=["Rollout.example.com"])
    assert case.verdict() == ""
    (current,) = case.snapshot.controllers
    preview = controller(kind, "preview", replicas=1)
    preview.metadata.ownerReferences = current.metadata.ownerReferences
    made = pod("preview-1", "n4", owner=preview)
    made.status.phase = phase
    case.snapshot = replace(
        case.snapshot,
        controllers=[current, preview],
        pods=[*case.snapshot.pods, made],
    )
    assert case.verdict() == code
    preview.metadata.ownerReferences = None
    case.snapshot = replace(case.snapshot)  # one snapshot finds the owners of its pods once
    assert case.verdict() == "", "it is another one's"


def test_the_leader_of_a_group_is_read_among_the_pods() -> None:
    """LeaderWorkerSet makes its leader the owner of the StatefulSet of its workers."""
    case, (leader,) = below("StatefulSet", "Pod", read=False)
    assert case.verdict() == "ELG015"
    case.snapshot.pods[1].metadata.uid = leader.metadata.uid
    case.snapshot.pods[1].metadata.ownerReferences = []
    case.snapshot = replace(case.snapshot)
    case.limit(minReplicas=1)
    assert case.verdict() in ("", "ELG024")
    case.snapshot.pods[1].metadata.annotations = {names.OPT_OUT: "true"}
    assert case.verdict() == "ELG011"


@pytest.mark.parametrize(("owners", "code"), [(MOST_OWNERS - 1, ""), (MOST_OWNERS, "ELG015")])
def test_of_a_chain_longer_than_any_real_one_the_rest_is_not_known(owners: int, code: str) -> None:
    # 2,000 ReplicaSets above one another would be followed by each of the pods.
    case, made = below("StatefulSet", *(f"Job{n}" for n in range(owners)), otherOwners="Allow")
    for owner_object in (*case.snapshot.controllers, *made):
        for reference in owner_object.metadata.ownerReferences or ():
            reference.kind = "Job"
    assert case.verdict() == code


def test_of_a_long_annotation_the_beginning_is_told() -> None:
    case, owners = below("Job", "CronJob")
    owners[0].metadata.annotations = {names.OPT_OUT: "x" * 250_000}
    found = refusal(case.snapshot, 0, case.limits, case.history)
    assert found is not None
    assert found.message.startswith(f"annotation {names.OPT_OUT}: 'xxx")
    assert len(found.message) < 200


@pytest.mark.parametrize(("values", "code"), [(20, ""), (200, "ELG015")])
def test_one_whose_pods_cannot_be_listed_by_its_selector_is_not_followed(
    values: int, code: str
) -> None:
    case = settled(lambda case: case.own("StatefulSet"))
    case.top.status.replicas = case.top.status.readyReplicas = 3
    expression = {"key": "app", "operator": "NotIn", "values": ["v" * 63] * values}
    case.top.spec.selector = {"matchExpressions": [expression]}
    assert case.verdict() == code
