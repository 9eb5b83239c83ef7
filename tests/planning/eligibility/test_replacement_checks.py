"""What would be made instead of a pod: by its template, and by what admission does to it."""

from datetime import timedelta

import msgspec

from rescheduler.kube.controllers import Controller
from rescheduler.kube.managed_fields import ControllerFields, TemplateWrite
from rescheduler.kube.objects import Container, Pod
from rescheduler.planning.eligibility.replacement_checks import ReplacementChecks
from tests.cases import every
from tests.cluster import NOW, controller, deployment, pod
from tests.planning.eligibility.templates import (
    HOUR,
    TOLERATION,
    Json,
    alone,
    cluster,
    code,
    of,
    verdict,
)

DEFAULTS = [
    {"key": f"node.kubernetes.io/{condition}", "operator": "Exists", "effect": "NoExecute"}
    | {"tolerationSeconds": 300}
    for condition in ("not-ready", "unreachable")
]
AFFINITY = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
            ]
        }
    }
}
SPREAD = [
    {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
]


def written(owner: Controller, *times: timedelta) -> Controller:
    """Let managedFields say that its template was written so long ago, by so many managers."""
    fields: Json = {"f:replicas": {}, "f:template": {"f:spec": {}}}
    made: Json = {**fields, "f:selector": {}}
    entries: list[Json] = [
        {
            "manager": f"m{number}",
            "time": (NOW - ago).isoformat(),
            "fieldsV1": {"f:spec": fields if number else made},
        }
        for number, ago in enumerate(times)
    ]
    scaled: Json = {"f:spec": {"f:replicas": {}}}
    entries.append({"manager": "hpa", "time": NOW.isoformat(), "fieldsV1": scaled})
    owner.metadata.managedFields = msgspec.convert(entries, list[TemplateWrite])
    return owner


EDITED = msgspec.convert({"f:spec": {"f:template": {}}}, ControllerFields)
"""What one owns who has edited a template."""


EDITS: dict[str, tuple[Json, str]] = {
    "nothing": ({}, ""),
    "default tolerations are no difference": ({"tolerations": []}, ""),
    "nodeSelector": ({"nodeSelector": {"disk": "ssd"}}, "nodeSelector"),
    "affinity": ({"affinity": AFFINITY}, "affinity"),
    "tolerations": ({"tolerations": [TOLERATION]}, "tolerations"),
    "requests": ({"cpu": "4"}, "requests"),
    "the same in other words": ({"cpu": "0.1"}, ""),
    "another resource": (
        {"resources": {"requests": {"cpu": "100m", "example.com/gpu": "1"}}},
        "requests",
    ),
    "schedulerName": ({"schedulerName": "gpu"}, "schedulerName"),
    "priorityClassName": ({"priorityClassName": "low"}, "priorityClassName"),
    "spread": ({"topologySpreadConstraints": SPREAD}, "topologySpreadConstraints"),
    "image": ({"image": "app:2"}, "images"),
    "a host port": ({"ports": [{"containerPort": 80, "hostPort": 80}]}, "hostPort"),
    "no host port": ({"ports": [{"containerPort": 80}]}, ""),
    "hostNetwork": ({"hostNetwork": True}, "hostNetwork"),
    "a volume": (
        {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "d"}}]},
        "volumes",
    ),
    "a volume of configuration": ({"volumes": [{"name": "c"}]}, ""),
    "runtimeClassName": ({"runtimeClassName": "kata"}, "runtimeClassName"),
    "claims": ({"resourceClaims": [{"name": "g", "resourceClaimName": "g"}]}, "resourceClaims"),
    "init containers": ({"initContainers": [{"name": "i", "image": "i"}]}, "initContainers"),
    "os": ({"os": {"name": "linux"}}, "os"),
    "labels": ({"labels": {"team": "a"}}, "labels"),
}


MAKERS = ("ReplicaSet", "ReplicationController", "StatefulSet")


@every({f"{name} of a {kind}": (*case, kind) for name, case in EDITS.items() for kind in MAKERS})
def test_a_pod_stays_whose_template_was_edited(changes: Json, field: str, kind: str) -> None:
    owner = alone(kind, **changes)
    before = cluster(owner, [of(owner, number, tolerations=DEFAULTS) for number in range(3)])
    found = verdict(before)
    assert (found.code if found else "") == ("ELG041" if field else "")
    if found is not None:
        assert f"the template of {kind} web has other {field}" in found.message


def test_what_admission_adds_to_all_pods_of_a_template_is_no_edit() -> None:
    added: Json = {
        "nodeSelector": {"pool": "a"},
        "tolerations": [TOLERATION],
        "requests": {"cpu": "2"},
    }
    top, owner = deployment("web")
    owner.spec.template = alone().spec.template
    pods = [of(owner, number, **added) for number in range(3)]
    assert code(cluster(owner, pods, top)) == ""
    bare = alone()
    assert code(cluster(bare, [of(bare, number, **added) for number in range(3)])) == "ELG041"


