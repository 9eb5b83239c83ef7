"""Runs the container of a pod template on this machine as a kubelet would, without its image.

A root folder of its own, read-only, with the volumes where the template mounts them; the user, the
environment and the arguments that it names; and a token of its ServiceAccount. Needs root.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.e2e.controlplane.api import Api, Manifest
from tests.e2e.program import Finished, Program, dependencies_folder

_SYSTEM = ("usr", "bin", "lib", "lib64", "dev", "proc", "etc/ld.so.cache", "etc/resolv.conf")
"""What an image would bring."""

_START = """
set -eu
root="$1"; shift
mount -t tmpfs -o mode=755 tmpfs "$root"
while [ "$1" != -- ]; do
    mkdir -p "$root/$(dirname "$2")"
    if [ -d "$1" ]; then mkdir -p "$root/$2"; else : > "$root/$2"; fi
    mount --rbind "$1" "$root/$2"
    [ "$3" = rw ] || mount -o remount,bind,ro "$root/$2"
    shift 3
done
shift
mount -o remount,ro "$root"
exec chroot "$root" "$@"
"""


class Container:
    """The first container of a pod template, ready to run again and again."""

    def __init__(
        self, api: Api, program: Program, namespace: str, template: Manifest, folder: Path
    ) -> None:
        """folder: where what is mounted is written; only the owner of the tests reads it."""
        self._api, self._program, self._namespace = api, program, namespace
        self._spec = template["spec"]
        self._container = self._spec["containers"][0]
        self._folder = folder

    def run(self, timeout: float = 120) -> Finished:
        """Run to the end."""
        root = self._folder / "root"
        root.mkdir(parents=True, exist_ok=True)
        context = self._spec["securityContext"]
        assert self._container["securityContext"]["readOnlyRootFilesystem"]
        user, group = context["runAsUser"], context["runAsGroup"]
        mounts = [text for mount in self._mounts(user) for text in mount]
        command = ["unshare", "--mount", "sh", "-c", _START, "start", str(root), *mounts, "--"]
        command += ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups"]
        command += ["--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]
        command += ["/program/bin/python", "-m", "rescheduler", *self._container["args"]]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout, check=False,
            env=dict(self._environment()),
        )  # fmt: skip
        Program.said.append(done.stdout + done.stderr)
        return Finished(done.returncode, done.stdout, done.stderr)

    def _environment(self) -> Iterator[tuple[str, str]]:
        server = urlsplit(self._api.server)
        yield "PATH", "/usr/bin:/bin:/usr/sbin:/sbin"
        yield "PYTHONPATH", "/dependencies"
        yield "KUBERNETES_SERVICE_HOST", str(server.hostname)
        yield "KUBERNETES_SERVICE_PORT", str(server.port)
        for source in self._container.get("envFrom", []):
            yield from self._data(source["configMapRef"]["name"]).items()
        for variable in self._container.get("env", []):
            yield variable["name"], variable["value"]

    def _mounts(self, user: int) -> Iterator[tuple[str, str, str]]:
        """What is mounted where, and how."""
        for name in _SYSTEM:
            if Path("/", name).exists():
                yield f"/{name}", name, "rw" if name in ("dev", "proc") else "ro"
        base = Path(sys.base_prefix)
        if not base.is_relative_to("/usr"):
            yield str(base), str(base), "ro"
        yield str(self._program.binary.parents[1]), "program", "ro"
        yield str(dependencies_folder()), "dependencies", "ro"
        volumes = {volume["name"]: volume for volume in self._spec["volumes"]}
        for mount in self._container["volumeMounts"]:
            folder = self._folder / mount["name"]
            folder.mkdir(exist_ok=True)
            for name, text in self._files(volumes[mount["name"]]):
                (folder / name).write_text(text, encoding="utf-8")
            for path in (folder, *folder.iterdir()):
                os.chown(path, user, user)
            yield str(folder), mount["mountPath"], "ro" if mount.get("readOnly") else "rw"

    def _files(self, volume: Manifest) -> Iterator[tuple[str, str]]:
        """The files of a volume by name."""
        if "configMap" in volume:
            yield from self._data(volume["configMap"]["name"]).items()
        for source in volume.get("projected", {}).get("sources", []):
            if "serviceAccountToken" in source:
                yield source["serviceAccountToken"]["path"], self._token(source)
            elif "configMap" in source:
                data = self._data(source["configMap"]["name"])
                yield from (
                    (item["path"], data[item["key"]]) for item in source["configMap"]["items"]
                )
            else:
                (item,) = source["downwardAPI"]["items"]
                assert item["fieldRef"]["fieldPath"] == "metadata.namespace"
                yield item["path"], self._namespace
        assert {*volume} & {"configMap", "projected", "emptyDir"}, volume

    def _token(self, source: Manifest) -> str:
        account = self._spec["serviceAccountName"]
        path = f"/api/v1/namespaces/{self._namespace}/serviceaccounts/{account}/token"
        seconds = source["serviceAccountToken"]["expirationSeconds"]
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": seconds},
        }
        return str(self._api.request("POST", path, body)["status"]["token"])

    def _data(self, config_map: str) -> dict[str, Any]:
        made: dict[str, Any] = self._api.read("v1", "ConfigMap", config_map, self._namespace)[
            "data"
        ]
        return made
