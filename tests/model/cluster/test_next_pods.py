"""What a replacement asks for: by its template, its siblings, and what was changed in place."""

from datetime import timedelta
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from rescheduler.kube.controllers import Controller
from rescheduler.kube.limit_ranges import LimitRange
from rescheduler.kube.objects import Pod
from rescheduler.kube.pods.pod_requests import pod_limits, pod_requests
from rescheduler.kube.quantity import NANO, nanos
from rescheduler.model.cluster.snapshot import Snapshot
from tests.cases import every
from tests.cluster import NOW, controller, node, pod, snapshot
from tests.draws import tries

Json = dict[str, Any]
DAYS = timedelta(days=1)


def resources(cpu: str, limit: str = "", **more: str) -> Json:
    limits = {"limits": {"cpu": limit}} if limit else {}
    return {"requests": {"cpu": cpu, **more}, **limits}


def container(asked: Json, name: str = "main", **more: Any) -> Json:
    return {"name": name, "image": "app:1", "resources": asked, **more}


def maker(kind: str = "ReplicaSet", **spec: Any) -> Controller:
    """A controller whose pods were surely made from its template."""
    top = controller("Deployment", "web") if kind == "ReplicaSet" else None
    made = controller(kind, "web", owner=top, template={"spec": spec})
    made.status.updateRevision = "r" if kind == "StatefulSet" else ""
    return made


def of(owner: Controller, number: int, days: float, *, changed: bool = False, **spec: Any) -> Pod:
    """A pod of that controller, made so many days ago; changed: in place, later."""
    labels = {"controller-revision-hash": "r"}
    made = pod(f"web-{number}", "n1", owner=owner, labels=labels, **spec)
    made.metadata.creationTimestamp = NOW - days * DAYS
    made.metadata.generation = 2 if changed else 1
    return made


def cluster(owner: Controller, *pods: Pod, **more: Any) -> Snapshot:
    return snapshot([node("n1"), node("n2")], pods, controllers=[owner], **more)


def cpus(before: Snapshot, number: int = 0) -> float:
    return pod_requests(before.next_pods.replacement(number).spec)["cpu"] / NANO


NEWEST, TEMPLATE = "its newest sibling", "its template"
RESIZED = " or pods that were resized in place"
NEWER, LARGER = f"its newest sibling{RESIZED}", f"its template{RESIZED}"
AGES: dict[str, tuple[str, list[tuple[float, str, bool]], list[float], str]] = {
    "three ages": ("1", [(9, "1", False), (4, "2", False), (1, "3", False)], [3] * 3, NEWEST),
    "down again": ("1", [(9, "4", False), (1, "500m", False)], [0.5] * 2, NEWEST),
    "one alone": ("1", [(9, "3", False)], [3], NEWEST),
    "all resized": ("1", [(9, "3", True), (9, "3", True)], [3] * 2, LARGER),
    "all resized to less": ("1", [(9, "200m", True), (9, "200m", True)], [1] * 2, TEMPLATE),
    "resized, and a newer one": ("1", [(9, "5", True), (1, "2", False)], [2] * 2, NEWEST),
    "resized, and newer": ("1", [(9, "2", False), (1, "5", True)], [5] * 2, NEWER),
    "resized to less, and newer": ("1", [(9, "2", False), (1, "1", True)], [2] * 2, NEWEST),
    "of one age, one resized": ("1", [(1.01, "3", True), (1, "1", False)], [1] * 2, NEWEST),
    "set by admission, one resized": ("1", [(1.01, "3", True), (1, "2", False)], [3] * 2, NEWER),
}


@every(
    {
        f"{name} of a {kind}": (kind, *case)
        for name, case in AGES.items()
        for kind in ("ReplicaSet", "StatefulSet", "Job")
    }
)
def test_the_replacement_asks_for_what_is_made_now(
    kind: str, template: str, ages: list[tuple[float, str, bool]], then: list[float], why: str
) -> None:
    owner = maker(kind, containers=[container(resources(template))])
    pods = [
        of(owner, n, days, changed=changed, containers=[container(resources(cpu))])
        for n, (days, cpu, changed) in enumerate(ages)
    ]
    before = cluster(owner, *pods)
    assert [cpus(before, number) for number in range(len(pods))] == then
    following = before.next_pods.next_pod_of(pods[0])
    assert following is not None
    assert (following.requests_source, following.doubt) == (why, "")
    renewed = {
        n for n, sibling in enumerate(pods) if pod_requests(sibling.spec)["cpu"] / NANO != then[n]
    }
    assert before.next_pods.renewed.keys() >= renewed
    for number, pod_object in enumerate(pods):
        assert (number in before.next_pods.renewed) == (
            before.next_pods.replacement(number) is not pod_object
        )


@every(
    {
        "one alone": ([(9, "3")],),
        "one alone, to less": ([(9, "200m")],),
        "to different ones": ([(9, "3"), (4, "5")],),
    }
)
def test_a_resize_that_no_other_pod_shows_leaves_the_next_pod_in_doubt(
    ages: list[tuple[float, str]],
) -> None:
    """People may have done it to these pods, or an autoscaler that does it to the next one too."""
    owner = maker(containers=[container(resources("1"))])
    pods = [
        of(owner, n, days, changed=True, requests={"cpu": c}) for n, (days, c) in enumerate(ages)
    ]
    before = cluster(owner, *pods)
    assert [cpus(before, number) for number in range(len(pods))] == [1] * len(pods)
    following = before.next_pods.next_pod_of(pods[0])
    assert following is not None
    assert "were resized in place" in following.doubt


