"""Rules that came after a pod: of its namespace, and the class of its priority."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from rescheduler.kube.controllers import Namespace, PriorityClass
from rescheduler.kube.limit_ranges import LimitRange
from rescheduler.model.cluster.snapshot import Snapshot
from tests.cases import every
from tests.cluster import NOW, controller, deployment
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

PROFILE = {"seccompProfile": {"type": "RuntimeDefault"}, "runAsNonRoot": True}
STRICT = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
ENFORCE = "pod-security.kubernetes.io/enforce"


def limit_range(kind: str = "Container", **item: Any) -> LimitRange:
    return msgspec.convert(
        {
            "metadata": {"name": "bounds", "namespace": "default"},
            "spec": {"limits": [{"type": kind, **item}]},
        },
        LimitRange,
    )


RANGES: dict[str, tuple[LimitRange, str]] = {
    "another default request": (
        limit_range(defaultRequest={"memory": "8Gi"}),
        "other requests",
    ),
    "a default limit": (limit_range(default={"memory": "8Gi"}), "other requests"),
    "a default that shows": (limit_range(defaultRequest={"cpu": "4"}), ""),
    "too little": (limit_range(min={"cpu": "1"}), "has less than 1 of cpu"),
    "too much": (limit_range(max={"cpu": "50m"}), "bounds: container main"),
    "enough": (limit_range(min={"cpu": "50m"}), ""),
    "a ratio": (limit_range(maxLimitRequestRatio={"cpu": "2"}), "their ratio is limited"),
    "the pod": (limit_range("Pod", min={"cpu": "1"}), "the pod has less than 1 of cpu"),
    "a claim": (limit_range("PersistentVolumeClaim", min={"storage": "1Gi"}), ""),
}


@every({f"{n}, {by}": (*case, by) for n, case in RANGES.items() for by in (True, False)})
def test_a_limit_range_that_came_later_holds_the_pod(
    made: LimitRange, said: str, deployed: bool
) -> None:
    top, owner = deployment("web") if deployed else (None, alone())
    owner.spec.template = alone().spec.template
    pods = [of(owner, number) for number in range(3)]
    above = [top] if top is not None else []
    found = verdict(cluster(owner, pods, *above, limit_ranges=[made]))
    assert bool(found) == bool(said)
    if found is not None:
        assert found.code == ("ELG041" if "other requests" in said and not deployed else "ELG042")
        assert said in found.message
    made.metadata.namespace = "elsewhere"
    assert code(cluster(owner, pods, *above, limit_ranges=[made])) == ""
    made.metadata.namespace = "default"


def test_what_a_limit_range_gave_to_the_pod_is_no_difference() -> None:
    owner = alone(cpu="")
    pods = [of(owner, number, requests={"cpu": "2"}) for number in range(3)]
    given = {"limit_ranges": [limit_range(defaultRequest={"cpu": "2"})]}
    assert code(cluster(owner, pods, **given)) == ""
    assert code(cluster(owner, pods)) == "ELG041"


def test_limit_ranges_that_were_not_read_hold_pods_and_the_reason_says_so() -> None:
    owner = alone()
    before = cluster(owner, [of(owner, number) for number in range(3)], unread=["LimitRange"])
    found = verdict(before)
    assert found is not None
    assert found.code == "ELG042"
    assert "LimitRange was not read" in found.message


def ruled(before: Snapshot, *, wrote: timedelta | None = None, **notes: Any) -> Snapshot:
    """Let the namespace have these labels and annotations, written so long ago."""
    keys: Json = {kind: {f"f:{key}": {} for key in found} for kind, found in notes.items()}
    fields = {"f:metadata": {f"f:{kind}": found for kind, found in keys.items()}}
    entry = {"manager": "m", "fieldsV1": fields} | (
        {"time": (NOW - wrote).isoformat()} if wrote is not None else {}
    )
    made = {"name": "default", "managedFields": [entry], **notes}
    before.namespaces[:] = [msgspec.convert({"metadata": made}, Namespace)]
    return before


LEVELS: dict[str, tuple[str, Json, bool]] = {
    "privileged": ("privileged", {"hostNetwork": True}, False),
    "baseline": ("baseline", {}, False),
    "the host's network": ("baseline", {"hostNetwork": True}, True),
    "the host's processes": ("baseline", {"hostPID": True}, True),
    "a privileged container": ("baseline", {"securityContext": {"privileged": True}}, True),
    "a capability": (
        "baseline",
        {"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}},
        True,
    ),
    "restricted": ("restricted", {}, True),
    "all that is asked for": ("restricted", {"securityContext": STRICT | PROFILE}, False),
    "user 0": ("restricted", {"securityContext": STRICT | PROFILE | {"runAsUser": 0}}, True),
    "with all capabilities": (
        "restricted",
        {"securityContext": PROFILE | {"allowPrivilegeEscalation": False}},
        True,
    ),
    "a misspelled level": ("strict", {}, True),
}


@every(LEVELS)
def test_a_raised_level_of_pod_security_holds_what_it_would_refuse(
    level: str, changes: Json, held: bool
) -> None:
    top, owner = deployment("web")
    owner.spec.template = alone(**changes).spec.template
    assert owner.spec.template is not None
    pods = [of(owner, number) for number in range(3)]
    for pod in pods:
        pod.spec = owner.spec.template.spec
    before = cluster(owner, pods, top)
    assert code(ruled(before, labels={ENFORCE: level})) == ("ELG042" if held else "")
    # A pod that was made after it shows that it is admitted, as an exempt one is.
    assert code(ruled(before, labels={ENFORCE: level}, wrote=48 * HOUR)) == ""
    assert code(ruled(before, labels={ENFORCE: level}, wrote=HOUR)) == ("ELG042" if held else "")


SSD = {"disk": "ssd"}
ANY_GPU = {"key": "gpu", "operator": "Exists"}
TOLERATED = "scheduler.alpha.kubernetes.io/defaultTolerations"


@pytest.mark.parametrize(
    ("note", "value", "has"),
    [
        (
            "scheduler.alpha.kubernetes.io/node-selector",
            "disk=ssd",
            {"nodeSelector": {"disk": "ssd"}},
        ),
        (
            "openshift.io/node-selector",
            "disk=ssd, zone=a",
            {"nodeSelector": {"disk": "ssd", "zone": "a"}},
        ),
        (
            TOLERATED,
            '[{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}]',
            {"tolerations": [TOLERATION]},
        ),
    ],
)
def test_what_a_namespace_adds_to_its_pods_has_to_show(note: str, value: str, has: Json) -> None:
    owner = alone()
    without = cluster(owner, [of(owner, number) for number in range(3)])
    assert code(ruled(without, annotations={note: value})) == "ELG042"
    given = cluster(owner, [of(owner, number, **has) for number in range(3)])
    assert code(ruled(given, annotations={note: value})) == ""
    assert code(ruled(given, annotations={})) == "ELG041"


@pytest.mark.parametrize("made", [2 * HOUR, 30 * HOUR])
@pytest.mark.parametrize(
    ("note", "value", "has"),
    [
        ("scheduler.alpha.kubernetes.io/node-selector", "disk=ssd", {"nodeSelector": SSD}),
        (TOLERATED, '[{"key": "gpu", "operator": "Exists"}]', {"tolerations": [ANY_GPU]}),
    ],
)
def test_a_later_pod_of_anybody_shows_whether_the_plugin_works(
    note: str, value: str, has: Json, made: timedelta
) -> None:
    owner, other = alone(), controller("StatefulSet", "db")
    pods = [of(owner, number, age=48 * HOUR) for number in range(3)]
    for shows in (False, True):
        later = of(other, 9, age=made, **(has if shows else {}))
        before = ruled(
            cluster(owner, [*pods, later], other), wrote=24 * HOUR, annotations={note: value}
        )
        off = made < 24 * HOUR and not shows
        assert code(before) == ("" if off else "ELG042")
        # Of rules whose time is not known, or a pod that nothing controls, nothing is known.
        assert code(ruled(before, annotations={note: value})) == "ELG042"
        later.metadata.ownerReferences = None
        assert code(ruled(before, wrote=24 * HOUR, annotations={note: value})) == "ELG042"


DEEP = "[" * 3000


@pytest.mark.parametrize("value", ["", "{}", "[1", DEEP, f'[{{"x": {DEEP}1{"]" * 3000}}}]'])
def test_tolerations_of_a_namespace_that_are_none_stop_nobody(value: str) -> None:
    owner = alone()
    pods = cluster(owner, [of(owner, number) for number in range(3)])
    assert code(ruled(pods, annotations={TOLERATED: value})) in ("", "ELG042")


def classes(**values: int) -> list[PriorityClass]:
    found = {"system-node-critical": 2_000_001_000, **values}
    return [
        msgspec.convert({"metadata": {"name": name}, "value": value}, PriorityClass)
        for name, value in found.items()
    ]


@every([(classes(low=5), ""), (classes(low=6), "ELG041"), (classes(), "ELG042"), ([], "")])
def test_the_priority_class_of_the_pod_has_to_be_there_as_it_was(
    known: list[PriorityClass], held: str
) -> None:
    owner = alone(priorityClassName="low")
    pods = [of(owner, number, priorityClassName="low", priority=5) for number in range(3)]
    assert code(cluster(owner, pods, priority_classes=known)) == held


def test_a_class_that_became_the_default_changes_the_replacement() -> None:
    owner, known = alone(), classes(low=5)
    pods = [of(owner, number) for number in range(3)]
    assert code(cluster(owner, pods, priority_classes=known)) == ""
    known[-1].globalDefault = True
    assert code(cluster(owner, pods, priority_classes=known)) == "ELG041"
    pods = [of(owner, number, priorityClassName="low", priority=5) for number in range(3)]
    assert code(cluster(owner, pods, priority_classes=known)) == ""
