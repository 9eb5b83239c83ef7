"""Makes the volumes that the scheduler has chosen a node for, as an external provisioner does."""

import threading
from contextlib import suppress

import msgspec
import requests

from tests.e2e.builders.nodes import HOSTNAME
from tests.e2e.controlplane.api import Api, ApiError, Manifest
from tests.e2e.landing.mix_storage import GROW

_PATH = "/api/v1/persistentvolumeclaims"
_CHOSEN = "volume.kubernetes.io/selected-node"


class Provisioner:
    """Follows the claims in a thread of its own; it ends with the process."""

    def __init__(self, api: Api) -> None:
        self._api = api
        version = str(api.request("GET", _PATH)["metadata"]["resourceVersion"])
        threading.Thread(target=self._follow, args=(version,), daemon=True).start()

    def _follow(self, version: str) -> None:
        # The control plane ends the watch when it stops; without one nothing would be bound.
        with suppress(requests.exceptions.RequestException):
            while True:
                for line in self._api.watch(_PATH, version):
                    event = msgspec.json.decode(line)
                    found = event["object"]
                    version = str(found["metadata"]["resourceVersion"])
                    if event["type"] in {"ADDED", "MODIFIED"}:
                        self._serve(found)

    def _serve(self, claim: Manifest) -> None:
        metadata, spec = claim["metadata"], claim["spec"]
        node = metadata.get("annotations", {}).get(_CHOSEN)
        wanted = spec.get("storageClassName", "").endswith(GROW) and not spec.get("volumeName")
        if node and wanted and "deletionTimestamp" not in metadata:
            try:
                self._api.create(_volume(claim, node))
            except ApiError as error:
                if error.code != 409:
                    raise


def _volume(claim: Manifest, node: str) -> Manifest:
    metadata, spec = claim["metadata"], claim["spec"]
    term = {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [node]}]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"pvc-{metadata['uid']}"},
        "spec": {
            "capacity": spec["resources"]["requests"],
            "accessModes": spec["accessModes"],
            "storageClassName": spec["storageClassName"],
            "persistentVolumeReclaimPolicy": "Retain",
            "csi": {"driver": "disk.test", "volumeHandle": f"pvc-{metadata['uid']}"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": metadata["namespace"],
                "name": metadata["name"],
                "uid": metadata["uid"],
            },
        },
    }