def test_several_resized_alike_beside_one_that_was_not_are_in_doubt() -> None:
    owner = maker(containers=[container(resources("1"))])
    pods = [of(owner, n, 9, changed=n > 0, requests={"cpu": "3" if n else "1"}) for n in range(3)]
    for number, doubt in ((2, False), (3, True)):
        following = cluster(owner, *pods[:number]).next_pods.next_pod_of(pods[0])
        assert following is not None
        assert ("resized in place to the same" in following.doubt) == doubt


def test_each_resource_of_each_container_is_the_larger_and_nothing_is_lost() -> None:
    """GPUs, limits, sidecars, init containers and resources of the pod as a whole alike."""
    gpu = {"nvidia.com/gpu": "1"}
    owner = maker(
        "StatefulSet",
        containers=[container(resources("1", "4", memory="4Gi", **gpu))],
        initContainers=[container(resources("2"), "i")],
        resources={"requests": {"cpu": "5"}},
    )
    own = container({**resources("3", "3", memory="1Gi", **gpu), "claims": [{"name": "c"}]})
    sidecar = container(resources("700m"), "proxy", restartPolicy="Always")
    resized = [
        of(
            owner,
            number,
            9,
            changed=True,
            containers=[own],
            initContainers=[sidecar, container(resources("1"), "i")],
            resources={"requests": {"cpu": "4", "memory": "8Gi"}},
        )
        for number in range(2)
    ]
    spec = cluster(owner, *resized).next_pods.replacement(0).spec
    main, first = (
        spec.containers[0].resources,
        [container.resources for container in spec.initContainers or ()],
    )
    assert main is not None
    assert main.requests == {"cpu": "3", "memory": "4Gi", **gpu}
    assert (main.limits, main.claims) == ({"cpu": "4"}, [{"name": "c"}])
    assert [requirement.requests for requirement in first if requirement] == [
        {"cpu": "700m"},
        {"cpu": "2"},
    ]
    assert spec.resources is not None
    assert spec.resources.requests == {"cpu": "5", "memory": "8Gi"}
    assert pod_limits(spec)["cpu"] == 4 * NANO
    assert [container.restartPolicy for container in spec.initContainers or ()] == ["Always", None]


def test_what_a_limit_range_gives_is_in_what_the_template_asks_for() -> None:
    bounds = {"metadata": {"name": "b", "namespace": "default"}}
    given = {"spec": {"limits": [{"type": "Container", "defaultRequest": {"memory": "8Gi"}}]}}
    owner = maker("StatefulSet", containers=[container(resources("1"))])
    resized = [of(owner, n, 9, changed=True, requests={"cpu": "3"}) for n in range(2)]
    ranges = [msgspec.convert(bounds | given, LimitRange)]
    asked = pod_requests(
        cluster(owner, *resized, limit_ranges=ranges).next_pods.replacement(0).spec
    )
    assert asked == {"cpu": 3 * NANO, "memory": 8 * 2**30 * NANO}


def test_older_pending_and_terminating_pods_show_nothing() -> None:
    owner = maker("StatefulSet", containers=[container(resources("1"))])
    old = of(owner, 0, 9, requests={"cpu": "1"})
    for number, hide in enumerate(("labels", "node", "deletionTimestamp"), 1):
        odd = of(owner, number, 1, requests={"cpu": "7"})
        assert cpus(cluster(owner, old, odd)) == 7
        if hide == "node":
            odd.node = ""
            assert cpus(cluster(owner, old, odd), 1) == 7, "it is placed as it is"
        elif hide == "labels":
            odd.metadata.labels = {}
        else:
            odd.metadata.deletionTimestamp = NOW
        assert cpus(cluster(owner, old, odd)) == 1


CPUS = st.sampled_from(["100m", "500m", "1", "2", "5"])
SIBLINGS = st.lists(
    st.tuples(st.sampled_from([0, 1, 30, 90]), CPUS, st.booleans(), st.booleans()),
    min_size=1,
    max_size=6,
)


@settings(max_examples=tries(500))
@given(template=CPUS, siblings=SIBLINGS)
def test_the_next_pod_asks_for_its_template_unless_siblings_show_less(
    template: str, siblings: list[tuple[int, str, bool, bool]]
) -> None:
    """Hours ago, CPUs, whether it was changed in place, whether it is of the template of now."""
    owner = maker("StatefulSet", containers=[container(resources(template))])
    pods = []
    for number, (hours, cpu, changed, current) in enumerate(siblings):
        made = of(owner, number, hours / 24, changed=changed, requests={"cpu": cpu})
        made.metadata.labels = made.metadata.labels if current else {}
        pods.append(made)
    before = cluster(owner, *pods)
    following = before.next_pods.next_pod_of(pods[0])
    assert following is not None
    if following.doubt:
        return
    shown = {h: cpu for h, cpu, changed, current in siblings if current and not changed}
    known = any(current for *_, current in siblings)  # else any of them may be of it
    live = {cpu for _, cpu, changed, current in siblings if changed and current >= known}
    least = shown[min(shown)] if shown else template
    most = max({least, *live}, key=nanos)
    for number in range(len(pods)):
        assert nanos(least) <= cpus(before, number) * NANO <= nanos(most)
