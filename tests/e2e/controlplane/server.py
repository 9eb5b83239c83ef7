"""A whole control plane on loopback: start, readiness, stop."""

import base64
import json
import secrets
import shutil
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.controlplane import kubeconfig, programs
from tests.e2e.controlplane.api import Api, ApiError
from tests.e2e.controlplane.audit import Audit
from tests.e2e.controlplane.build import binaries
from tests.e2e.controlplane.processes import Process, StartError, free_ports
from tests.e2e.controlplane.programs import Layout, Ports
from tests.e2e.controlplane.versions import Program

# user -> group. What the audit log says of each is the user's name.
_USERS = {
    "admin": "system:masters",
    "exporter": "system:masters",
    "kwok": "system:masters",
    "system:kube-controller-manager": "",
    "system:kube-scheduler": "",
}
# The first key behind all events: `0` follows `/`.
_AFTER = b"/registry/events0"
_PORTS = len(Ports.__dataclass_fields__)
_ANOTHER = "kube-apiserver-2"


class ControlPlane:
    """etcd, kube-apiserver, kube-controller-manager, kube-scheduler and KWOK.

    api: connects as `admin` (system:masters). audit: who wrote what. url: the API server.
    scheduler_url: kube-scheduler's own port, for /configz and /metrics.
    """

    def __init__(
        self,
        folder: Path,
        scheduler_options: Sequence[str] | Callable[[Layout], Sequence[str]] = (),
        stages: Path = programs.STAGES,
        *,
        audited: bool = True,
        server_options: Sequence[str] = (),
        features: programs.Features = programs.USUAL,
        scheduler: Program | None = None,
    ) -> None:
        """Start all of it below `folder`, and come back when it is ready (about 5 s).

        scheduler_options: more options of kube-scheduler, or what makes them once it is known
        where the files lie. stages: what KWOK plays. audited: whether there is an audit log.
        server_options: more options of kube-apiserver.
        features: what is on that is off by default.
        scheduler: a kube-scheduler of another version than that of the others.
        """
        self.folder = folder
        self._scheduler_options = scheduler_options
        self._stages = stages
        self._audited = audited
        self._server_options = server_options
        self._features = features
        built = binaries() | (binaries([scheduler]) if scheduler else {})
        try:
            self._start(folder / "first", built)
        except StartError:
            # A port may have been taken in between: once more, with others.
            self.stop()
            try:
                self._start(folder / "second", built)
            except StartError:
                self.stop()
                raise

    def _start(self, root: Path, built: dict[str, Path]) -> None:
        self._processes: list[Process] = []
        self.layout = Layout(root)
        self.layout.logs.mkdir(parents=True)
        ports = Ports(*free_ports(_PORTS))
        self.url = f"https://127.0.0.1:{ports.api_server}"
        self._tokens = {user: secrets.token_hex(16) for user in _USERS}
        self._write_credentials()
        self._run_etcd(built, ports)
        self._run_api_server(built, ports)
        self.scheduler_url = f"https://127.0.0.1:{ports.scheduler}"
        given = self._scheduler_options
        commands = {
            "kube-controller-manager": [
                *programs.controller_manager(built["kube-controller-manager"], self.layout, ports),
                *self._features.gated(),
            ],
            "kube-scheduler": [
                *programs.scheduler(built["kube-scheduler"], self.layout, ports),
                *self._features.gated(),
                *(given(self.layout) if callable(given) else given),
            ],
            "kwok": programs.kwok(built["kwok"], self.layout, ports, self._stages),
        }
        started = {name: self._run(name, command) for name, command in commands.items()}
        self._scheduler = started["kube-scheduler"]
        self._scheduler.wait_until(_answers(f"{self.scheduler_url}/readyz"), 30)
        started["kwok"].wait_until(_answers(f"http://127.0.0.1:{ports.kwok}/healthz"), 30)
        # Pods are refused until the controller manager has made the namespace's ServiceAccount.
        started["kube-controller-manager"].wait_until(
            lambda: self.has_service_account("default"), 30
        )

    def _run(self, name: str, command: list[str]) -> Process:
        process = Process(name, command, self.layout.logs)
        self._processes.append(process)
        return process

    def _run_etcd(self, built: dict[str, Path], ports: Ports) -> None:
        self._etcd = f"http://127.0.0.1:{ports.etcd}"
        process = self._run("etcd", programs.etcd(built["etcd"], self.layout, ports))
        process.wait_until(_answers(f"{self._etcd}/health"), 20)

    def _run_api_server(self, built: dict[str, Path], ports: Ports) -> None:
        command = [
            *programs.api_server(
                built["kube-apiserver"], self.layout, ports, audited=self._audited
            ),
            *self._features.served(),
            *self._server_options,
        ]
        process = self._api_server = self._run("kube-apiserver", command)
        self._server_command = command
        process.wait_until(self.layout.authority.exists, 20)
        for user, token in self._tokens.items():
            path = self.layout.kubeconfig(user.replace(":", "-"))
            kubeconfig.write(path, user, token, self.url, self.layout.authority)
        process.wait_until(_answers(f"{self.url}/readyz", self._tokens["admin"]), 40)
        self.api = Api(self.url, self._tokens["admin"], self.layout.authority)
        self.audit = Audit(self.layout.audit, self.api)

    def restart_api_server(self) -> None:
        """Kill kube-apiserver, and start it again on the same port."""
        self._api_server.kill()
        self._api_server.stop()
        self._processes.remove(self._api_server)
        self._api_server = self._run("kube-apiserver", self._server_command)
        self._api_server.wait_until(_answers(f"{self.url}/readyz", self._tokens["admin"]), 60)

    def another_api_server(self, *options: str) -> Api:
        """A second kube-apiserver on the same etcd, as `admin`; it ends with the others, or before.

        options: more of them; one that the first has too stands in its place.
        """
        (port,) = free_ports(1)
        given = [f"--secure-port={port}", *options]
        named = {option.partition("=")[0] for option in given}
        kept = [option for option in self._server_command if option.partition("=")[0] not in named]
        process = self._run(_ANOTHER, [*kept, *given])
        url, token = f"https://127.0.0.1:{port}", self._tokens["admin"]
        process.wait_until(_answers(f"{url}/readyz", token), 60)
        return Api(url, token, self.layout.authority)

    def stop_other_api_servers(self) -> None:
        """End those that `another_api_server` has started."""
        for process in [process for process in self._processes if process.name == _ANOTHER]:
            process.stop()
            self._processes.remove(process)

    def _write_credentials(self) -> None:
        openssl = shutil.which("openssl")
        if openssl is None:
            raise StartError("There is no `openssl` on PATH.\nMaybe install the package openssl.")
        subprocess.run(
            [openssl, "genrsa", "-out", str(self.layout.signing_key), "2048"],
            check=True,
            capture_output=True,
        )
        rows = [f'{self._tokens[user]},{user},{user},"{group}"' for user, group in _USERS.items()]
        self.layout.tokens.write_text("\n".join(rows) + "\n")

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig of `admin`."""
        return self.layout.kubeconfig("admin")

    @property
    def exporter_kubeconfig(self) -> Path:
        """The kubeconfig of `exporter`: its reads are distinct from others' in the audit log."""
        return self.layout.kubeconfig("exporter")

    @property
    def logs(self) -> Path:
        """The folder of all logs."""
        return self.layout.logs

    def kubeconfig_for(self, namespace: str, service_account: str) -> Path:
        """A kubeconfig of this ServiceAccount, with its RBAC and no more."""
        return kubeconfig.for_service_account(
            self.api, namespace, service_account, self.layout.root
        )

    def has_service_account(self, namespace: str) -> bool:
        """Whether the namespace's ServiceAccount `default` is there, so that pods are admitted."""
        try:
            self.api.read("v1", "ServiceAccount", "default", namespace)
        except ApiError as error:
            if error.code != 404:
                raise
            return False
        return True

    def forget_events(self) -> None:
        """Remove every Event of every namespace straight from etcd.

        A test leaves thousands, the API server takes milliseconds for each, and nobody caches
        them, so nobody misses them.
        """
        start, end = (base64.b64encode(key).decode() for key in (b"/registry/events/", _AFTER))
        body = json.dumps({"key": start, "range_end": end}).encode()
        request = urllib.request.Request(f"{self._etcd}/v3/kv/deleterange", data=body)
        with urllib.request.urlopen(request, timeout=10) as answer:
            answer.read()

    @contextmanager
    def scheduler_paused(self) -> Iterator[None]:
        """Hold kube-scheduler still, so that a builder can bind pods where a test wants them."""
        with self._scheduler.held():
            yield

    def stop(self) -> None:
        """Stop every program by its pid; clients first, so that their logs end quietly."""
        if hasattr(self, "api"):
            self.api.close()
        for process in reversed(self._processes):
            process.terminate()
        for process in reversed(self._processes):
            process.stop()


def _answers(url: str, token: str = "") -> Callable[[], bool]:
    """A probe: does `url` answer 200? Certificates of health ports are each program's own."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    headers = {"Authorization": f"Bearer {token}"} if token else {}

    def probe() -> bool:
        request = urllib.request.Request(url, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=2, context=context) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    return probe
