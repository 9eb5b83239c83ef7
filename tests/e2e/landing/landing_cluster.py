"""One control plane for many clusters: nothing moves on it but by our hand and the scheduler's."""

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from rescheduler.model.cluster.observed_scheduler import ObservedScheduler
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.sources.kubernetes.client import connect
from rescheduler.sources.kubernetes.cluster import read_cluster
from tests.e2e.builders.cluster import Cluster
from tests.e2e.controlplane.api import ApiError, Manifest
from tests.e2e.controlplane.programs import STAGES, Layout
from tests.e2e.controlplane.server import ControlPlane
from tests.e2e.controlplane.versions import Program
from tests.e2e.landing.changes import change
from tests.e2e.landing.mix import NAMESPACES, Mix
from tests.e2e.landing.pod_watch import PodWatch, answered, bound, unready
from tests.e2e.landing.provisioner import Provisioner
from tests.e2e.landing.score_log import OPTIONS, ScoreLog

_KINDS = {
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "StatefulSet": "/apis/apps/v1/namespaces/{}/statefulsets",
    "Job": "/apis/batch/v1/namespaces/{}/jobs",
    "ReplicationController": "/api/v1/namespaces/{}/replicationcontrollers",
    "ReplicaSet": "/apis/apps/v1/namespaces/{}/replicasets",
}
_ABOVE = {"ReplicaSet": ("Deployment", "ReplicaSet")} | {
    kind: (kind,) for kind in ("StatefulSet", "Job", "ReplicationController")
}
_CLAIMS = "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims"
_STORAGE = "/apis/storage.k8s.io/v1"
_WIDE = (
    "/api/v1/persistentvolumes",
    "/api/v1/nodes",
    "/apis/resource.k8s.io/v1/resourceslices",
    "/apis/resource.k8s.io/v1/deviceclasses",
    f"{_STORAGE}/csinodes",
    f"{_STORAGE}/storageclasses",
    f"{_STORAGE}/csidrivers",
    f"{_STORAGE}/namespaces/default/csistoragecapacities",
)
_NO_GRACE = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
_NO_FINALIZERS = {"metadata": {"finalizers": None}}
STABLE_AFTER = 0.1
"""Seconds that the scheduler gets to hear of a node, Service or volume: each has its own watch."""


