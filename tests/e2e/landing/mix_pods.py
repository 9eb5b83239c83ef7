"""Pods and their owners, with requests of every kind and the features of `mix_terms`."""

from collections.abc import Sequence
from random import Random
from typing import Any

from tests.e2e.builders.workloads import bare_pod, deployment, job, stateful_set
from tests.e2e.landing.mix_devices import Devices
from tests.e2e.landing.mix_nodes import FPGA, HUGE
from tests.e2e.landing.mix_storage import Storage
from tests.e2e.landing.mix_terms import inter_pod, node_affinity, spread, tolerations

Manifest = dict[str, Any]
_IMAGES = ["big0:1", "big1:1", "big2:1", "plain", "none:3"]
_PORTS = (
    {"hostPort": 8080},
    {"hostPort": 8080, "hostIP": "10.0.0.1"},
    {"hostPort": 8080, "protocol": "UDP"},
    {"hostPort": 9090, "hostIP": "127.0.0.1"},
)


class PodMix:
    """Draws pods; `names` are the nodes', `apps` the labels that terms select."""

    def __init__(
        self,
        draw: Random,
        apps: Sequence[str],
        names: Sequence[str],
        storage: Storage,
        devices: Devices,
    ) -> None:
        self._draw, self._apps, self._names, self._storage = draw, apps, names, storage
        self._devices = devices

    def workload(self, app: str) -> list[Manifest]:
        """One owner of a few pods; Jobs are rare, because they replace a pod after ten seconds."""
        draw = self._draw
        namespace = self._namespace()
        claims, pod = self._template(app, namespace)
        count = draw.randint(1, 6)
        kind = draw.random()
        if kind < 0.6:
            made = deployment(app, count, namespace=namespace, **pod)
        elif kind < 0.85:
            made = stateful_set(app, count, namespace=namespace, **pod)
        elif kind < 0.94:
            made = _replication_controller(app, count, namespace, pod)
        else:
            made = job(app, count, namespace=namespace, **pod)
        self._complete(made["spec"]["template"])
        return [*claims, made]

    def single(self, number: int) -> list[Manifest]:
        """A pod without an owner, labelled as one of the apps."""
        app = self._draw.choice(self._apps)
        namespace = self._namespace()
        claims, pod = self._template(f"{app}-{number}", namespace)
        pod["labels"]["app"] = app
        made = bare_pod(f"{app}-single{number}", namespace=namespace, **pod)
        made["metadata"]["labels"]["app"] = app
        self._complete(made)
        return [*claims, made]

    def _complete(self, pod: Manifest) -> None:
        _complete(self._draw, pod)
        if self._draw.random() < 0.06:
            self._devices.claim(pod)

    def _namespace(self) -> str:
        return self._draw.choice(["default", "default", "blue", "green"])

    def _template(self, name: str, namespace: str) -> tuple[list[Manifest], dict[str, Any]]:
        """Claims that the pod needs, and the arguments of `template`."""
        draw = self._draw
        made: dict[str, Any] = {
            "cpu": draw.choice([None, "0", "50m", "100m", "333m", "1", "1500m"]),
            "memory": draw.choice([None, "0", "64Mi", "300Mi", "1Gi", "3Gi"]),
            "gpus": draw.choice([0, 0, 0, 0, 0, 1]),
            "labels": self._labels(),
            "grace": 30,
            "tolerations": tolerations(draw),
        }
        if draw.random() < 0.12:
            made["node_selector"] = draw.choice([{"disk": "ssd"}, {"disk": "hdd"}, {"pool": "web"}])
        if affinity := self._affinity():
            made["affinity"] = affinity
        if draw.random() < 0.35:
            made["spread"] = spread(draw)
        if draw.random() < 0.2:
            made["priority_class"] = draw.choice(["low", "high", "polite"])
        if draw.random() < 0.1:
            made["runtimeClassName"] = "heavy"
        if draw.random() < 0.1:
            # The containers may not ask for more than the pod.
            made["resources"] = {"requests": draw.choice(_POD_LEVEL)}
            made["cpu"] = draw.choice([None, "0", "100m"])
            made["memory"] = draw.choice([None, "0", "300Mi"])
        claims: list[Manifest] = []
        if draw.random() < 0.18:
            claims, volumes = self._storage.volumes(namespace)
            made["volumes"] = volumes
        return claims, made

    def _labels(self) -> dict[str, str]:
        draw = self._draw
        labels = {}
        if draw.random() < 0.8:
            labels["tier"] = draw.choice(["front", "back"])
        if draw.random() < 0.5:
            labels["track"] = draw.choice(["stable", "canary"])
        return labels

    def _affinity(self) -> dict[str, Any]:
        draw = self._draw
        affinity: dict[str, Any] = {}
        if draw.random() < 0.35:
            affinity["nodeAffinity"] = node_affinity(draw, self._names)
        for part, share in (("podAffinity", 0.2), ("podAntiAffinity", 0.3)):
            if draw.random() < share:
                affinity[part] = inter_pod(draw, self._apps)
        return affinity


