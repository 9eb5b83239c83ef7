"""What a match asks of pods beside names and labels: owners, requests, claims, budgets."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from pydantic import ValidationError

from rescheduler.kube.objects import LabelSelector, Named
from rescheduler.kube.storage import ClaimSpec, PersistentVolumeClaim
from rescheduler.model.cluster.snapshot import Snapshot, Undecodable
from rescheduler.policies.match import Match
from rescheduler.policies.shared.absent_names import why_no_pod
from rescheduler.policies.shared.matching import select_pods
from tests.cases import every
from tests.cluster import budget, controller, deployment, node, pod, snapshot

CLAIMS = "persistentVolumeClaims"
CLASSES = "persistentVolumeClaims.storageClasses"
NAMES = ["web", "db", "gpu", "bare", "tmp"]


def claim(name: str, storage: str | None) -> PersistentVolumeClaim:
    made = PersistentVolumeClaim(spec=ClaimSpec(storageClassName=storage))
    made.metadata.name, made.metadata.namespace = name, "default"
    return made


def volume(**source: Any) -> list[dict[str, Any]]:
    return [{"name": "data", **source}]


def cluster() -> Snapshot:
    """A Deployment's pod with a PDB, two StatefulSets' pods with claims, a bare one, a lost one."""
    top, web = deployment("web", replicas=2)
    db, gpu = controller("StatefulSet", "db"), controller("StatefulSet", "gpu")
    template = {"spec": {"storageClassName": "fast"}}
    pods = [
        pod("web", "n1", owner=web, labels={"app": "web"}, requests={"cpu": "1"}),
        pod("db", "n1", owner=db, volumes=volume(persistentVolumeClaim={"claimName": "slow-db"})),
        pod(
            "gpu",
            "n1",
            owner=gpu,
            requests={"cpu": "1", "nvidia.com/gpu": "1"},
            volumes=volume(ephemeral={"volumeClaimTemplate": template}),
        ),
        pod("bare", "n1"),
        pod("tmp", "n1", volumes=volume(persistentVolumeClaim={"claimName": "lost"})),
    ]
    made = snapshot(
        [node("n1")],
        pods,
        controllers=[top, web, db, gpu],
        budgets=[budget("web", "web", allowed=1)],
    )
    made = replace(made, claims=[claim("slow-db", "slow")])
    made.pods[3].spec.resourceClaims = [Named("device")]
    return made


def selected(**match: Any) -> list[str]:
    chosen = select_pods(Match(**match), cluster()).nonzero()[0].tolist()
    return [NAMES[pod] for pod in chosen]


def classes(*names: str) -> dict[str, Any]:
    return {"storageClasses": list(names)}


@every([
        ({"ownerKinds": ["Deployment"]}, ["web"]),
        ({"ownerKinds": ["ReplicaSet", "StatefulSet"]}, ["web", "db", "gpu"]),
        ({"ownerKinds": ["Pod"]}, ["bare", "tmp"]),
        ({"requests": ["nvidia.com/gpu"]}, ["gpu"]),
        ({"requests": ["nvidia.com/gpu", "amd.com/gpu"]}, ["gpu"]),
        ({"persistentVolumeClaims": {"all": True}}, ["db", "gpu", "tmp"]),
        ({"persistentVolumeClaims": classes("slow")}, ["db"]),
        ({"persistentVolumeClaims": classes("fast", "slow")}, ["db", "gpu"]),
        ({"podDisruptionBudget": "Exists"}, ["web"]),
        ({"podDisruptionBudget": "DoesNotExist"}, ["db", "gpu", "bare", "tmp"]),
        ({"resourceClaims": "Exists"}, ["bare"]),
        ({"resourceClaims": "DoesNotExist"}, ["web", "db", "gpu", "tmp"]),
        ({"all": True, "exclude": [{CLAIMS: {"all": True}}, {"ownerKinds": ["Deployment"]}]},
         ["bare"]),
        ({"requests": ["nvidia.com/gpu"], "ownerKinds": ["StatefulSet"]}, ["gpu"]),
        ({"all": True, "exclude": {"podDisruptionBudget": "DoesNotExist"}}, ["web"]),
        ({"all": True, "exclude": {"persistentVolumeClaims": {"all": True}}}, ["web", "bare"]),
        # The class of a claim that is not there is not known: such a pod is left out.
        ({"all": True, "exclude": {"persistentVolumeClaims": classes("fast")}},
         ["web", "db", "bare"]),
        ({"ownerKinds": ["StatefulSet"], "exclude": {"requests": ["nvidia.com/gpu"]}}, ["db"]),
    ])  # fmt: skip
def test_it_selects(match: dict[str, Any], pods: list[str]) -> None:
    assert selected(**match) == pods


def test_an_ephemeral_volume_without_a_class_has_that_of_its_claim() -> None:
    """Which is the default one."""
    template: dict[str, Any] = {"spec": {}}
    owner = controller("StatefulSet", "db")
    volumes = volume(ephemeral={"volumeClaimTemplate": template})
    made = snapshot([node("n1")], [pod("db-0", "n1", owner=owner, volumes=volumes)])
    match = Match.model_validate({"persistentVolumeClaims": classes("standard")})
    assert not select_pods(match, made).any()
    claims = [claim("db-0-data", "standard")]
    assert select_pods(match, replace(made, claims=claims)).all()


@pytest.mark.parametrize("lost", ["undecodable", "unread"])
def test_budgets_that_cannot_be_read_leave_pods_alone(lost: str) -> None:
    made = cluster()
    odd = Undecodable("PodDisruptionBudget", "default", "odd", "minAvailable: not a number")
    if lost == "undecodable":
        made = replace(made, undecodable=[odd])
    else:
        made = replace(made, unread=["PodDisruptionBudget"])
    without = Match(podDisruptionBudget="DoesNotExist")
    assert not select_pods(without, made).any()
    kept = Match.model_validate({"all": True, "exclude": {"podDisruptionBudget": "DoesNotExist"}})
    assert select_pods(kept, made).nonzero()[0].tolist() == [0]


@every(
    [
        ({"ownerKinds": ["statefulset"]}, "must be a kind without its group, such as StatefulSet"),
        ({"ownerKinds": ["apps/v1.Deployment"]}, "must be a kind without its group"),
        ({"requests": ["pods"]}, "every pod takes one of `pods`, and none requests it"),
        ({"persistentVolumeClaims": {}}, "write either `all: true` or `storageClasses`"),
        ({"podDisruptionBudget": "Missing"}, "Input should be 'Exists' or 'DoesNotExist'"),
        ({"all": True, "requests": ["cpu"]}, "`all: true` excludes the other fields"),
        ({"all": True, "exclude": []}, "at least 1 item"),
        ({"all": True, "exclude": [{"requests": ["cpu"]}, {}]}, "an empty exclude is refused"),
    ]
)
def test_what_cannot_be_is_refused(match: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Match.model_validate(match)


@every(
    [
        ({"namespaces": ["a"]}, {"namespaces": ["a", "b"]}, True),
        ({"requests": ["cpu"], "namespaces": ["a"]}, {"requests": ["cpu"]}, True),
        ({"podDisruptionBudget": "Exists"}, {"podDisruptionBudget": "Exists"}, True),
        ({CLAIMS: classes("a")}, {CLAIMS: {"all": True}}, True),
        ({CLAIMS: classes("a")}, {CLAIMS: classes("b", "a")}, True),
        ({CLAIMS: {"all": True}}, {CLAIMS: classes("a")}, False),
        ({"requests": ["cpu", "memory"]}, {"requests": ["cpu"]}, False),
        ({"namespaces": ["a"]}, {"namespaces": ["a"], "requests": ["cpu"]}, False),
        ({"all": True}, {"requests": ["cpu"]}, False),
    ]
)
def test_an_exclude_that_leaves_nothing_is_known(
    match: dict[str, Any], left_out: dict[str, Any], nothing: bool
) -> None:
    assert Match.model_validate({**match, "exclude": left_out}).selects_nothing is nothing


@every([
        ({"ownerKinds": ["Deploymnet"]},
         "match.ownerKinds: no pod is run by a Deploymnet; Maybe `Deployment` is meant"),
        ({"requests": ["nvidia.com/gpus"]},
         "match.requests: no pod requests nvidia.com/gpus; Maybe `nvidia.com/gpu` is meant"),
        ({"persistentVolumeClaims": classes("slwo")},
         f"match.{CLASSES}: there is no StorageClass slwo; Maybe `slow` is meant"),
        ({"ownerKinds": ["Deployment"], "requests": ["nvidia.com/gpu"]},
         "match: no pod satisfies all that it says"),
    ])  # fmt: skip
def test_why_it_selects_nothing(match: dict[str, Any], said: str) -> None:
    assert not select_pods(Match(**match), cluster()).any()
    assert why_no_pod("match", Match(**match), cluster()) == said


@pytest.mark.parametrize(
    "selector",
    [
        None,
        {},
        {"matchLabels": {"app": "web"}},
        {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]},
        {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["db"]}]},
        {"matchExpressions": [{"key": "app", "operator": "Near", "values": ["db"]}]},
    ],
)
@pytest.mark.parametrize("namespace", ["default", "other"])
def test_which_pods_have_a_budget_is_as_each_is_asked_alone(
    selector: dict[str, Any] | None, namespace: str
) -> None:
    before = cluster()
    made = budget("odd", "web", allowed=1)
    made.metadata.namespace = namespace
    made.spec.selector = None if selector is None else msgspec.convert(selector, LabelSelector)
    pods = [*before.pods, pod("far", "n1", namespace="other", labels={"app": "web"})]
    asked = replace(before, budgets=[made], pods=pods)
    alone = [bool(asked.budgets_of(pod)) for pod in range(len(pods))]
    assert asked.budgeted.tolist() == alone