@every([((48 * HOUR,), False), ((2 * HOUR,), True), ((48 * HOUR, 2 * HOUR), True), ((), True)])
def test_managed_fields_say_since_when_a_template_is_as_it_is(
    times: tuple[timedelta, ...], held: bool
) -> None:
    owner = written(alone(), *times)
    pods = [of(owner, number, nodeSelector={"pool": "a"}) for number in range(3)]
    assert code(cluster(owner, pods)) == ("ELG041" if held else "")


def test_an_owned_replica_set_was_edited_if_another_wrote_its_template() -> None:
    top, owner = deployment("web")
    owner.spec.template = alone(nodeSelector={"disk": "ssd"}).spec.template
    pods = [of(owner, number) for number in range(3)]
    assert code(cluster(owner, pods, top)) == ""
    assert code(cluster(written(owner, HOUR), pods, top)) == ""
    assert code(cluster(written(owner, HOUR, 48 * HOUR), pods, top)) == "ELG041"
    # Somebody has emptied them, before or after the edit that shows.
    emptied = written(owner, HOUR)
    assert emptied.metadata.managedFields is not None
    emptied.metadata.managedFields[0].fieldsV1 = EDITED
    assert code(cluster(emptied, pods, top)) == "ELG041"
    emptied.metadata.managedFields = None
    assert code(cluster(emptied, pods, top, written(controller("Job", "b"), HOUR))) == "ELG041"


def test_the_newest_pod_shows_what_admission_does_now() -> None:
    """A webhook that came later."""
    top, owner = deployment("web")
    owner.spec.template = alone().spec.template
    pods = [of(owner, 0), of(owner, 1), of(owner, 2, HOUR, nodeSelector={"pool": "a"})]
    found = verdict(cluster(owner, pods, top))
    assert found is not None
    assert found.code == "ELG041"
    assert "the newest pod of ReplicaSet web-1 has other nodeSelector" in found.message
    assert code(cluster(owner, pods, top), 2) == ""


HOURS: dict[str, tuple[list[tuple[int, str]], bool]] = {
    "of three ages": ([(72, "1"), (48, "2"), (1, "3")], False),
    "within a day": ([(5, "1"), (3, "2"), (1, "3")], False),
    "some alike": ([(5, "1"), (4, "1"), (3, "3"), (1, "3")], False),
    "made at once": ([(24, "1"), (24, "3")], True),
    "of those made at once, all alike": ([(72, "1"), (24, "3"), (24, "3")], False),
    "older ones made at once": ([(72, "1"), (72, "2"), (24, "3")], False),
    "what comes back": ([(5, "1"), (3, "2"), (1, "1")], True),
    "what comes back soon": ([(72, "1"), (5, "1"), (3, "2"), (1, "1")], True),
    "what comes back after days": ([(72, "1"), (48, "2"), (1, "1")], False),
}


@every(HOURS)
def test_a_workload_stays_where_no_time_tells_what_admission_sets(
    made: list[tuple[int, str]], held: bool
) -> None:
    """As an autoscaler changes requests from day to day, and not from pod to pod."""
    top, owner = deployment("web", replicas=len(made))
    owner.spec.template = alone().spec.template
    pods = [of(owner, n, HOUR * ago, requests={"cpu": cpu}) for n, (ago, cpu) in enumerate(made)]
    before = cluster(owner, pods, top)
    found = [verdict(before, number) for number in range(len(pods))]
    assert [problem.code if problem else "" for problem in found] == [
        "ELG041" if held else ""
    ] * len(pods)
    if held and found[0] is not None:
        assert "what admission sets is not predictable: web-" in found[0].message
        assert found[0].message.endswith("have different requests")


def test_a_pending_pod_shows_nothing_as_it_may_be_steered() -> None:
    top, owner = deployment("web")
    owner.spec.template = alone().spec.template
    for on in ("n1", ""):
        newest = pod("web-2", on, owner=owner, labels={"app": "web"}, affinity=AFFINITY)
        newest.metadata.creationTimestamp = NOW - HOUR
        pods = [of(owner, 0), of(owner, 1), newest]
        refused = ReplacementChecks(cluster(owner, pods, top)).refusal(pods[0])
        assert (refused is not None) == bool(on)


SIDECARS: dict[str, tuple[Json, str, str]] = {
    "another version": ({"image": "proxy:2"}, "app:1", ""),
    "other requests": ({"resources": {"requests": {"cpu": "1"}}}, "app:1", ""),
    "another name": ({"name": "agent"}, "app:1", "{field}"),
    "another image of the template's own": ({}, "app:2", "images"),
}
STORAGE: dict[str, tuple[list[Json], list[Json], str]] = {
    "injected": ([], [{"name": "proxy", "emptyDir": {}}, {"name": "s", "hostPath": {}}], ""),
    "its own": ([{"name": "data", "emptyDir": {}}], [], "ELG010"),
    "its own beside an injected one": (
        [{"name": "data", "emptyDir": {}}],
        [{"name": "proxy", "emptyDir": {}}],
        "ELG010",
    ),
}


