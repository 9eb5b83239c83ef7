"""The versions of the programs under test, in one place."""

import os
from dataclasses import dataclass, replace
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


def kubernetes(version: str) -> Program:
    """The three Kubernetes programs of `version` (as 1.36.3); each minor version has its module."""
    major, minor, _ = version.split(".")
    stamp = "k8s.io/component-base/version"
    names = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
    return Program(
        module=f"kubernetes-{major}.{minor}",
        version=version,
        binaries={name: f"k8s.io/kubernetes/cmd/{name}" for name in names},
        stamps={
            f"{stamp}.gitVersion": f"v{version}",
            f"{stamp}.gitMajor": major,
            f"{stamp}.gitMinor": minor,
        },
    )


def only_scheduler(version: str) -> Program:
    """kube-scheduler of that version alone, for one before an API server of another."""
    whole = kubernetes(version)
    name = "kube-scheduler"
    return replace(whole, binaries={name: whole.binaries[name]})


RELEASES = ("1.34.4", "1.35.4", "1.36.3", "1.37.2")
"""Kubernetes' releases that can be built: `make e2e-versions` runs a control plane of each."""

KUBERNETES = kubernetes(os.environ.get("RESCHEDULER_E2E_KUBERNETES") or "1.37.2")
"""Of the control planes of this run."""
OLDER_SCHEDULER = only_scheduler("1.36.3")
"""The kube-scheduler that also stands before the API server of the version after it."""
MINOR = int(KUBERNETES.version.split(".")[1])
ETCD = Program("etcd", "3.6.8", {"etcd": "go.etcd.io/etcd/server/v3"}, {})
# What kubelet's own managers say of a pod; see its main.go.
KUBELET = Program("kubelet", "1.36.3", {"kubelet-admission": "rescheduler.test/kubelet"}, {})
KWOK = Program("kwok", "0.8.0", {"kwok": "sigs.k8s.io/kwok/cmd/kwok"}, {})
# The one installs the chart; the other has the kustomize that builds the overlays.
HELM = Program(
    "helm",
    "4.3.2",
    {"helm": "helm.sh/helm/v4/cmd/helm", "kubectl": "rescheduler.test/helm/kubectl"},
    {},
)

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

# Exporters as operators run them.
NODE_EXPORTER = Program(
    "node-exporter", "1.12.1", {"node_exporter": "github.com/prometheus/node_exporter"}, {}
)
KUBE_STATE_METRICS = Program(
    "kube-state-metrics", "2.18.0", {"kube-state-metrics": "k8s.io/kube-state-metrics/v2"}, {}
)
# Reads dashboards as strictly as Grafana's types are; see its main.go.
GRAFANA_SCHEMA = Program(
    "grafana-schema", "0.0.22", {"grafana-schema": "rescheduler.test/grafana-schema"}, {}
)
_VICTORIA_METRICS = "github.com/VictoriaMetrics/VictoriaMetrics/app"
VICTORIA_METRICS_SINGLE = Program(
    "victoriametrics-single",
    "1.122.0",
    {"victoria-metrics": f"{_VICTORIA_METRICS}/victoria-metrics"},
    {},
)
# Programs of their own where a single node is one: so a store can be lost.
VICTORIA_METRICS = Program(
    "victoriametrics",
    "1.100.0-cluster",
    {name: f"{_VICTORIA_METRICS}/{name}" for name in ("vmstorage", "vminsert", "vmselect")},
    {},
)
MIMIR = Program(
    "mimir",
    "1.3.1-0.20260423142704-aced80d74930",
    {"mimir": "github.com/grafana/mimir/cmd/mimir"},
    {},
)

# For `make e2e-kueue` alone; JobSet in the version that this Kueue is built with.
KUEUE = Program("kueue", "0.14.0", {"kueue": "sigs.k8s.io/kueue/cmd/kueue"}, {})
JOBSET = Program("jobset", "0.10.1", {"jobset": "sigs.k8s.io/jobset"}, {})

# For `make release-dry-run` alone.
KREW = Program("krew", "0.4.3", {"krew": "sigs.k8s.io/krew/cmd/krew"}, {})
ACTIONLINT = Program(
    "actionlint", "1.7.12", {"actionlint": "github.com/rhysd/actionlint/cmd/actionlint"}, {}
)

# The longest build first, so that a cold build ends soonest.
PROGRAMS = (
    KUBERNETES,
    KUBELET,
    ETCD,
    KWOK,
    HELM,
    PROMETHEUS,
    THANOS,
    NODE_EXPORTER,
    KUBE_STATE_METRICS,
    GRAFANA_SCHEMA,
)
# For `make e2e-backends` alone.
BACKENDS = (MIMIR, VICTORIA_METRICS, VICTORIA_METRICS_SINGLE)
