"""The command line of each program of the control plane, and nothing else."""

from dataclasses import dataclass
from pathlib import Path

from tests.e2e.controlplane.versions import MINOR

HERE = Path(__file__).parent
STAGES = HERE / "stages.yaml"
# Clients of the API server that must not be slowed by their own rate limits.
_QUICK = ["--kube-api-qps=2000", "--kube-api-burst=4000"]


@dataclass(frozen=True)
class Ports:
    """The loopback ports of one control plane."""

    etcd: int
    etcd_peer: int
    api_server: int
    scheduler: int
    controllers: int
    kwok: int


@dataclass(frozen=True)
class Layout:
    """Where one control plane keeps its files: all below `root`."""

    root: Path

    @property
    def logs(self) -> Path:
        """Every program's output, and the audit log."""
        return self.root / "logs"

    @property
    def audit(self) -> Path:
        """The API server's audit log, one JSON record a line."""
        return self.logs / "audit.log"

    @property
    def authority(self) -> Path:
        """What clients check the API server's certificate by."""
        return self.root / "certificates" / "apiserver.crt"

    @property
    def signing_key(self) -> Path:
        """The private key of ServiceAccount tokens."""
        return self.root / "service-account.key"

    @property
    def tokens(self) -> Path:
        """The static token file."""
        return self.root / "tokens.csv"

    def kubeconfig(self, user: str) -> Path:
        """The kubeconfig of one user."""
        return self.root / f"{user}.kubeconfig"


@dataclass(frozen=True)
class Features:
    """What is on that is off by default. gates: as in `A=true,B=true`. versions: of APIs."""

    gates: str = ""
    versions: str = ""

    def gated(self) -> list[str]:
        """The options of every program of Kubernetes."""
        return [f"--feature-gates={self.gates}"] if self.gates else []

    def served(self) -> list[str]:
        """The options of the API server."""
        return [*self.gated(), *([f"--runtime-config={self.versions}"] if self.versions else [])]


USUAL = (
    Features()
    if MINOR >= 36
    else Features("MutatingAdmissionPolicy=true", "admissionregistration.k8s.io/v1beta1=true")
)
"""With the admission policies that steer, which are on by default from 1.36."""


def etcd(binary: Path, layout: Layout, ports: Ports) -> list[str]:
    """One member, without fsync: its data need not outlive the test run."""
    client, peer = (f"http://127.0.0.1:{port}" for port in (ports.etcd, ports.etcd_peer))
    return [
        str(binary),
        f"--data-dir={layout.root / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
        f"--quota-backend-bytes={8 << 30}",
        "--log-level=warn",
    ]


def api_server(binary: Path, layout: Layout, ports: Ports, *, audited: bool = True) -> list[str]:
    """RBAC, static tokens, default admission, and the audit log written before the answer ends.

    audited: without it there is no audit log, and a request costs a third less.
    """
    command = [
        str(binary),
        f"--etcd-servers=http://127.0.0.1:{ports.etcd}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        # No Service endpoints for the API server: a loopback address may not be one.
        "--endpoint-reconciler-type=none",
        f"--secure-port={ports.api_server}",
        f"--cert-dir={layout.authority.parent}",
        f"--token-auth-file={layout.tokens}",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-account-key-file={layout.signing_key}",
        f"--service-account-signing-key-file={layout.signing_key}",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--allow-privileged=true",
        f"--audit-policy-file={HERE / 'audit-policy.yaml'}",
        f"--audit-log-path={layout.audit}",
        "--audit-log-mode=blocking",
        # Megabytes before a rotation that the reader does not follow.
        "--audit-log-maxsize=100000",
        "--delete-collection-workers=16",
        "--max-requests-inflight=3000",
        "--max-mutating-requests-inflight=1500",
        "--profiling=false",
        "--v=1",
    ]
    return [option for option in command if audited or not option.startswith("--audit-")]


def controller_manager(binary: Path, layout: Layout, ports: Ports) -> list[str]:
    """Every controller that is on by default, each as its own ServiceAccount."""
    config = layout.kubeconfig("system-kube-controller-manager")
    return [
        str(binary),
        f"--kubeconfig={config}",
        f"--authentication-kubeconfig={config}",
        f"--authorization-kubeconfig={config}",
        "--bind-address=127.0.0.1",
        f"--secure-port={ports.controllers}",
        f"--service-account-private-key-file={layout.signing_key}",
        f"--root-ca-file={layout.authority}",
        # The controller manager makes this folder; its default lies in the system.
        f"--flex-volume-plugin-dir={layout.root / 'volumes'}",
        "--use-service-account-credentials=true",
        "--leader-elect=false",
        # KWOK may renew the lease of a node late that had the name of one that was just deleted.
        "--node-monitor-grace-period=300s",
        *_QUICK,
    ]


def scheduler(binary: Path, layout: Layout, ports: Ports) -> list[str]:
    """The default configuration; only the client's rate limit is raised."""
    config = layout.kubeconfig("system-kube-scheduler")
    return [
        str(binary),
        f"--kubeconfig={config}",
        f"--authentication-kubeconfig={config}",
        f"--authorization-kubeconfig={config}",
        "--bind-address=127.0.0.1",
        f"--secure-port={ports.scheduler}",
        "--leader-elect=false",
        *_QUICK,
    ]


def kwok(binary: Path, layout: Layout, ports: Ports, stages: Path = STAGES) -> list[str]:
    """All nodes are played, with leases so that the node lifecycle controller keeps them Ready.

    stages: what KWOK plays on nodes and pods, and when.
    """
    return [
        str(binary),
        f"--kubeconfig={layout.kubeconfig('kwok')}",
        f"--config={stages}",
        "--manage-all-nodes=true",
        "--node-lease-duration-seconds=40",
        "--cidr=10.200.0.0/16",
        "--node-ip=127.0.0.1",
        f"--server-address=127.0.0.1:{ports.kwok}",
    ]
