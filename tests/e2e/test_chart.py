"""The chart makes what the kustomization makes, refuses what cannot work, and every mix builds."""

import itertools
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.chart_sets import BINDINGS, SETS, URL, ValueSet
from tests.e2e.controlplane.api import Manifest
from tests.e2e.installers import (
    CHART,
    KUSTOMIZE,
    answer_of,
    helm_objects,
    kustomize_objects,
    objects_in,
    run_tool,
    template,
)

pytestmark = pytest.mark.e2e

OVERLAYS = sorted(path.name for path in (KUSTOMIZE / "overlays").iterdir())
PARTS = {"acting", "addons", "base", "cronjob", "deployment", "overlays", "steering-table"}
COMPONENTS = sorted({path.name for path in KUSTOMIZE.iterdir()} - PARTS)
EITHER = {"steering-policy", "steering-policy-v1beta1"}
"""The same policy in two versions of its API; a cluster needs one."""
GROUP = "admissionregistration.k8s.io"


def key(manifest: Manifest) -> tuple[str, str, str]:
    metadata = manifest["metadata"]
    return manifest["kind"], metadata.get("namespace", ""), metadata["name"]


def without_helm(node: Any) -> Any:
    """The object without what the chart adds for Helm: its own annotations."""
    if isinstance(node, list):
        return [without_helm(item) for item in node]
    if not isinstance(node, dict):
        return node
    plain = {name: without_helm(value) for name, value in node.items()}
    if "annotations" in plain and isinstance(plain["annotations"], dict):
        kept = {
            name: value
            for name, value in plain["annotations"].items()
            if not name.startswith(("helm.sh/", "checksum/"))
        }
        plain = {**plain, "annotations": kept}
        if not kept:
            del plain["annotations"]
    return plain


def by_key(objects: list[Manifest]) -> dict[tuple[str, str, str], Manifest]:
    named = {key(manifest): without_helm(manifest) for manifest in objects}
    assert len(named) == len(objects), "an object is there twice"
    return named


@pytest.mark.parametrize("name", SETS)
def test_chart_and_kustomization_make_the_same_objects(name: str, tmp_path: Path) -> None:
    chosen: ValueSet = SETS[name]
    (tmp_path / "bindings.yaml").write_text(yaml.safe_dump_all(BINDINGS))
    kustomized = kustomize_objects(tmp_path, chosen.overlay, chosen.components, **dict(chosen.more))
    values = {"createNamespace": True, "doctor": False, **chosen.values}
    made, wanted = by_key(helm_objects(tmp_path, values)), by_key(kustomized)
    assert made.keys() == wanted.keys()
    for which, manifest in made.items():
        assert manifest == wanted[which], which


def test_every_value_is_in_a_set_or_has_a_test_of_its_own() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    tried = {name for chosen in SETS.values() for name in chosen.values}
    own = {"createNamespace", "every", "settings", "replicas", "resources", "pods"}
    assert values.keys() == tried | own | {"extra"}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_all_components_can_be_combined(overlay: str, tmp_path: Path) -> None:
    """kustomize refuses an object that two of them have; so each pair is tried by all at once."""
    for version in sorted(EITHER):
        chosen = [name for name in COMPONENTS if name not in EITHER - {version}]
        assert len(kustomize_objects(tmp_path, overlay, chosen)) > 50


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_each_component_builds_alone(overlay: str, tmp_path: Path) -> None:
    plain = len(kustomize_objects(tmp_path, overlay))
    for component in COMPONENTS:
        assert len(kustomize_objects(tmp_path, overlay, [component])) >= plain - 1, component