_POD_LEVEL = (
    {"cpu": "2", "memory": "4Gi"},
    {"cpu": "700m"},
    {"memory": "2Gi"},
)


def _replication_controller(app: str, count: int, namespace: str, pod: dict[str, Any]) -> Manifest:
    made = deployment(app, count, namespace=namespace, **pod)
    made |= {"apiVersion": "v1", "kind": "ReplicationController"}
    # By a label of its own: it would adopt, and then delete, a single pod of that app.
    own = {"kept-by": app}
    made["spec"]["selector"] = own
    made["spec"]["template"]["metadata"]["labels"] |= own
    return made


def _complete(draw: Random, pod: Manifest) -> None:
    """Images, ports, extended resources, further containers: what `template` does not draw."""
    spec = pod["spec"]
    main = spec["containers"][0]
    main["image"] = f"registry.test/{draw.choice(_IMAGES)}"
    requests, limits = main["resources"]["requests"], main["resources"]["limits"]
    pod_level = "resources" in spec
    if draw.random() < 0.06:
        requests[FPGA] = limits[FPGA] = "1"
    if draw.random() < 0.04 and not pod_level and requests.get("cpu") not in {None, "0"}:
        requests[HUGE] = limits[HUGE] = "32Mi"
    if draw.random() < 0.1:
        requests["ephemeral-storage"] = draw.choice(["1Gi", "100Gi", "400Gi"])
    if draw.random() < 0.08:
        main["ports"] = [{"containerPort": 80, **draw.choice(_PORTS)}]
    elif draw.random() < 0.02:
        spec["hostNetwork"] = True
        main["ports"] = [{"containerPort": draw.choice([8080, 9090])}]
    small = [] if pod_level else _further(draw)
    spec["containers"] += [manifest for manifest in small if "restartPolicy" not in manifest]
    spec["initContainers"] = _starters(draw, pod_level=pod_level)


def _container(draw: Random, name: str) -> Manifest:
    requests = {}
    if draw.random() < 0.7:
        requests["cpu"] = draw.choice(["10m", "700m", "1m"])
    if draw.random() < 0.6:
        requests["memory"] = draw.choice(["20Mi", "2Gi", "1000001"])
    image = f"registry.test/{draw.choice(_IMAGES)}"
    return {"name": name, "image": image, "resources": {"requests": requests}}


def _further(draw: Random) -> list[Manifest]:
    return [_container(draw, "second")] if draw.random() < 0.15 else []


def _starters(draw: Random, *, pod_level: bool) -> list[Manifest]:
    """Init containers, some of which go on as sidecars, in any order."""
    made = []
    for number in range(draw.choice([0, 0, 0, 1, 1, 2])):
        one = _container(draw, f"init{number}")
        if pod_level:
            one["resources"] = {"requests": {"cpu": "10m"}}
        if draw.random() < 0.5:
            one["restartPolicy"] = "Always"
        made.append(one)
    return made
