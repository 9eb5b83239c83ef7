"""Sets of values of the chart, and the kustomization that makes the same objects of each."""

import json
from dataclasses import dataclass, field
from typing import Any

URL = "http://prometheus-operated.monitoring.svc:9090"
SECRET, HEADERS = "prometheus-credentials", "X-Scope-OrgID=@/etc/rescheduler/metrics/tenant"
METRICS = "/etc/rescheduler/metrics"
DIGEST = "sha256:" + "0123456789abcdef" * 4
POLICY = "apiVersion: rescheduler.io/v1alpha1\nkind: Limits\nmetadata: {name: limits}\nspec: {}\n"
POD = {"Deployment": "/spec/template/spec", "CronJob": "/spec/jobTemplate/spec/template/spec"}

Json = dict[str, Any]


@dataclass(frozen=True)
class ValueSet:
    """Values, the overlay and components of the same, and further fields of the kustomization."""

    values: Json
    overlay: str
    components: tuple[str, ...] = ()
    more: Json = field(default_factory=dict)


def patch(kind: str, name: str, *operations: Json) -> Json:
    return {"target": {"kind": kind, "name": name}, "patch": _text(operations)}


def _text(operations: tuple[Json, ...]) -> str:
    # JSON is YAML, and what kustomize takes for a patch of JSON.
    return json.dumps(operations)


def added(path: str, value: Any) -> Json:
    return {"op": "add", "path": path, "value": value}


def settings(**data: str) -> Json:
    return patch(
        "ConfigMap",
        "rescheduler-settings",
        *(added(f"/data/RESCHEDULER_{name}", value) for name, value in data.items()),
    )


def audit(kind: str = "Deployment", **values: Any) -> Json:
    return {"kind": kind, **values}


def enforce(kind: str = "Deployment", **values: Any) -> Json:
    return {"kind": kind, "mode": "Enforce", "prometheus": {"url": URL}, **values}


ADDRESS = {"patches": [settings(PROMETHEUS_URL=URL)]}


def steering(**means: Any) -> Json:
    return {"steering": {"policy": "None", **means}}


def _mounted(kind: str, name: str, folder: str, source: Json) -> Json:
    return patch(
        kind,
        "rescheduler",
        added(f"{POD[kind]}/volumes/-", {"name": name, **source}),
        added(
            f"{POD[kind]}/containers/0/volumeMounts/-",
            {"name": name, "mountPath": folder, "readOnly": True},
        ),
    )


def _binding(namespace: str) -> Json:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "rescheduler-evictor", "namespace": namespace},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "rescheduler-evictor",
        },
        "subjects": [{"kind": "ServiceAccount", "name": "rescheduler", "namespace": "rescheduler"}],
    }