def test_the_way_to_enforce_and_back_changes_one_word(tmp_path: Path) -> None:
    """Image, policies, address and components of an operator stay as they are (README)."""
    own = {
        "images": [{"name": "rescheduler", "newName": "registry.example.com/r", "newTag": "1"}],
        "patches": SETS["enforce"].more["patches"],
    }
    for chosen in itertools.combinations(("remembering", "trail-volume", "fence"), 2):
        before = by_key(kustomize_objects(tmp_path, "audit-deployment", chosen, **own))
        acting = by_key(kustomize_objects(tmp_path, "enforce-deployment", chosen, **own))
        assert before.keys() < acting.keys()
        changed = {which[2] for which in before if before[which] != acting[which]}
        assert changed == {"rescheduler"}


def test_the_chart_is_free_of_complaints(tmp_path: Path) -> None:
    for name, chosen in SETS.items():
        file = tmp_path / "values.yaml"
        file.write_text(yaml.safe_dump(chosen.values))
        # The version in which none of its APIs is on the way out, the beta included.
        more = ("--namespace", "rescheduler", "--values", file, "--kube-version", "1.36.0")
        done = run_tool("helm", "lint", "--strict", CHART, *more)
        assert done.returncode == 0, (name, done.stdout)
        assert "[WARNING]" not in done.stdout


@pytest.mark.parametrize(
    ("served", "version"),
    [
        ((f"{GROUP}/v1/MutatingAdmissionPolicy", f"{GROUP}/v1beta1/MutatingAdmissionPolicy"), "v1"),
        ((f"{GROUP}/v1beta1/MutatingAdmissionPolicy",), "v1beta1"),
        ((), ""),
    ],
)
def test_steering_goes_by_what_the_api_server_serves(
    served: tuple[str, ...], version: str, tmp_path: Path
) -> None:
    more = [option for name in served for option in ("--api-versions", name)]
    values = {"mode": "Enforce", "prometheus": {"url": URL}}
    versions = {
        manifest["apiVersion"]
        for manifest in helm_objects(tmp_path, values, *more)
        if manifest["kind"].startswith("MutatingAdmissionPolicy")
    }
    assert versions == ({f"{GROUP}/{version}"} if version else set())


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"mode": "Enforce"}, "mode: Enforce acts only on a Prometheus whose address is written"),
        ({"mode": "Enforce", "prometheus": {"url": "auto"}}, "mode: Enforce acts only on"),
        ({"mode": "Act"}, "value must be one of 'Audit', 'Enforce'"),
        ({"modus": "Enforce"}, "additional properties 'modus' not allowed"),
        ({"steering": {"hook": True}}, "additional properties 'hook' not allowed"),
        ({"prometheus": {"url": "prometheus:9090"}}, "does not match pattern"),
        ({"prometheus": {"headers": {"X": "tenant"}}}, "prometheus.secret is empty"),
        ({"policies": {"configMap": "a", "files": {"a.yaml": "b"}}}, "were both given"),
        ({"replicas": -1}, "minimum: got -1"),
        (
            {"pageAccess": "Kubernetes", "monitoring": {"enabled": True}},
            "monitoring.authorization has no credentials",
        ),
        (
            {
                "settings": {"RESCHEDULER_LISTEN_TOKEN_FILE": "/token"},
                "monitoring": {"enabled": True},
            },
            "monitoring.authorization has no credentials",
        ),
        ({"fence": {"optOuts": True}}, "fence.optOuts is part of the fence"),
        (
            {"kueueRestart": True, "evictions": {"namespaces": ["ml"]}},
            "evictions.namespaces bounds evictions only",
        ),
        ({"settings": {"MODE": "Enforce"}}, "invalid propertyName 'MODE'"),
    ],
)
def test_what_cannot_work_is_refused_with_the_reason(
    values: dict[str, Any], message: str, tmp_path: Path
) -> None:
    done = run_tool("helm", *template(tmp_path, values))
    assert done.returncode == 1
    assert message in done.stderr


def test_another_namespace_is_refused(tmp_path: Path) -> None:
    done = run_tool("helm", *template(tmp_path, {}), "--namespace", "elsewhere")
    assert done.returncode == 1
    assert "Maybe install with --namespace rescheduler --create-namespace" in done.stderr