@every(STORAGE)
def test_storage_that_admission_adds_is_not_the_pods_own(
    own: list[Json], added: list[Json], held: str
) -> None:
    """As each proxy of a service mesh has; the template shows what is the owner's."""
    top, owner = deployment("web")
    owner.spec.template = alone(volumes=own).spec.template
    pods = [of(owner, number, volumes=[*own, *added]) for number in range(3)]
    assert code(cluster(owner, pods, top)) == held
    owner.spec.template = None
    assert code(cluster(owner, pods, top)) == "ELG010"


FIELDS = ("containers", "initContainers")


@every({f"{name} in {field}": (*c, field) for name, c in SIDECARS.items() for field in FIELDS})
def test_a_newer_version_of_an_injected_container_is_no_other_pod(
    changes: Json, image: str, said: str, field: str
) -> None:
    """Else the first move after an injector is upgraded would hold the rest of its workload."""
    top, owner = deployment("web")
    owner.spec.template = alone().spec.template

    def injected(number: int, age: timedelta, image: str, changes: Json) -> Pod:
        made = of(owner, number, age)
        sidecar = msgspec.convert({"name": "proxy", "image": "proxy:1"} | changes, Container)
        own = [
            msgspec.structs.replace(container, image=image) for container in made.spec.containers
        ]
        parts = {"containers": own, "initContainers": []}
        parts[field] = [*parts[field], sidecar]
        made.spec = msgspec.structs.replace(made.spec, **parts)
        return made

    pods = [injected(number, 24 * HOUR, "app:1", {}) for number in range(2)]
    pods.append(injected(2, HOUR, image, changes))
    found = verdict(cluster(owner, pods, top))
    assert (found.message.rpartition(" other ")[2] if found else "") == said.format(field=field)


def test_a_pod_of_the_new_template_may_go_and_those_of_the_old_one_stay() -> None:
    owner = written(alone(nodeSelector={"disk": "ssd"}), 2 * HOUR)
    pods = [of(owner, 0), of(owner, 1), of(owner, 2, HOUR, nodeSelector={"disk": "ssd"})]
    before = cluster(owner, pods)
    assert [code(before, pod) for pod in range(3)] == ["ELG041", "ELG041", ""]


def test_a_stateful_set_tells_pods_of_its_template_by_its_revision() -> None:
    owner = alone("StatefulSet")
    owner.status.updateRevision = owner.status.currentRevision = "web-2"
    for revision, held in (("web-2", ""), ("web-1", "ELG041"), ("", "ELG041")):
        labels = {"app": "web", **({"controller-revision-hash": revision} if revision else {})}
        pods = [of(owner, n, labels=labels, nodeSelector={"pool": "a"}) for n in range(3)]
        assert code(cluster(owner, pods)) == held


def test_a_pod_that_was_resized_in_place_is_judged_by_the_others() -> None:
    owner = alone(cpu="4")
    pods = [of(owner, 0, requests={"cpu": "2"}), of(owner, 1), of(owner, 2)]
    pods[0].metadata.generation = 2
    assert code(cluster(owner, pods)) == "ELG041"
    pods[1:] = [of(owner, n, requests={"cpu": "4"}) for n in (1, 2)]
    assert code(cluster(owner, pods)) == ""
    pods[0] = of(owner, 0, requests={"cpu": "2"}, nodeSelector={"by": "hand"})
    pods[0].metadata.generation = 2
    assert code(cluster(owner, pods)) == "ELG041"


def test_a_pod_that_was_resized_to_an_edited_template_is_no_proof_of_it() -> None:
    """Its siblings ask for something else, by which the scheduler model predicts it."""
    owner = alone()
    pods = [of(owner, number, requests={"cpu": "4"}) for number in range(2)]
    resized = of(owner, 2, requests={"cpu": "100m"})
    resized.metadata.generation = 2
    before = cluster(owner, [*pods, resized])
    assert [code(before, pod) for pod in range(3)] == ["ELG041"] * 3


def test_a_label_that_was_changed_by_hand_is_not_in_the_replacement() -> None:
    top, owner = deployment("web")
    owner.spec.template = alone(labels={"team": "a"}).spec.template
    whole = {"app": "web", "team": "a"}
    pods = [of(owner, n, labels=whole | ({"team": "b"} if not n else {})) for n in range(3)]
    found = verdict(cluster(owner, pods, top))
    assert found is not None
    assert found.message.endswith("has other labels")
    assert code(cluster(owner, pods, top), 1) == ""
