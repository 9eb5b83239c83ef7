"""The versions of the programs under test, in one place."""

from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Program:
    """One Go module of this folder, and the binaries that are built from it.

    The module may have sources of its own beside its go.mod.

    binaries: binary name -> Go package.
    stamps: `-X` variables that set the binary's version; kube-apiserver without them answers
    `/version` with v0.0.0 and clients misbehave.
    """

    module: str
    version: str
    binaries: dict[str, str]
    stamps: dict[str, str]
    tags: tuple[str, ...] = ()
    """Build tags."""

    @property
    def folder(self) -> Path:
        """Where the module's go.mod and go.sum lie."""
        return HERE / self.module


def kubernetes(version: str, module: str = "kubernetes") -> Program:
    """The three Kubernetes programs of `version` (as 1.36.3); a second minor has its own module."""
    major, minor, _ = version.split(".")
    stamp = "k8s.io/component-base/version"
    names = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
    return Program(
        module=module,
        version=version,
        binaries={name: f"k8s.io/kubernetes/cmd/{name}" for name in names},
        stamps={
            f"{stamp}.gitVersion": f"v{version}",
            f"{stamp}.gitMajor": major,
            f"{stamp}.gitMinor": minor,
        },
    )


KUBERNETES = kubernetes("1.36.3")
ETCD = Program("etcd", "3.6.8", {"etcd": "go.etcd.io/etcd/server/v3"}, {})
# What kubelet's own managers say of a pod; see its main.go.
KUBELET = Program("kubelet", "1.36.3", {"kubelet-admission": "rescheduler.test/kubelet"}, {})
KWOK = Program("kwok", "0.8.0", {"kwok": "sigs.k8s.io/kwok/cmd/kwok"}, {})

# Without the discovery of clouds, which is two thirds of the build.
PROMETHEUS = Program(
    "prometheus",
    "0.314.0",
    {"prometheus": "github.com/prometheus/prometheus/cmd/prometheus"},
    {},
    ("remove_all_sd",),
)
# Its memory of labels is that of the tag; without it the sidecar panics (.promu.yml).
THANOS = Program(
    "thanos",
    "0.42.3",
    {"thanos": "github.com/thanos-io/thanos/cmd/thanos"},
    {},
    ("slicelabels",),
)

# The longest build first, so that a cold build ends soonest.
PROGRAMS = (KUBERNETES, KUBELET, ETCD, KWOK, PROMETHEUS, THANOS)
