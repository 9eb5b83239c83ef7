"""Kubernetes objects as JSON text, as long and as talkative as real ones."""

import json
from dataclasses import dataclass
from typing import Any

CREATED = "2026-11-20T08:00:00Z"


@dataclass(frozen=True, slots=True)
class Template:
    """What the pods of one workload have in common.

    cpu: millicores; memory: MiB; gpus: whole ones.
    """

    number: int
    kind: str
    replicas: int
    cpu: int
    memory: int
    gpus: int = 0

    @property
    def name(self) -> str:
        return f"{self.kind.lower()}-{self.number}"

    @property
    def namespace(self) -> str:
        return "kube-system" if self.kind == "DaemonSet" else f"team-{self.number % 100}"

    @property
    def owner(self) -> tuple[str, str]:
        """Kind and name of the controller that makes the pods."""
        return (
            ("ReplicaSet", f"{self.name}-7d4b9c6f5d")
            if self.kind == "Deployment"
            else (
                self.kind,
                self.name,
            )
        )

    def labels(self) -> dict[str, str]:
        return {
            "app.kubernetes.io/name": self.name,
            "app.kubernetes.io/part-of": f"product-{self.number % 40}",
            "pod-template-hash": "7d4b9c6f5d",
            "team": f"team-{self.number % 100}",
        }


def reference(kind: str, name: str) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "name": name,
        "uid": uid(kind, name),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def uid(kind: str, name: str) -> str:
    return f"{kind.lower()}-uid-{name}"


def pod_text(template: Template) -> str:
    """A pod with @NAME@, @NODE@ and @N@ (twelve digits) to be replaced. About 4 KB."""
    resources: dict[str, Any] = {"cpu": f"{template.cpu}m", "memory": f"{template.memory}Mi"}
    if template.gpus:
        resources["nvidia.com/gpu"] = str(template.gpus)
    mount = {
        "name": "kube-api-access-@N@",
        "readOnly": True,
        "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
    }
    main = {
        "name": "main",
        "image": f"registry.example/{template.name}:v{template.number % 9}",
        "args": ["--listen=:8080", "--workers=4", f"--config=/etc/{template.name}/config.yaml"],
        "env": [{"name": f"SETTING_{n}", "value": f"value-{n}-of-the-setting"} for n in range(12)],
        "ports": [{"containerPort": 8080, "protocol": "TCP", "name": "http"}],
        "resources": {"requests": resources, "limits": resources},
        "volumeMounts": [{"name": "config", "mountPath": "/etc/config"}, mount],
        "livenessProbe": {"httpGet": {"path": "/live", "port": 8080}, "periodSeconds": 10},
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}, "periodSeconds": 5},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }
    sidecar = {
        "name": "proxy",
        "image": "registry.example/proxy:2",
        "resources": {"requests": {"cpu": "20m", "memory": "64Mi"}},
        "volumeMounts": [mount],
    }
    spread = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app.kubernetes.io/name": template.name}},
    }
    spec: dict[str, Any] = {
        "volumes": [
            {"name": "config", "configMap": {"name": template.name, "defaultMode": 420}},
            {"name": "kube-api-access-@N@", "projected": {"sources": [{"serviceAccountToken": {
                "expirationSeconds": 3607, "path": "token"}}], "defaultMode": 420}},
        ],
        "containers": [main, sidecar],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": template.name,
        "nodeName": "@NODE@",
        "schedulerName": "default-scheduler",
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
        "enableServiceLinks": True,
        "tolerations": [
            {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute",
             "tolerationSeconds": 300}
            for what in ("not-ready", "unreachable")
        ],
    }  # fmt: skip
    if template.number % 4 == 0 and template.kind == "Deployment":
        spec["topologySpreadConstraints"] = [spread]
    return json.dumps(
        {
            "metadata": {
                "name": "@NAME@",
                "generateName": f"{template.owner[1]}-",
                "namespace": template.namespace,
                "uid": "00000000-0000-4000-8000-@N@",
                "resourceVersion": "@N@",
                "creationTimestamp": CREATED,
                "labels": template.labels(),
                "annotations": {
                    "prometheus.io/scrape": "true",
                    "checksum/config": "3f786850e387550fdab836ed7e6dc881de23001b" * 2,
                },
                "ownerReferences": [reference(*template.owner)],
                "managedFields": [_managed()],
            },
            "spec": spec,
            "status": _status(),
        },
        separators=(",", ":"),
    )


def _managed() -> dict[str, Any]:
    """The bookkeeping of server-side apply that every object carries."""
    fields: dict[str, Any] = {f"f:field{n}": {"f:nested": {}} for n in range(20)}
    return {"manager": "kubelet", "operation": "Update", "time": CREATED, "fieldsV1": fields}


def _status() -> dict[str, Any]:
    types = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    return {
        "phase": "Running",
        "conditions": [
            {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": CREATED}
            for kind in types
        ],
        "hostIP": "10.0.0.1",
        "podIP": "10.1.0.1",
        "startTime": CREATED,
        "containerStatuses": [
            {
                "name": name,
                "state": {"running": {"startedAt": CREATED}},
                "ready": True,
                "restartCount": 0,
                "image": "registry.example/image:1",
                "imageID": "registry.example/image@sha256:" + "ab" * 32,
                "containerID": "containerd://" + "cd" * 26 + "@N@",
                "started": True,
            }
            for name in ("main", "proxy")
        ],
        "qosClass": "Burstable",
    }
