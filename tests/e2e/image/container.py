"""The one container of a pod, started by a container runtime from the image, as kubelet would.

Two things are not as in a cluster: the container is in the network of this machine, so that it
reaches the servers of the suite on loopback, and its ports are replaced by free ones.
"""

import json
import platform
import re
import subprocess
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rescheduler.kube.quantity import units
from tests.e2e.controlplane.api import Api, Manifest
from tests.e2e.controlplane.processes import free_ports
from tests.e2e.image.archive import ImageArchive
from tests.e2e.image.volumes import PodVolumes, field_of

Json = dict[str, Any]
SECCOMP = Path("/usr/share/containers/seccomp.json")
_NETWORK = ("/etc/hosts", "/etc/resolv.conf")
_PORT = re.compile(r":(\d+)$")


@dataclass(frozen=True)
class UnpackedImage:
    """The image's file system on this machine, and how it is run."""

    archive: ImageArchive
    root: Path

    def command(self, arguments: list[str] | None) -> list[str]:
        """Its entry point with these arguments, or with its own."""
        config = self.archive.config
        return [*config["Entrypoint"], *(config["Cmd"] if arguments is None else arguments)]


@dataclass
class PodContainer:
    """What a pod says about its container, and the process that runs so."""

    api: Api
    pod: Manifest
    image: UnpackedImage
    folder: Path
    ports: dict[int, int] = field(default_factory=dict)
    """The pod's ports to those on this machine."""

    def __post_init__(self) -> None:
        (self.described,) = self.pod["spec"]["containers"]
        numbers = [port["containerPort"] for port in self.described.get("ports", ())]
        free = dict(zip(numbers, free_ports(len(numbers)), strict=True))
        self.ports = {**free, **self.ports}
        self.log = self.folder / "log"

    def run(self, timeout: float = 180) -> tuple[int, str]:
        """Run to the end: its exit code, and what it printed."""
        process = self.start()
        try:
            code = process.wait(timeout)
        finally:
            process.terminate()
        return code, self.log.read_text(encoding="utf-8")

    def start(self, command: list[str] | None = None) -> subprocess.Popen[bytes]:
        """Start it, or another command in its place; SIGTERM ends it."""
        self.folder.mkdir(parents=True)
        arguments = [self._outside(text) for text in self.described.get("args", ())]
        specification = self._specification(command or self.image.command(arguments or None))
        (self.folder / "config.json").write_text(json.dumps(specification), encoding="utf-8")
        name = f"rescheduler-{uuid.uuid4().hex}"
        with self.log.open("wb") as sink:
            return subprocess.Popen(
                ["runc", "run", "--bundle", str(self.folder), name],
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
            )

    def _outside(self, text: str) -> str:
        """An address whose port is one of the pod's, with the one that stands for it."""
        return _PORT.sub(lambda port: f":{self.ports.get(int(port[1]), port[1])}", text)

    def environment(self) -> dict[str, str]:
        """The image's variables, those of Services, and the pod's own."""
        server = urlsplit(self.api.server)
        variables = dict(entry.split("=", 1) for entry in self.image.archive.config["Env"])
        variables |= {
            "KUBERNETES_SERVICE_HOST": str(server.hostname),
            "KUBERNETES_SERVICE_PORT": str(server.port),
        }
        namespace = self.pod["metadata"]["namespace"]
        for source in self.described.get("envFrom", ()):
            name = source["configMapRef"]["name"]
            variables |= self.api.read("v1", "ConfigMap", name, namespace).get("data", {})
        for entry in self.described.get("env", ()):
            if "valueFrom" in entry:
                value = field_of(self.pod, entry["valueFrom"]["fieldRef"]["fieldPath"])
            else:
                value = entry["value"]
            variables[entry["name"]] = value
        return {name: self._outside(value) for name, value in variables.items()}

    def _specification(self, command: list[str]) -> Json:
        user, own = self.pod["spec"]["securityContext"], self.described["securityContext"]
        assert own["capabilities"] == {"drop": ["ALL"]}
        assert user["seccompProfile"] == {"type": "RuntimeDefault"}
        groups = [user["fsGroup"]] if "fsGroup" in user else []
        volumes = PodVolumes(self.api, self.pod, self.folder / "volumes")
        network = [
            {"destination": path, "type": "bind", "source": path, "options": ["bind", "ro"]}
            for path in _NETWORK
        ]
        memory = units(self.described["resources"]["limits"]["memory"])
        return {
            "ociVersion": "1.0.2",
            "process": {
                "args": command,
                "cwd": self.image.archive.config["WorkingDir"],
                "env": [f"{name}={value}" for name, value in self.environment().items()],
                "user": {
                    "uid": user["runAsUser"],
                    "gid": user["runAsGroup"],
                    "additionalGids": groups,
                },
                "capabilities": {},
                "noNewPrivileges": not own["allowPrivilegeEscalation"],
            },
            "root": {
                "path": str(self.image.root),
                "readonly": own["readOnlyRootFilesystem"],
            },
            "mounts": [*_SYSTEM, *network, *volumes.mounts()],
            "linux": {
                "namespaces": [{"type": kind} for kind in ("pid", "ipc", "uts", "mount")],
                "resources": {"memory": {"limit": memory}},
                "maskedPaths": ["/proc/kcore", "/proc/keys", "/proc/timer_list", "/sys/firmware"],
                "readonlyPaths": ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys"],
                "seccomp": seccomp_profile(),
            },
        }


_SYSTEM: list[Json] = [
    {"destination": "/proc", "type": "proc", "source": "proc"},
    {
        "destination": "/dev",
        "type": "tmpfs",
        "source": "tmpfs",
        "options": ["nosuid", "mode=755", "size=65536k"],
    },
    {
        "destination": "/dev/shm",
        "type": "tmpfs",
        "source": "shm",
        "options": ["nosuid", "noexec", "nodev", "mode=1777", "size=65536k"],
    },
    {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": ["nosuid", "ro"]},
]


def seccomp_profile() -> Json:
    """What container runtimes use as RuntimeDefault, of a process without capabilities."""
    profile = json.loads(SECCOMP.read_text(encoding="utf-8"))
    machine = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
    rules = [
        {key: rule[key] for key in ("names", "action", "args", "errnoRet") if rule.get(key)}
        for rule in profile["syscalls"]
        if "caps" not in rule["includes"] and machine in rule["includes"].get("arches", [machine])
    ]
    return {
        "defaultAction": profile["defaultAction"],
        "defaultErrnoRet": profile["defaultErrnoRet"],
        "architectures": [f"SCMP_ARCH_{platform.machine().upper()}"],
        "syscalls": rules,
    }
