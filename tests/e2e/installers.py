"""Helm and kubectl as operators run them, on the chart and the overlays of `deploy/`."""

import os
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.controlplane.api import Manifest
from tests.e2e.controlplane.build import binaries
from tests.e2e.controlplane.versions import HELM
from tests.e2e.program import ROOT

CHART = ROOT / "deploy" / "helm" / "rescheduler"
KUSTOMIZE = ROOT / "deploy" / "kustomize"
RELEASE = "rescheduler"


@cache
def _binary(name: str) -> Path:
    return binaries([HELM])[name]


def run_tool(
    name: str, *arguments: str | Path, kubeconfig: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run helm or kubectl to the end, with no more of the user's configuration than PATH."""
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    if kubeconfig is not None:
        environment["KUBECONFIG"] = str(kubeconfig)
    command = [str(_binary(name)), *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, timeout=180
    )


def answer_of(name: str, *arguments: str | Path, kubeconfig: Path | None = None) -> str:
    """What it printed; it must have succeeded."""
    done = run_tool(name, *arguments, kubeconfig=kubeconfig)
    assert done.returncode == 0, f"{name} {arguments}: {done.stderr}\n{done.stdout}"
    return done.stdout


def objects_in(text: str) -> list[Manifest]:
    """The objects of YAML that a program printed."""
    return [document for document in yaml.load_all(text, yaml.CSafeLoader) if document]


def helm_objects(folder: Path, values: dict[str, Any], *more: str | Path) -> list[Manifest]:
    """What `helm template` makes of the chart with these values; folder: for the values' file."""
    return objects_in(answer_of("helm", *template(folder, values), *more))


def template(folder: Path, values: dict[str, Any]) -> list[str | Path]:
    """The command line of `helm template` with these values."""
    file = folder / "values.yaml"
    file.write_text(yaml.safe_dump(values), encoding="utf-8")
    return ["template", RELEASE, CHART, "--namespace", "rescheduler", "--values", file]


def kustomize_objects(
    folder: Path, overlay: str, components: Iterable[str] = (), **more: Any
) -> list[Manifest]:
    """What `kubectl kustomize` makes of an operator's kustomization, which is written to folder."""
    return objects_in(
        answer_of("kubectl", "kustomize", write_kustomization(folder, overlay, components, **more))
    )


def write_kustomization(
    folder: Path, overlay: str, components: Iterable[str] = (), **more: Any
) -> Path:
    """An operator's kustomization: an overlay, components and their own changes."""
    near = os.path.relpath(KUSTOMIZE, folder.resolve())
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [f"{near}/overlays/{overlay}", *more.pop("resources", [])],
        "components": [f"{near}/{component}" for component in components],
        **more,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(kustomization), encoding="utf-8")
    return folder