BINDINGS = [_binding("ml"), _binding("shop")]
"""What the command of the component evictions-by-namespace makes in two namespaces."""
ROLE_ARN = {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/metrics"}
ALL = (
    *("fence", "fence-opt-outs", "steering-policy", "steering-webhook", "steering-extender"),
    *("steering-taint", "kueue-restart", "scheduler-reading", "notifications", "metrics-elsewhere"),
    *("trail-volume", "cloud-identity", "remembering", "page-access"),
)
EVERYTHING: Json = {
    "fence": {"enabled": True, "optOuts": True},
    "steering": {"policy": "v1", "webhook": True, "extender": True, "taint": True},
    "kueueRestart": True,
    "remembering": True,
    "scheduler": {"read": True},
    "notifications": {"enabled": True},
    "networkPolicy": {"metricsElsewhere": True},
    "trail": {"enabled": True},
    "pageAccess": "Kubernetes",
    "cloudIdentity": {"enabled": True},
}
CREDENTIALS: Json = {
    "url": "https://mimir.example.com/prometheus",
    "secret": SECRET,
    "files": {"token": "token", "ca": "ca.crt", "clientCert": "tls.crt", "basicAuth": "user"},
    "headers": {"X-Scope-OrgID": "tenant"},
    "selector": 'cluster="eu-1"',
    "namespaces": ["monitoring", "mimir"],
}
CREDENTIALS_OF_A_SCRAPER = {"name": "scraper", "key": "token"}
MONITORS = (
    ("PodMonitor", "rescheduler"),
    ("PodMonitor", "rescheduler-servers"),
    ("PrometheusRule", "rescheduler"),
)
DOCTOR_ACTS = patch(
    "Job",
    "rescheduler-doctor",
    {"op": "replace", "path": "/spec/template/spec/serviceAccountName", "value": "rescheduler"},
    {"op": "replace", "path": "/spec/template/spec/containers/0/env/0/value", "value": "Enforce"},
)

SETS = {
    "as it comes": ValueSet(audit(), "audit-deployment"),
    "audit by a CronJob": ValueSet(audit("CronJob"), "audit-cronjob"),
    "another schedule": ValueSet(
        audit("CronJob", schedule="0 3 * * *", timeZone="Europe/Paris"),
        "audit-cronjob",
        more={
            "patches": [
                patch(
                    "CronJob",
                    "rescheduler",
                    added("/spec/schedule", "0 3 * * *"),
                    added("/spec/timeZone", "Europe/Paris"),
                )
            ]
        },
    ),
    "enforce": ValueSet(enforce(**steering()), "enforce-deployment", more=ADDRESS),
    "enforce by a CronJob": ValueSet(
        enforce("CronJob", **steering()), "enforce-cronjob", more=ADDRESS
    ),
    "admission policy": ValueSet(
        enforce(**steering(policy="v1")), "enforce-deployment", ("steering-policy",), ADDRESS
    ),
    "admission policy in beta": ValueSet(
        enforce(**steering(policy="v1beta1")),
        "enforce-deployment",
        ("steering-policy-v1beta1",),
        ADDRESS,
    ),
    "webhook": ValueSet(
        enforce(**steering(webhook=True)), "enforce-deployment", ("steering-webhook",), ADDRESS
    ),
    "extender": ValueSet(
        enforce(**steering(extender=True)), "enforce-deployment", ("steering-extender",), ADDRESS
    ),
    "taint": ValueSet(
        enforce("CronJob", **steering(taint=True)), "enforce-cronjob", ("steering-taint",), ADDRESS
    ),
    "fence": ValueSet(
        enforce(**steering(), fence={"enabled": True}), "enforce-deployment", ("fence",), ADDRESS
    ),
    "remembering in audit": ValueSet(audit(remembering=True), "audit-deployment", ("remembering",)),
    "doctor": ValueSet(audit(doctor=True), "audit-deployment", ("doctor",)),
    "doctor of the account that acts": ValueSet(
        enforce(**steering(), doctor=True),
        "enforce-deployment",
        ("doctor",),
        {"patches": [settings(PROMETHEUS_URL=URL), DOCTOR_ACTS]},
    ),
    "monitors, alerts and dashboards": ValueSet(
        audit(monitoring={"enabled": True}), "audit-deployment", ("monitoring",)
    ),
    "monitors by label of a page for those who may read it": ValueSet(
        audit(
            pageAccess="Kubernetes",
            monitoring={
                "enabled": True,
                "labels": {"release": "stack"},
                "authorization": {"credentials": CREDENTIALS_OF_A_SCRAPER},
            },
        ),
        "audit-deployment",
        ("page-access", "monitoring"),
        {
            "patches": [
                *(
                    patch(kind, name, added("/metadata/labels/release", "stack"))
                    for kind, name in MONITORS
                ),
                patch(
                    "PodMonitor",
                    "rescheduler",
                    added(
                        "/spec/podMetricsEndpoints/0/authorization",
                        {"credentials": CREDENTIALS_OF_A_SCRAPER},
                    ),
                ),
            ]
        },
    ),
    "no pod of what would act": ValueSet(
        enforce(**steering(), replicas=0),
        "enforce-deployment",
        more={
            "patches": [
                settings(PROMETHEUS_URL=URL),
                patch("Deployment", "rescheduler", added("/spec/replicas", 0)),
            ]
        },
    ),
    "a page for those who may read it": ValueSet(
        audit(pageAccess="Kubernetes"), "audit-deployment", ("page-access",)
    ),
    "notifications": ValueSet(
        audit(notifications={"enabled": True}), "audit-deployment", ("notifications",)
    ),
    "notifications of a CronJob": ValueSet(
        audit("CronJob", notifications={"enabled": True}), "audit-cronjob", ("notifications",)
    ),
    "trail": ValueSet(
        enforce(**steering(), trail={"enabled": True}),
        "enforce-deployment",
        ("trail-volume",),
        ADDRESS,
    ),
    "trail of a CronJob": ValueSet(
        audit("CronJob", trail={"enabled": True}), "audit-cronjob", ("trail-volume",)
    ),
    "metrics elsewhere": ValueSet(
        audit(networkPolicy={"metricsElsewhere": True}), "audit-deployment", ("metrics-elsewhere",)
    ),
    "identity of a cloud": ValueSet(
        audit(cloudIdentity={"enabled": True, "annotations": ROLE_ARN}, prometheus={"auth": "aws"}),
        "audit-deployment",
        ("cloud-identity",),
        {
            "patches": [
                settings(PROMETHEUS_AUTH="aws"),
                patch(
                    "ServiceAccount", "rescheduler-audit", added("/metadata/annotations", ROLE_ARN)
                ),
            ]
        },
    ),
    "rights by namespace": ValueSet(
        enforce(**steering(), evictions={"namespaces": ["ml", "shop"]}),
        "enforce-deployment",
        ("evictions-by-namespace",),
        {**ADDRESS, "resources": ["bindings.yaml"]},
    ),
    "Prometheus that asks who we are": ValueSet(
        audit("CronJob", prometheus=CREDENTIALS),
        "audit-cronjob",
        more={
            "patches": [
                settings(
                    PROMETHEUS_URL=CREDENTIALS["url"],
                    PROMETHEUS_TOKEN_FILE=f"{METRICS}/token",
                    PROMETHEUS_CA_FILE=f"{METRICS}/ca.crt",
                    PROMETHEUS_CLIENT_CERT_FILE=f"{METRICS}/tls.crt",
                    PROMETHEUS_BASIC_AUTH_FILE=f"{METRICS}/user",
                    PROMETHEUS_HEADER=HEADERS,
                    PROMETHEUS_SELECTOR='cluster="eu-1"',
                    PROMETHEUS_NAMESPACES="monitoring,mimir",
                ),
                _mounted(
                    "CronJob",
                    "metrics",
                    METRICS,
                    {"secret": {"secretName": SECRET, "defaultMode": 288}},
                ),
            ]
        },
    ),
    "another image": ValueSet(
        audit(image={"registry": "registry.example.com", "repository": "a/b", "digest": DIGEST}),
        "audit-deployment",
        more={
            "images": [
                {"name": "rescheduler", "newName": "registry.example.com/a/b", "digest": DIGEST}
            ]
        },
    ),
    "policies of one's own": ValueSet(
        audit(policies={"files": {"limits.yaml": POLICY}}),
        "audit-deployment",
        more={
            "generatorOptions": {"disableNameSuffixHash": True},
            "configMapGenerator": [
                {
                    "name": "rescheduler-policies",
                    "namespace": "rescheduler",
                    "behavior": "replace",
                    "literals": [f"limits.yaml={POLICY}"],
                }
            ],
        },
    ),
    "everything": ValueSet(enforce(**EVERYTHING), "enforce-deployment", ALL, ADDRESS),
    "everything by a CronJob": ValueSet(
        enforce("CronJob", **EVERYTHING), "enforce-cronjob", ALL, ADDRESS
    ),
    "everything in audit": ValueSet(
        audit(**EVERYTHING),
        "audit-deployment",
        tuple(name for name in ALL if not name.startswith(("steering", "kueue"))),
    ),
}
"""At least one set for each value that changes an object."""
