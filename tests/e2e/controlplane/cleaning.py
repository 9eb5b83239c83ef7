"""Empty a control plane between tests, in about a second and without a restart."""

import time
from collections.abc import Iterable
from typing import Any

from tests.e2e.controlplane.api import ApiError, Manifest, Resource
from tests.e2e.controlplane.server import ControlPlane

# Kinds without a namespace that tests and `deploy/` make. What the control plane made at its own
# start is the baseline and stays.
_WIDE = (
    ("v1", "PersistentVolume"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
    ("scheduling.k8s.io/v1", "PriorityClass"),
    ("storage.k8s.io/v1", "StorageClass"),
    ("resource.k8s.io/v1", "DeviceClass"),
    ("resource.k8s.io/v1", "ResourceSlice"),
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy"),
    ("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
    ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"),
)
# Who makes pods goes before the pods, so that no controller fills the place again.
_OWNERS_FIRST = ("deployments", "replicasets", "statefulsets", "daemonsets", "jobs", "cronjobs")
# What the control plane itself keeps in the namespace `default`.
_KEPT = {
    "configmaps": "kube-root-ca.crt",
    "endpoints": "kubernetes",
    "endpointslices": "kubernetes",
    "serviceaccounts": "default",
    "services": "kubernetes",
}
_NO_GRACE = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
_NO_FINALIZERS = {"metadata": {"finalizers": None}}


class Cleaner:
    """Knows what a fresh control plane holds, and removes everything else."""

    def __init__(self, control_plane: ControlPlane) -> None:
        """Take the baseline: call it before anything else is made."""
        api = control_plane.api
        self._api = api
        self._forget_events = control_plane.forget_events
        self._namespaces = {row["metadata"]["name"] for row in api.items("v1", "Namespace")}
        self._wide = {kind: _names(api.items(*kind)) for kind in _WIDE}
        self._collections = list(self._deletable())

    def _deletable(self) -> Iterable[Resource]:
        """Every collection with a namespace that can be emptied at once, from discovery."""
        groups = self._api.request("GET", "/apis")["groups"]
        versions = ["v1", *(group["preferredVersion"]["groupVersion"] for group in groups)]
        for version in versions:
            for resource in self._api.resources(version).values():
                if (
                    resource.plural != "events"
                    and resource.namespaced
                    and ("deletecollection" in resource.verbs)
                ):
                    yield resource

    def clean(self, deadline: float = 30) -> None:
        """Remove nodes, made namespaces and made cluster-wide objects; return when all are gone.

        `default` is emptied and stays. TimeoutError names what is left after `deadline` seconds.
        """
        made = _names(self._api.items("v1", "Namespace")) - self._namespaces
        # A terminating namespace admits no new object: no controller can make pods again.
        self._api.parallel(self._terminate, made)
        self._empty_all([*sorted(made), "default"])
        self._forget_events()
        self._api.request("DELETE", "/api/v1/nodes", params=_NO_GRACE)
        self._api.request("DELETE", _leases("kube-node-lease"))
        for kind in _WIDE:
            self._remove_wide(kind)
        self._wait(made, deadline)
        self._api.parallel(self._finalize, made)
        limit = time.monotonic() + deadline
        while left := _names(self._api.items("v1", "Namespace")) & made:
            _check(limit, left)

    def _terminate(self, name: str) -> None:
        self._api.delete(_namespace(name))

    def _empty_all(self, namespaces: list[str]) -> None:
        for first in (True, False):
            pairs = [
                (namespace, resource)
                for namespace in namespaces
                for resource in self._collections
                if (resource.plural in _OWNERS_FIRST) is first
            ]
            self._api.parallel(self._empty, pairs)

    def _empty(self, pair: tuple[str, Resource]) -> None:
        namespace, resource = pair
        if namespace != "default" or resource.plural not in _KEPT:
            self._api.request("DELETE", resource.path(namespace), params=_NO_GRACE)
            return
        items = self._api.request("GET", resource.path(namespace))["items"]
        for name in _names(items) - {_KEPT[resource.plural]}:
            self._api.delete_path(resource.path(namespace, name), grace=0)

    def _remove_wide(self, kind: tuple[str, str]) -> None:
        for item in self._api.items(*kind):
            name = item["metadata"]["name"]
            if name in self._wide[kind]:
                continue
            manifest = {"apiVersion": kind[0], "kind": kind[1], "metadata": {"name": name}}
            self._strip(manifest, item)
            self._api.delete(manifest, grace=0)

    def _strip(self, manifest: Manifest, item: Manifest) -> None:
        """Take the finalizers off: their controllers would need seconds."""
        if item["metadata"].get("finalizers"):
            try:
                self._api.patch(manifest, _NO_FINALIZERS)
            except ApiError as error:
                if error.code != 404:
                    raise

    def _wait(self, made: set[str], deadline: float) -> None:
        """Until no node and no pod, claim or job is left in the emptied namespaces."""
        kinds = (("v1", "Pod"), ("v1", "PersistentVolumeClaim"), ("batch/v1", "Job"))
        limit = time.monotonic() + deadline
        while left := self._left(kinds, made | {"default"}):
            for kind, item in left:
                metadata = {key: item["metadata"][key] for key in ("namespace", "name")}
                manifest = {"apiVersion": kind[0], "kind": kind[1], "metadata": metadata}
                self._strip(manifest, item)
                self._api.delete(manifest, grace=0)
            _check(limit, {item["metadata"]["name"] for _, item in left})
        while nodes := _names(self._api.items("v1", "Node")):
            _check(limit, nodes)

    def _left(
        self, kinds: Iterable[tuple[str, str]], namespaces: set[str]
    ) -> list[tuple[tuple[str, str], Manifest]]:
        return [
            (kind, item)
            for kind in kinds
            for item in self._api.items(*kind)
            if item["metadata"]["namespace"] in namespaces
        ]

    def _finalize(self, name: str) -> None:
        """Let a namespace go that we emptied ourselves, without waiting for its controller."""
        body = {**_namespace(name), "spec": {"finalizers": []}}
        try:
            self._api.request("PUT", f"/api/v1/namespaces/{name}/finalize", body)
        except ApiError as error:
            if error.code not in {404, 409}:
                raise


def _check(limit: float, left: set[str]) -> None:
    if time.monotonic() > limit:
        raise TimeoutError(f"still there after the cleaning: {', '.join(sorted(left))}")
    time.sleep(0.05)


def _names(items: Iterable[Manifest]) -> set[str]:
    return {item["metadata"]["name"] for item in items}


def _namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _leases(namespace: str) -> str:
    return f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
