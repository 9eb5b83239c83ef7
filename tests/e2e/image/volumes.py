"""The volumes of a pod, as kubelet makes them on the node: files with their owner and mode."""

import base64
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.controlplane.api import Api, Manifest

Json = dict[str, Any]
_FILE_MODE = 0o644


@dataclass(frozen=True)
class PodVolumes:
    """Makes what a pod mounts, below a folder."""

    api: Api
    pod: Manifest
    folder: Path

    def mounts(self) -> Iterator[Json]:
        """The mounts of its one container, as the container runtime takes them."""
        (container,) = self.pod["spec"]["containers"]
        sources = {volume["name"]: self._source(volume) for volume in self.pod["spec"]["volumes"]}
        for mount in container["volumeMounts"]:
            source = sources[mount["name"]]
            access = ["ro"] if mount.get("readOnly") else ["rw"]
            options = [*source["options"], *access, "nosuid", "nodev"]
            yield {**source, "destination": mount["mountPath"], "options": options}

    def _source(self, volume: Json) -> Json:
        empty = volume.get("emptyDir")
        if empty is not None:
            size = empty["sizeLimit"].removesuffix("i")
            options = [f"size={size}", "mode=1777"]
            return {"type": "tmpfs", "source": "tmpfs", "options": options}
        # Kubelet swaps all files at once, by a link to the folder in which they really are.
        folder = self.folder / volume["name"]
        (folder / "..0").mkdir(parents=True)
        (folder / "..data").symlink_to("..0")
        for name, (content, mode, owner) in self._files(volume).items():
            path = folder / "..0" / name
            path.write_bytes(content)
            path.chmod(mode)
            os.chown(path, *owner)
            (folder / name).symlink_to(f"..data/{name}")
        return {"type": "bind", "source": str(folder), "options": ["bind"]}

    def _files(self, volume: Json) -> dict[str, tuple[bytes, int, tuple[int, int]]]:
        (kind,) = volume.keys() - {"name"}
        sources = volume[kind].get("sources") or [{kind: volume[kind]}]
        mode = volume[kind].get("defaultMode", _FILE_MODE)
        security = self.pod["spec"]["securityContext"]
        group = security.get("fsGroup")
        files = {}
        for source in sources:
            ((of, described),) = source.items()
            # Without fsGroup, kubelet gives the token to the user of the containers alone.
            own = of == "serviceAccountToken" and group is None
            file_mode, owner = (0o600, security["runAsUser"]) if own else (mode, 0)
            for name, content in self._contents(of, described).items():
                files[name] = (content, file_mode, (owner, group or 0))
        return files

    def _contents(self, kind: str, described: Json) -> Mapping[str, bytes]:
        namespace = self.pod["metadata"]["namespace"]
        if kind == "serviceAccountToken":
            return {described["path"]: self._token(described["expirationSeconds"]).encode()}
        if kind == "downwardAPI":
            return {
                item["path"]: field_of(self.pod, item["fieldRef"]["fieldPath"]).encode()
                for item in described["items"]
            }
        if kind == "configMap":
            data = self.api.read("v1", "ConfigMap", described["name"], namespace).get("data")
            contents = {name: text.encode() for name, text in (data or {}).items()}
        else:
            data = self.api.read("v1", "Secret", described["secretName"], namespace)["data"]
            contents = {name: base64.b64decode(text) for name, text in data.items()}
        if "items" not in described:
            return contents
        return {item["path"]: contents[item["key"]] for item in described["items"]}

    def _token(self, seconds: int) -> str:
        """A token that holds as long as the pod is there, as its own is."""
        metadata, account = self.pod["metadata"], self.pod["spec"]["serviceAccountName"]
        bound = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"]}
        answer = self.api.request(
            "POST",
            f"/api/v1/namespaces/{metadata['namespace']}/serviceaccounts/{account}/token",
            {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenRequest",
                "spec": {
                    "expirationSeconds": seconds,
                    "boundObjectRef": {**bound, "uid": metadata["uid"]},
                },
            },
        )
        return str(answer["status"]["token"])


def field_of(pod: Manifest, path: str) -> str:
    """What a fieldRef names, such as metadata.name."""
    value: Any = pod
    for key in path.split("."):
        value = value[key]
    return str(value)
