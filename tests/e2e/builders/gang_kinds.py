"""The kinds of others that say what a gang is, as far as the program reads them: bare CRDs."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from rescheduler.kube.gang_marks import COSCHEDULING, KAI, KUEUE, VOLCANO
from tests.e2e.builders.cluster import Cluster
from tests.e2e.controlplane.api import ApiError

Manifest = dict[str, Any]

_FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def kind(group: str, version: str, name: str) -> Manifest:
    """A CustomResourceDefinition of a namespaced kind with any fields in `spec` and `status`."""
    plural = f"{name.lower()}s"
    schema = {"type": "object", "properties": {"spec": _FREE, "status": _FREE}}
    served = {"name": version, "served": True, "storage": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{group}",
            # Groups of the community have to say where they were approved.
            "annotations": {"api-approved.kubernetes.io": "unapproved, of a test"},
        },
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": name, "plural": plural, "singular": name.lower()},
            "versions": [{**served, "schema": {"openAPIV3Schema": schema}}],
        },
    }


GANG_KINDS = (
    kind(COSCHEDULING, "v1alpha1", "PodGroup"),
    kind(VOLCANO, "v1beta1", "PodGroup"),
    kind(KAI, "v2alpha2", "PodGroup"),
    kind(KUEUE, "v1beta1", "Workload"),
)


RUNNERS = (
    kind("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet"),
    kind("jobset.x-k8s.io", "v1alpha2", "JobSet"),
)
"""Kinds that are above StatefulSets and Jobs."""


@contextmanager
def served(cluster: Cluster, kinds: Sequence[Manifest] = GANG_KINDS) -> Iterator[None]:
    """Let the API server serve these kinds, and take them away again with all their objects."""
    for manifest in kinds:
        cluster.api.apply(manifest)
    try:
        for manifest in kinds:
            cluster.until(partial(_answers, cluster, manifest), manifest["metadata"]["name"])
        yield
    finally:
        for manifest in kinds:
            cluster.api.delete(manifest)


def _answers(cluster: Cluster, kind: Manifest) -> bool:
    spec = kind["spec"]
    path = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"
    try:
        cluster.api.request("GET", path)
    except ApiError:
        return False
    return True
