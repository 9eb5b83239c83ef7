"""Random small clusters in which every feature of the scheduler meets every other."""

from typing import Any

from hypothesis import strategies as st

from rescheduler.kube.objects import Node, Pod
from rescheduler.model.cluster.snapshot import Snapshot
from tests.cluster import controller, node, pod, snapshot

APPS = ("red", "green", "blue")
ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
OWNERS = {
    app: controller(kind, app)
    for app, kind in zip(APPS, ("ReplicaSet", "StatefulSet", "ReplicaSet"), strict=True)
}

_keys = st.sampled_from([ZONE, HOST, "rack"])
_selectors = st.sampled_from(
    [{"matchLabels": {"app": app}} for app in APPS]
    + [{"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["red"]}]}, {}]
)


@st.composite
def _terms(draw: Any) -> dict[str, Any]:
    term = {"topologyKey": draw(_keys), "labelSelector": draw(_selectors)}
    if draw(st.booleans()):
        term["namespaceSelector"] = draw(
            st.sampled_from([{}, {"matchLabels": {"kubernetes.io/metadata.name": "other"}}])
        )
    return term


# A strategy costs more to make than to draw from, so each is made once.
_HARD = st.lists(_terms(), max_size=1)
_SOFT = st.lists(_terms(), max_size=2)


@st.composite
def _inter_pod(draw: Any) -> dict[str, Any]:
    hard = draw(_HARD)
    soft = [{"weight": draw(st.integers(1, 100)), "podAffinityTerm": term} for term in draw(_SOFT)]
    return {
        "requiredDuringSchedulingIgnoredDuringExecution": hard,
        "preferredDuringSchedulingIgnoredDuringExecution": soft,
    }


@st.composite
def _node_affinity(draw: Any) -> dict[str, Any]:
    zone = {"key": ZONE, "operator": "In", "values": [draw(st.sampled_from(["1", "2"]))]}
    term = {"matchExpressions": [zone]}
    required = {"nodeSelectorTerms": [term, {"matchExpressions": [{**zone, "operator": "NotIn"}]}]}
    return {
        "requiredDuringSchedulingIgnoredDuringExecution": required if draw(st.booleans()) else None,
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": draw(st.integers(1, 100)), "preference": term}
        ],
    }


@st.composite
def _constraints(draw: Any) -> dict[str, Any]:
    return {
        "maxSkew": draw(st.integers(1, 2)),
        "topologyKey": draw(_keys),
        "whenUnsatisfiable": draw(st.sampled_from(["DoNotSchedule", "ScheduleAnyway"])),
        "labelSelector": draw(_selectors),
        "nodeTaintsPolicy": draw(st.sampled_from(["Honor", "Ignore"])),
        "nodeAffinityPolicy": draw(st.sampled_from(["Honor", "Ignore"])),
    }


_SPREADING = st.lists(_constraints(), min_size=1, max_size=2)
_AFFINITIES = (
    ("nodeAffinity", _node_affinity()),
    ("podAffinity", _inter_pod()),
    ("podAntiAffinity", _inter_pod()),
)


@st.composite
def _specs(draw: Any) -> dict[str, Any]:
    spec: dict[str, Any] = {}
    affinity = {}
    for part, made in _AFFINITIES:
        if draw(st.integers(0, 4)) == 0:
            affinity[part] = draw(made)
    if affinity:
        spec["affinity"] = affinity
    if draw(st.integers(0, 2)) == 0:
        spec["topologySpreadConstraints"] = draw(_SPREADING)
    if draw(st.booleans()):
        spec["tolerations"] = [{"key": "soft", "operator": "Exists"}]
    return spec


@st.composite
def nodes(draw: Any, *, most: int = 6) -> list[Node]:
    """A few nodes of several sizes, zones, racks and taints."""
    made = []
    for number in range(draw(st.integers(1, most))):
        taints = [
            {"key": effect, "effect": effect}
            for effect in ("NoSchedule", "PreferNoSchedule")
            if draw(st.integers(0, 5)) == 0
        ]
        if draw(st.integers(0, 5)) == 0:
            taints.append({"key": "soft", "effect": "PreferNoSchedule"})
        made.append(
            node(
                f"n{number}",
                zone=draw(st.sampled_from([None, "1", "2"])),
                labels={"rack": draw(st.sampled_from("xyz"))} if draw(st.booleans()) else {},
                allocatable={
                    "cpu": str(draw(st.integers(1, 6))),
                    "memory": f"{draw(st.integers(1, 6))}Gi",
                    "pods": str(draw(st.integers(2, 12))),
                },
                taints=taints,
                unschedulable=draw(st.integers(0, 9)) == 0,
            )
        )
    return made


_SPECS = _specs()


@st.composite
def pods(draw: Any, places: list[str]) -> list[Pod]:
    """A few pods, bound and not, of three apps with their own templates."""
    specs = {app: draw(_SPECS) for app in APPS}
    made = []
    for number in range(draw(st.integers(1, 10))):
        app = draw(st.sampled_from(APPS))
        requests = {
            name: quantity
            for name, quantity in (
                ("cpu", draw(st.sampled_from(["0", "250m", "1"]))),
                ("memory", draw(st.sampled_from(["0", "100Mi", "1Gi"]))),
            )
            if draw(st.booleans())
        }
        container: dict[str, Any] = {"name": "c", "image": "c", "resources": {"requests": requests}}
        if draw(st.integers(0, 4)) == 0:
            container["ports"] = [{"containerPort": 80, "hostPort": 80}]
        one = pod(
            f"p{number}",
            draw(st.sampled_from(["", *places, *places])),
            namespace=draw(st.sampled_from(["default", "default", "other"])),
            owner=OWNERS[app],
            labels={"app": app},
            containers=[container],
            **specs[app],
        )
        if draw(st.integers(0, 6)) == 0:
            one.metadata.deletionTimestamp = one.metadata.creationTimestamp
        made.append(one)
    return made


@st.composite
def snapshots(draw: Any) -> Snapshot:
    """A whole cluster."""
    made = draw(nodes())
    places = [node.metadata.name for node in made]
    return snapshot(made, draw(pods(places)), controllers=OWNERS.values())
