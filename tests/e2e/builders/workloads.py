"""Workloads: Deployment, StatefulSet, Job, DaemonSet and bare pods."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.e2e.builders.load import Load
from tests.e2e.builders.nodes import GPU

Manifest = dict[str, Any]


def template(
    name: str,
    *,
    cpu: str | float | None = "100m",
    memory: str | None = "128Mi",
    gpus: int = 0,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    load: Load | None = None,
    node_selector: Mapping[str, str] | None = None,
    affinity: Mapping[str, Any] | None = None,
    tolerations: Sequence[Mapping[str, str]] = (),
    spread: Sequence[Mapping[str, Any]] = (),
    priority_class: str | None = None,
    grace: int = 30,
    claims: Sequence[str] = (),
    **spec: Any,
) -> Manifest:
    """A pod template with one container, labelled `app: <name>`.

    load: live load, apart from the requests. spread: topologySpreadConstraints as in the API;
    their labelSelector is `app: <name>` where it is left out. claims: PVCs that it mounts.
    spec: any further field of the pod's spec.
    """
    requests: dict[str, str] = {}
    if cpu is not None:
        requests["cpu"] = str(cpu)
    if memory is not None:
        requests["memory"] = memory
    limits = {GPU: str(gpus)} if gpus else {}
    container: Manifest = {
        "name": "main",
        "image": "registry.test/main:1",
        "resources": {"requests": requests | limits, "limits": limits},
    }
    body: Manifest = {
        "containers": [container],
        "terminationGracePeriodSeconds": grace,
        "tolerations": [dict(toleration) for toleration in tolerations],
        "topologySpreadConstraints": [
            {"labelSelector": {"matchLabels": {"app": name}}, **constraint} for constraint in spread
        ],
        **spec,
    }
    if claims:
        container["volumeMounts"] = [{"name": c, "mountPath": f"/data/{c}"} for c in claims]
        body["volumes"] = [{"name": c, "persistentVolumeClaim": {"claimName": c}} for c in claims]
    optional = {
        "nodeSelector": dict(node_selector) if node_selector else None,
        "affinity": dict(affinity) if affinity else None,
        "priorityClassName": priority_class,
    }
    body |= {key: value for key, value in optional.items() if value is not None}
    return {
        "metadata": {
            "labels": {"app": name, **(labels or {})},
            "annotations": {**(load.annotations() if load else {}), **(annotations or {})},
        },
        "spec": body,
    }


def deployment(
    name: str,
    replicas: int = 1,
    *,
    namespace: str = "default",
    strategy: Mapping[str, Any] | None = None,
    **pod: Any,
) -> Manifest:
    """A Deployment; `pod` as in `template`."""
    body = _replicated(name, replicas, pod)
    if strategy is not None:
        body["strategy"] = dict(strategy)
    return _object("apps/v1", "Deployment", name, namespace, body)


def stateful_set(
    name: str,
    replicas: int = 1,
    *,
    namespace: str = "default",
    parallel: bool = True,
    **pod: Any,
) -> Manifest:
    """A StatefulSet of the headless Service `<name>`; `pod` as in `template`.

    parallel: start all at once, so that a cluster is built fast; False keeps Kubernetes' order.
    """
    body = _replicated(name, replicas, pod)
    body["serviceName"] = name
    body["podManagementPolicy"] = "Parallel" if parallel else "OrderedReady"
    return _object("apps/v1", "StatefulSet", name, namespace, body)


def job(
    name: str,
    parallelism: int = 1,
    *,
    namespace: str = "default",
    runs: str | None = None,
    **pod: Any,
) -> Manifest:
    """A Job whose pods run for ever, or end well after `runs` (as "5s"); `pod` as in `template`."""
    if runs is not None:
        own = {"pod-complete.stage.kwok.x-k8s.io/delay": runs}
        pod["annotations"] = {**(pod.get("annotations") or {}), **own}
    pod.setdefault("restartPolicy", "Never")
    body = {
        "parallelism": parallelism,
        "completions": parallelism,
        "template": template(name, **pod),
    }
    return _object("batch/v1", "Job", name, namespace, body)


def daemon_set(name: str, *, namespace: str = "default", **pod: Any) -> Manifest:
    """A DaemonSet; `pod` as in `template`."""
    body = {"selector": {"matchLabels": {"app": name}}, "template": template(name, **pod)}
    return _object("apps/v1", "DaemonSet", name, namespace, body)


def bare_pod(name: str, *, namespace: str = "default", **pod: Any) -> Manifest:
    """A pod without an owner; `pod` as in `template`, and `nodeName=` binds it at once."""
    body = template(name, **pod)
    body["metadata"] |= {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", **body}


def _replicated(name: str, replicas: int, pod: dict[str, Any]) -> Manifest:
    return {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": name}},
        "template": template(name, **pod),
    }


def _object(
    api_version: str, kind: str, name: str, namespace: str, spec: Mapping[str, Any]
) -> Manifest:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": name}},
        "spec": dict(spec),
    }
