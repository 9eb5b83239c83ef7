"""An installation by Helm on a test cluster, and the program as its Deployment would run it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.builders.cluster import Cluster
from tests.e2e.controlplane.api import Api, Manifest
from tests.e2e.installers import CHART, RELEASE, answer_of, objects_in
from tests.e2e.loop import NAMESPACE
from tests.e2e.program import Program

KEPT = {
    ("Namespace", "rescheduler"),
    ("ConfigMap", "rescheduler-state"),
    ("ConfigMap", "rescheduler-steering"),
    ("PersistentVolumeClaim", "rescheduler-trail"),
    ("MutatingAdmissionPolicy", "rescheduler-steering"),
    ("MutatingAdmissionPolicyBinding", "rescheduler-steering"),
    # The program makes it, and notes there what the state was.
    ("Lease", "rescheduler"),
}
"""All that may be there after an uninstallation."""


@dataclass
class Installation:
    """A release of the chart in the cluster, and what was rendered for it so far."""

    cluster: Cluster
    folder: Path
    rendered: list[Manifest] = field(default_factory=list)

    def helm(self, *arguments: str | Path) -> str:
        kubeconfig = self.cluster.control_plane.kubeconfig
        command = [*arguments, "--namespace", NAMESPACE]
        said = answer_of("helm", *command, kubeconfig=kubeconfig)
        if arguments[0] != "uninstall":
            get = ("get", "manifest", RELEASE, "--namespace", NAMESPACE)
            self.rendered += objects_in(answer_of("helm", *get, kubeconfig=kubeconfig))
        return said

    def install(self, **values: Any) -> str:
        """The one command; values are written into a file, as an operator has one."""
        return self.helm("install", RELEASE, CHART, "--create-namespace", *self._file(values))

    def switch(self, mode: str) -> str:
        """Change the mode and nothing else."""
        return self.helm(
            "upgrade", RELEASE, CHART, "--reset-then-reuse-values", "--set", f"mode={mode}"
        )

    def rollback(self, revision: int) -> str:
        return self.helm("rollback", RELEASE, str(revision))

    def uninstall(self) -> str:
        return self.helm("uninstall", RELEASE)

    def _file(self, values: dict[str, Any]) -> list[str | Path]:
        if not values:
            return []
        file = self.folder / "values.yaml"
        file.write_text(yaml.safe_dump(values), encoding="utf-8")
        return ["--values", file]

    def present(self) -> set[tuple[str, str]]:
        """Objects of all kinds that were ever rendered which have a name of ours."""
        kinds = {(manifest["apiVersion"], manifest["kind"]) for manifest in self.rendered}
        kinds |= {("coordination.k8s.io/v1", "Lease"), ("v1", "Secret"), ("v1", "Namespace")}
        return {
            (kind, item["metadata"]["name"])
            for version, kind in kinds
            for item in self.cluster.api.items(version, kind)
            if "rescheduler" in item["metadata"]["name"]
        }


def deployed_program(
    cluster: Cluster, binary: Path, prometheus: str | None, folder: Path, **environment: str
) -> tuple[Program, list[str]]:
    """The program with account, settings, policies and arguments of the Deployment in the cluster.

    The addresses are those of this machine, as the pod does not run here.
    """
    deployment = cluster.api.read("apps/v1", "Deployment", "rescheduler", NAMESPACE)
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    settings = cluster.api.read("v1", "ConfigMap", "rescheduler-settings", NAMESPACE)["data"]
    files = cluster.api.read("v1", "ConfigMap", "rescheduler-policies", NAMESPACE)["data"]
    policies = folder / "mounted-policies"
    policies.mkdir(exist_ok=True)
    for name, text in files.items():
        (policies / name).write_text(text, encoding="utf-8")
    literals = {entry["name"]: entry["value"] for entry in container["env"] if "value" in entry}
    own = {"RESCHEDULER_POLICIES": str(policies), "RESCHEDULER_LISTEN": "127.0.0.1:0"}
    kubeconfig = cluster.control_plane.kubeconfig_for(NAMESPACE, pod["serviceAccountName"])
    everything = {**settings, **literals, **own, **environment}
    return Program(binary, kubeconfig, prometheus, everything), container["args"]


def may_evict(api: Api, account: str, namespace: str = "default") -> bool:
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": f"system:serviceaccount:{NAMESPACE}:{account}",
            "resourceAttributes": {
                "verb": "create",
                "resource": "pods",
                "subresource": "eviction",
                "namespace": namespace,
            },
        },
    }
    answer = api.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    return bool(answer["status"]["allowed"])


def account_of(api: Api) -> str:
    running = api.read("apps/v1", "Deployment", "rescheduler", NAMESPACE)
    return str(running["spec"]["template"]["spec"]["serviceAccountName"])
