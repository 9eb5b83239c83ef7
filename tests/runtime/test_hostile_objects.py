"""No object that a tenant can write ends a cycle, and none makes another one vanish.

Drawn: what stands in annotations, times, quantities and selectors of a pod, a node, a claim and
their like, as JSON of the right and of the wrong type. Then the cluster is read and planned for.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rescheduler.kube import annotations
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.finding_history import FindingHistory
from rescheduler.model.moves.history import History
from rescheduler.planning.plan.planner import plan_and_observations
from rescheduler.planning.plan.result import Outline
from rescheduler.sources.kubernetes.cluster import read_cluster
from rescheduler.sources.kubernetes.transport import GetResponse
from rescheduler.sources.policy_files import load_policies
from tests.draws import tries
from tests.sources.objects import Api, named, node, pod
from tests.sources.server import Request

POLICIES = load_policies(Path(__file__).parents[2] / "policies")
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)

TEXTS = [
    "",
    "true",
    "1_000",
    "\uff11\uff12\uff13",
    "99999999999999h",
    "-1h",
    "1e400",
    "1e999999999",
    "9" * 5000,
    "NaN",
    "\x00",
    "(" * 3000,
    "[" * 3000,
    '{"a":' * 3000,
    "until 9999-12-31T23:59:59-23:59",
    "until 0001-01-01T00:00:00+23:59",
    '[{"zone": "node-0", "amount": {"cpu": "1e400"}}]',
    '[{"zone": 7, "amount": [[]]}]',
    "x" * 10**5,
    "\ud83d\ude00",
]
TIMES = ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59-23:59"]
TIMES += ["0001-01-01T00:00:00+23:59", "1e9", "", "2026-11-22T12:00:00.999999999Z"]
NUMBERS = [-1, 0, 2**31, 2**63 - 1, 2**64, 1e308, -0.5]

text = st.sampled_from(TEXTS)
moment = st.sampled_from(TIMES)
odd = st.one_of(text, moment, st.sampled_from(NUMBERS), st.none(), st.just([]), st.just({}))
notes = st.dictionaries(st.sampled_from(sorted(annotations.READ)), text, max_size=3)

POD_FIELDS = (
    ("metadata", "creationTimestamp"),
    ("metadata", "deletionTimestamp"),
    ("metadata", "labels"),
    ("spec", "priority"),
    ("spec", "terminationGracePeriodSeconds"),
    ("spec", "nodeSelector"),
    ("spec", "tolerations"),
    ("spec", "overhead"),
    ("spec", "topologySpreadConstraints"),
    ("status", "startTime"),
    ("status", "conditions"),
    ("status", "containerStatuses"),
)
NODE_FIELDS = (
    ("metadata", "creationTimestamp"),
    ("metadata", "labels"),
    ("spec", "taints"),
    ("spec", "unschedulable"),
    ("status", "allocatable"),
    ("status", "capacity"),
    ("status", "conditions"),
    ("status", "images"),
)
quantities = st.dictionaries(
    st.sampled_from(["cpu", "memory", "pods", "nvidia.com/gpu", "\uff11"]), odd, max_size=2
)
ready = st.lists(
    st.fixed_dictionaries({"type": st.just("Ready"), "status": text, "lastTransitionTime": moment}),
    max_size=1,
)
value = st.one_of(odd, quantities, ready)


class Lists:
    """What a Connection is to those who read a cluster."""

    name = "fuzz"

    def __init__(self, lists: dict[str, list[dict[str, Any]]]) -> None:
        self._api = Api(lists)

    def fetch(
        self, path: str, query: dict[str, str] | None = None, *_: object, **__: object
    ) -> GetResponse:
        found = self._api(Request("GET", path, query or {}, {}))
        return GetResponse(found.status, found.body, NOW, NOW, NOW)


def altered(made: dict[str, Any], changes: list[tuple[tuple[str, str], Any]]) -> dict[str, Any]:
    for (part, name), changed in changes:
        made.setdefault(part, {})[name] = changed
    return made


def changes_of(fields: tuple[tuple[str, str], ...]) -> Any:
    return st.lists(st.tuples(st.sampled_from(fields), value), max_size=3)


def read(lists: dict[str, list[dict[str, Any]]]) -> Snapshot:
    return read_cluster(Lists(lists))  # type: ignore[arg-type]


def planned(snapshot: Snapshot) -> Any:
    outline = Outline(mode="Enforce", seed=0, tool="test", recorded=False)
    return plan_and_observations(snapshot, POLICIES, History(), FindingHistory(), outline)[0]


VALUES: list[Any] = [*TEXTS, *TIMES, *NUMBERS, None, [], {}]


def good() -> dict[str, list[dict[str, Any]]]:
    controller = named(
        "web", "team", spec={"replicas": 3, "selector": {"matchLabels": {"app": "web"}}}
    )
    controller["metadata"]["uid"] = "rs"
    return {
        "/api/v1/nodes": [node("n1"), node("n2")],
        "/api/v1/pods": [pod("web-0", "n1"), pod("web-1", "n1")],
        "/apis/apps/v1/replicasets": [controller],
    }


def told_or_read(lists: dict[str, list[dict[str, Any]]]) -> None:
    """Plan for the lists, after each of their pods and nodes was read or is named as unreadable."""
    snapshot = read(lists)
    found = len(snapshot.pods) + len(snapshot.nodes) + len(snapshot.undecodable)
    assert found == len(lists["/api/v1/pods"]) + len(lists["/api/v1/nodes"])
    planned(snapshot)


@pytest.mark.parametrize("note", sorted(annotations.READ))
def test_each_annotation_may_say_anything(note: str) -> None:
    lists = good()
    for number, said in enumerate(VALUES):
        made_pod, made_node = pod(f"pod-{number}", "n1"), node(f"node-{number}")
        for made in (made_pod, made_node):
            made["metadata"]["annotations"] = {note: said}
        lists["/api/v1/pods"].append(made_pod)
        lists["/api/v1/nodes"].append(made_node)
    told_or_read(lists)


@pytest.mark.parametrize("field", POD_FIELDS)
def test_each_field_of_a_pod_may_hold_anything(field: tuple[str, str]) -> None:
    lists = good()
    for number, held in enumerate(VALUES):
        lists["/api/v1/pods"].append(altered(pod(f"pod-{number}", "n1"), [(field, held)]))
    told_or_read(lists)


@pytest.mark.parametrize("field", NODE_FIELDS)
def test_each_field_of_a_node_may_hold_anything(field: tuple[str, str]) -> None:
    lists = good()
    for number, held in enumerate(VALUES):
        lists["/api/v1/nodes"].append(altered(node(f"node-{number}"), [(field, held)]))
    told_or_read(lists)


@settings(max_examples=tries(300))
@given(changes_of(POD_FIELDS), notes, changes_of(NODE_FIELDS), notes, quantities)
def test_any_pod_and_node_are_read_and_planned_for(
    on_pod: Any, pod_notes: Any, on_node: Any, node_notes: Any, requests: Any
) -> None:
    lists = good()
    bad = altered(pod("bad", "odd"), on_pod)
    bad["metadata"]["annotations"] = pod_notes
    bad["spec"]["containers"][0]["resources"] = {"requests": requests}
    odd_node = altered(node("odd"), on_node)
    odd_node["metadata"]["annotations"] = node_notes
    lists["/api/v1/pods"].append(bad)
    lists["/api/v1/nodes"].append(odd_node)
    snapshot = read(lists)
    left_out = {(undecodable.kind, undecodable.name) for undecodable in snapshot.undecodable}
    names = [pod.metadata.name for pod in snapshot.pods] + [
        node.metadata.name for node in snapshot.nodes
    ]
    assert {"web-0", "web-1", "n1", "n2"} <= set(names)
    assert "bad" in names or ("Pod", "bad") in left_out
    assert "odd" in names or ("Node", "odd") in left_out
    plan = planned(snapshot)
    assert all(move.pod.name != "bad" or ("Pod", "bad") not in left_out for move in plan.moves)


DEVICES = "/apis/resource.k8s.io/v1"
KINDS = {
    "/api/v1/namespaces": ("spec",),
    "/api/v1/resourcequotas": ("spec", "status"),
    "/api/v1/persistentvolumeclaims": ("spec", "status"),
    "/api/v1/persistentvolumes": ("spec", "status"),
    "/apis/policy/v1/poddisruptionbudgets": ("spec", "status"),
    "/apis/autoscaling/v2/horizontalpodautoscalers": ("spec", "status"),
    "/apis/scheduling.k8s.io/v1/priorityclasses": ("value",),
    "/apis/apps/v1/deployments": ("spec", "status"),
    "/apis/storage.k8s.io/v1/storageclasses": ("provisioner", "allowedTopologies"),
    "/apis/storage.k8s.io/v1/csinodes": ("spec",),
    f"{DEVICES}/deviceclasses": ("spec",),
    f"{DEVICES}/resourceslices": ("spec",),
    f"{DEVICES}/resourceclaims": ("spec", "status"),
    "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies": ("zones", "topologyPolicies"),
}
inner = st.one_of(odd, quantities, st.lists(st.one_of(odd, quantities), max_size=2))
FIELDS = [
    "selector",
    "minAvailable",
    "maxUnavailable",
    "hard",
    "devices",
    "pool",
    "nodeName",
    "resources",
    "storageClassName",
    "capacity",
    "scaleTargetRef",
    "selectors",
    "drivers",
    "accessModes",
]
body = st.one_of(inner, st.dictionaries(st.sampled_from(FIELDS), inner, max_size=3))


@pytest.mark.parametrize("path", sorted(KINDS))
def test_each_field_of_another_object_may_hold_anything(path: str) -> None:
    lists = good()
    made = lists.setdefault(path, [named("kube-system")] if path.endswith("namespaces") else [])
    for part in KINDS[path]:
        held = [*VALUES, *({name: value} for name in FIELDS for value in VALUES)]
        made += [named(f"{part}-{n}".lower(), "team", **{part: v}) for n, v in enumerate(held)]
    snapshot = read(lists)
    assert len(snapshot.pods) == 2
    planned(snapshot)


@settings(max_examples=tries(300))
@given(st.sampled_from(sorted(KINDS)), body, body, notes, moment)
def test_any_other_object_is_read_and_planned_for(
    path: str, first: Any, second: Any, made_notes: Any, created: str
) -> None:
    lists = good()
    made = named("bad", "team", **dict(zip(KINDS[path], (first, second), strict=False)))
    made["metadata"] |= {"annotations": made_notes, "creationTimestamp": created}
    lists.setdefault(path, [named("kube-system")] if path.endswith("namespaces") else []).append(
        made
    )
    snapshot = read(lists)
    assert len(snapshot.pods) == 2
    planned(snapshot)


CEL = [
    "(" * 3000 + "true" + ")" * 3000,
    "!" * 5000 + "true",
    "device.attributes" + "['a']" * 3000,
    "1e400 > 1.0",
    "size('" + "x" * 10**5 + "') > 1",
    "device.capacity['gpu.example.com'].memory.compareTo(quantity('1e999999999')) > 0",
    "9" * 5000 + " > 1",
    "duration('99999999999999h') > duration('1s')",
    "timestamp('9999-12-31T23:59:59-23:59') > timestamp('0001-01-01T00:00:00Z')",
    "'a'.matches('(a+)+$')",
    "\x00",
    "\uff11 > 0",
]


@pytest.mark.parametrize("expression", CEL)
def test_any_selector_of_devices_protects_its_pod(expression: str) -> None:
    lists = good()
    request = {"deviceClassName": "gpu", "selectors": [{"cel": {"expression": expression}}]}
    spec = {"devices": {"requests": [{"name": "r", "exactly": request}]}}
    lists[f"{DEVICES}/resourceclaims"] = [named("c", "team", spec=spec)]
    lists[f"{DEVICES}/deviceclasses"] = [named("gpu", spec={})]
    capacity = {"memory": {"value": "1e400"}}
    devices = [{"name": "d", "attributes": {"a": {"string": "x"}}, "capacity": capacity}]
    pool = {"name": "n2", "generation": 1, "resourceSliceCount": 1}
    slices = {"driver": "gpu.example.com", "nodeName": "n2", "devices": devices, "pool": pool}
    lists[f"{DEVICES}/resourceslices"] = [named("s", spec=slices)]
    lists["/api/v1/pods"][1]["spec"]["resourceClaims"] = [{"name": "g", "resourceClaimName": "c"}]
    snapshot = read(lists)
    plan = planned(snapshot)
    assert [move.pod.name for move in plan.moves if move.pod.name == "web-1"] == []
    assert json.dumps(plan.totals.refused)


RANGE = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")


@pytest.mark.parametrize("said", [*VALUES, "much", "-1"])
@pytest.mark.parametrize("field", [*RANGE, "template"])
def test_each_quantity_of_a_limit_range_or_template_may_be_anything(field: str, said: Any) -> None:
    """It leaves its own namespace alone where it is none, and stops no plan."""
    lists = good()
    (owner,) = lists["/apis/apps/v1/replicasets"]
    main = {"name": "main", "image": "web", "resources": {"requests": {"cpu": "1"}}}
    owner["spec"]["template"] = {"metadata": {}, "spec": {"containers": [main]}}
    if field == "template":
        main["resources"] = {"requests": {"cpu": said}}
    else:
        limits = [{"type": "Container", field: {"cpu": said}}]
        lists["/api/v1/limitranges"] = [named("l", "team", spec={"limits": limits})]
    snapshot = read(lists)
    assert len(snapshot.pods) == 2
    planned(snapshot)
    if said in ("much", "-1"):
        (bad,) = snapshot.undecodable
        assert (bad.namespace, "cpu" in bad.message) == ("team", True)