class LandingCluster:
    """Builds clusters one after the other. KWOK plays the nodes, but not the pods.

    A bound pod stays as it is, and an evicted one stays terminating until it is removed here: so
    the cluster that was read is the cluster that the scheduler decides on. It does not read a
    pod's phase while the pod has not ended.
    """

    def __init__(
        self,
        folder: Path,
        options: Callable[[Layout], Sequence[str]] = lambda _: (),
        scheduler: Program | None = None,
    ) -> None:
        """Start the control plane, with the scheduler's scores in its log.

        options: more options of kube-scheduler. scheduler: one of another version.
        """
        self.scheduler: ObservedScheduler | None = None
        self._claimants: list[Manifest] = []
        self.plane = ControlPlane(
            folder,
            lambda layout: (*OPTIONS, *options(layout)),
            _nodes_only(folder),
            audited=False,
            scheduler=scheduler,
        )
        try:
            self.api = self.plane.api
            self.connection = connect(self.plane.kubeconfig, None)
            self.cluster = Cluster(self.plane)
            for name, labels in NAMESPACES.items():
                if name != "default":
                    self.cluster.namespace(name, labels)
            self.watch = PodWatch(self.api)
            self.provisioner = Provisioner(self.api)
            self.log = ScoreLog(self.plane.logs / "kube-scheduler.log")
        except BaseException:
            self.plane.stop()
            raise

    def observe(self) -> Snapshot:
        """The cluster as our own reader sees it, with what is known of its scheduler."""
        return replace(read_cluster(self.connection), scheduler=self.scheduler)

    def stop(self) -> None:
        """Stop the control plane."""
        self.log.close()
        self.plane.stop()

    def build(self, mix: Mix) -> None:
        """Make that cluster; workloads with a pod that was refused are taken away again."""
        self.clear()
        # In their order, so that the scheduler learns of the nodes as a list would return them.
        for manifest in mix.nodes():
            self.api.create(manifest)
        self.api.parallel(self.api.apply, mix.surroundings())
        workloads = mix.workloads()
        claims = [workload for workload in workloads if workload["kind"] not in _KINDS]
        self.store(claims)
        self.cluster.until(lambda: not self._untouched(), "nodes without the taint of their birth")
        time.sleep(STABLE_AFTER)
        made = [workload for workload in workloads if workload["kind"] in _KINDS]
        wanted = sum(_wanted(manifest) for manifest in made)
        self.api.create_all(made)
        if not self.watch.wait(lambda pods: len(pods) >= wanted and all(map(answered, pods)), 30):
            raise TimeoutError("not every pod was bound or refused")
        self.remove_refused()
        change(self.api, self.watch.pods(), mix.random)
        time.sleep(STABLE_AFTER)

    def store(self, manifests: list[Manifest]) -> None:
        """Make volumes and claims, and wait until the claims that name a volume are bound to it.

        The volumes first: a claim that comes too early is tried again after 15 seconds.
        """
        volumes = [manifest for manifest in manifests if manifest["kind"] == "PersistentVolume"]
        claims = [manifest for manifest in manifests if manifest["kind"] != "PersistentVolume"]
        for made in (volumes, claims):
            if made:
                self.api.create_all(made)
                time.sleep(STABLE_AFTER)
        for claim in claims:
            if claim["spec"].get("volumeName"):
                self.cluster.until(partial(self._is_bound, claim), "a bound claim")
                time.sleep(STABLE_AFTER)

    def _is_bound(self, claim: Manifest) -> bool:
        found = self.api.request("GET", self.api.path(claim))
        return bool(found["status"].get("phase") == "Bound")

    def _untouched(self) -> list[str]:
        return [
            node["metadata"]["name"]
            for node in self.api.items("v1", "Node")
            if any(taint["key"].endswith("/not-ready") for taint in node["spec"].get("taints", []))
        ]

    def remove_owner(self, pod: Manifest) -> None:
        """Take the whole workload of a pod away, or a pod without one; its claims stay."""
        metadata = pod["metadata"]
        namespace = metadata["namespace"]
        app = metadata.get("labels", {}).get("app")
        if metadata.get("ownerReferences"):
            params = {"labelSelector": f"app={app}", **_NO_GRACE}
            for kind in _ABOVE[metadata["ownerReferences"][0]["kind"]]:
                self.api.request("DELETE", _KINDS[kind].format(namespace), params=params)
            for manifest in self.watch.pods():
                same = manifest["metadata"].get("labels", {}).get("app") == app
                if same and manifest["metadata"].get("ownerReferences"):
                    self.finish(manifest)
        self.finish(pod)

    def finish(self, pod: Manifest) -> None:
        """Let a pod be gone now, as kubelet does at its end."""
        metadata = pod["metadata"]
        if metadata.get("finalizers"):
            try:
                self.api.patch({"apiVersion": "v1", "kind": "Pod", **pod}, _NO_FINALIZERS)
            except ApiError as error:
                if error.code != 404:
                    raise
        self.api.delete_path(
            f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}", grace=0
        )
        if pod["spec"].get("resourceClaims"):
            self._claimants.append(pod)

    def _await_devices(self) -> None:
        """Wait until the device claims made for pods that are gone are gone too."""
        while self._claimants:
            metadata = self._claimants.pop()["metadata"]
            path = _CLAIMS.format(metadata["namespace"])
            self.cluster.until(partial(self._freed, path, metadata["uid"]), "freed devices")
            time.sleep(STABLE_AFTER)

    def _freed(self, path: str, uid: str) -> bool:
        claims = self.api.request("GET", path)["items"]
        return all(
            owner["uid"] != uid
            for claim in claims
            for owner in claim["metadata"].get("ownerReferences", ())
        )

    def remove_refused(self) -> None:
        """Take away what the scheduler could not place, until every pod is bound."""
        for _ in range(50):
            if not self.watch.wait(lambda pods: all(map(answered, pods)), 30):
                break
            pending = [pod for pod in self.watch.pods() if not bound(pod)]
            if not pending:
                self._await_devices()
                return
            self.remove_owner(pending[0])
            gone = pending[0]["metadata"]["uid"]
            self.watch.wait(partial(_without, gone), 5)
        left = [pod["metadata"]["name"] for pod in self.watch.pods() if not bound(pod)]
        raise TimeoutError(f"pods that are neither bound nor gone: {left}")

    def failed_scheduling(self, pod: Manifest, message: str) -> str:
        """The text of the pod's FailedScheduling event; this one, where there are several."""
        metadata = pod["metadata"]
        params = {"fieldSelector": f"involvedObject.uid={metadata['uid']},reason=FailedScheduling"}
        path = f"/api/v1/namespaces/{metadata['namespace']}/events"
        limit = time.monotonic() + 3
        while True:
            found = self.api.request("GET", path, params=params)["items"]
            texts = [event["message"] for event in found if not unready(event["message"])]
            if message in texts:
                return message
            if texts or time.monotonic() > limit:
                return str(texts[0]) if texts else ""
            time.sleep(0.02)

    def clear(self) -> None:
        """Remove everything that a cluster was made of."""
        for namespace in NAMESPACES:
            for path in _KINDS.values():
                self._empty(path.format(namespace))
            self._empty(f"/api/v1/namespaces/{namespace}/pods")
            self._empty(f"/api/v1/namespaces/{namespace}/persistentvolumeclaims")
            for kind in ("resourceclaims", "resourceclaimtemplates"):
                self._empty(_CLAIMS.format(namespace).replace("resourceclaims", kind))
            services = f"/api/v1/namespaces/{namespace}/services"
            for item in self.api.request("GET", services)["items"]:
                if item["metadata"]["name"] != "kubernetes":
                    self.api.delete_path(f"{services}/{item['metadata']['name']}")
        for path in _WIDE:
            self._empty(path)
        self.plane.forget_events()
        self._claimants.clear()
        self.cluster.until(self._emptied, "an empty cluster")
        time.sleep(STABLE_AFTER)

    def _empty(self, path: str) -> None:
        self.api.request("DELETE", path, params=_NO_GRACE)

    def _emptied(self) -> bool:
        """Whether all is gone; what finalizers hold is let go."""
        left: list[tuple[str, Any]] = []
        for api_version, kind in (
            ("resource.k8s.io/v1", "ResourceClaim"),
            ("v1", "Pod"),
            ("v1", "PersistentVolumeClaim"),
            ("v1", "PersistentVolume"),
            ("batch/v1", "Job"),
            ("v1", "Node"),
        ):
            left += [(kind, item) for item in self.api.items(api_version, kind)]
        for kind, item in left:
            if kind == "Pod":
                self.finish(item)
            elif item["metadata"].get("finalizers"):
                try:
                    self.api.patch(item, _NO_FINALIZERS)
                except ApiError as error:
                    if error.code != 404:
                        raise
        return not left


def _without(uid: str, pods: list[Manifest]) -> bool:
    return all(pod["metadata"]["uid"] != uid for pod in pods)


def _wanted(manifest: Manifest) -> int:
    spec = manifest["spec"]
    return int(spec.get("replicas", spec.get("parallelism", 0)))


def _nodes_only(folder: Path) -> Path:
    """KWOK's configuration without what it plays on pods."""
    documents = list(yaml.safe_load_all(STAGES.read_text(encoding="utf-8")))
    kept = [
        document
        for document in documents
        if document["kind"] != "Stage" or document["spec"]["resourceRef"]["kind"] == "Node"
    ]
    path = folder / "node-stages.yaml"
    path.write_text(yaml.safe_dump_all(kept), encoding="utf-8")
    return path


def temporary() -> Path:
    """A folder for the control plane's files."""
    return Path(tempfile.mkdtemp(prefix="rescheduler-landing-"))
