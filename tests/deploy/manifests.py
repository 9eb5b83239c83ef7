"""What the overlays of the kustomization build."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.deploy.policies_configmap import ROOT

KUSTOMIZE = ROOT / "deploy" / "kustomize"
OVERLAYS = sorted(path.name for path in (KUSTOMIZE / "overlays").iterdir())
ACTING, AUDITING = "rescheduler", "rescheduler-audit"


def documents(folder: Path) -> Iterator[dict[str, Any]]:
    """Every object that kustomize would gather from a folder."""
    said = yaml.safe_load((folder / "kustomization.yaml").read_text())
    for entry in [*said.get("resources", []), *said.get("components", [])]:
        path = folder / entry
        assert path.exists(), f"{folder}: {entry} does not exist"
        if path.is_dir():
            yield from documents(path)
        else:
            yield from (
                yaml_object
                for yaml_object in yaml.load_all(path.read_text(), yaml.CSafeLoader)
                if yaml_object
            )


def overlay(name: str) -> list[dict[str, Any]]:
    return list(documents(KUSTOMIZE / "overlays" / name))


def rights(name: str) -> set[tuple[str, str, str, str]]:
    """(role kind, resource, verb, names) of all that the overlay's account may do."""
    roles = [manifest for manifest in overlay(name) if manifest["kind"] in ("ClusterRole", "Role")]
    return {
        (role["kind"], resource, verb, ",".join(rule.get("resourceNames", [])))
        for role in roles
        for rule in role["rules"]
        for resource in rule.get("resources") or rule["nonResourceURLs"]
        for verb in rule["verbs"]
    }


def pods(name: str) -> list[dict[str, Any]]:
    found = []
    for manifest in overlay(name):
        if manifest["kind"] == "CronJob":
            found.append(manifest["spec"]["jobTemplate"]["spec"]["template"]["spec"])
        elif manifest["kind"] == "Deployment":
            found.append(manifest["spec"]["template"]["spec"])
    return found