def running(objects: list[Manifest]) -> dict[str, Any]:
    (pod,) = (
        manifest["spec"]["template"]
        for manifest in objects
        if (manifest["kind"], manifest["metadata"]["name"]) == ("Deployment", "rescheduler")
    )
    return dict(pod)


def test_pods_get_what_the_values_say_of_them(tmp_path: Path) -> None:
    values = {
        "every": "1h",
        "replicas": 3,
        "resources": {"limits": {"memory": "2Gi"}},
        "pods": {
            "labels": {"team": "platform"},
            "annotations": {"note": "x"},
            "nodeSelector": {"disk": "ssd"},
            "tolerations": [{"operator": "Exists"}],
            "priorityClassName": "high",
        },
        "extra": {
            "env": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
            "volumes": [{"name": "ca", "configMap": {"name": "ca"}}],
            "volumeMounts": [{"name": "ca", "mountPath": "/ca"}],
        },
        "image": {"pullPolicy": "Always", "pullSecrets": [{"name": "registry"}]},
    }
    pod = running(helm_objects(tmp_path, values))
    container = pod["spec"]["containers"][0]
    assert container["args"] == ["run", "--every", "1h"]
    assert container["resources"] == {"limits": {"memory": "2Gi"}}
    assert container["env"][-1] == {"name": "HTTPS_PROXY", "value": "http://proxy:3128"}
    assert container["volumeMounts"][-1] == {"name": "ca", "mountPath": "/ca"}
    assert container["imagePullPolicy"] == "Always"
    assert pod["spec"]["volumes"][-1]["name"] == "ca"
    assert pod["spec"]["nodeSelector"] == {"disk": "ssd"}
    assert pod["spec"]["tolerations"] == [{"operator": "Exists"}]
    assert pod["spec"]["priorityClassName"] == "high"
    assert pod["spec"]["imagePullSecrets"] == [{"name": "registry"}]
    assert pod["metadata"]["labels"] == {
        "app.kubernetes.io/name": "rescheduler",
        "team": "platform",
    }
    assert pod["metadata"]["annotations"]["note"] == "x"


def test_changed_settings_restart_the_pods(tmp_path: Path) -> None:
    sums = {
        running(helm_objects(tmp_path, {"settings": settings}))["metadata"]["annotations"][
            "checksum/settings"
        ]
        for settings in ({}, {"RESCHEDULER_LOG_LEVEL": "debug"})
    }
    assert len(sums) == 2


def test_an_existing_configmap_has_the_policies(tmp_path: Path) -> None:
    objects = helm_objects(tmp_path, {"policies": {"configMap": "mine"}})
    assert "rescheduler-policies" not in {manifest["metadata"]["name"] for manifest in objects}
    volumes = {volume["name"]: volume for volume in running(objects)["spec"]["volumes"]}
    assert volumes["policies"] == {"name": "policies", "configMap": {"name": "mine"}}


def test_without_networkpolicies_there_are_none(tmp_path: Path) -> None:
    objects = helm_objects(tmp_path, {"networkPolicy": {"enabled": False}})
    assert "NetworkPolicy" not in {manifest["kind"] for manifest in objects}


def test_monitors_and_dashboards_are_those_of_their_component(tmp_path: Path) -> None:
    """A copy of the chart with an object of alerts, whose own templates are not Helm's."""
    copy = tmp_path / "rescheduler"
    shutil.copytree(CHART, copy)
    alerts = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "alerts"},
        "data": {"a": "{{ $labels.x }}"},
    }
    file = copy / "files" / "components" / "monitoring.yaml"
    file.write_text(yaml.safe_dump(alerts))
    command = ("template", "rescheduler", copy, "--namespace", "rescheduler")
    for enabled in ("true", "false"):
        said = answer_of("helm", *command, "--set", f"monitoring.enabled={enabled}")
        assert (alerts in objects_in(said)) == (enabled == "true")
