"""Apply plain YAML files, as `kubectl apply -f` would for objects that nobody else edits."""

from collections.abc import Iterable
from pathlib import Path

import yaml

from tests.e2e.controlplane.api import Api, Manifest

# A kustomization is an instruction to a tool, not an object.
_SKIPPED = {"Kustomization", "Component"}
_FIRST = {"Namespace": 0, "CustomResourceDefinition": 1, "ServiceAccount": 2}


def load_manifests(paths: Iterable[Path]) -> list[Manifest]:
    """Every object of the files (a folder stands for all *.yaml in it), namespaces first."""
    files: list[Path] = []
    for path in paths:
        files += sorted(path.rglob("*.yaml")) if path.is_dir() else [path]
    documents = [
        document
        for file in files
        for document in yaml.safe_load_all(file.read_text(encoding="utf-8"))
        if document and document["kind"] not in _SKIPPED
    ]
    return sorted(documents, key=lambda document: _FIRST.get(document["kind"], 9))


def apply_manifests(
    api: Api, paths: Iterable[Path], namespace: str | None = None
) -> list[Manifest]:
    """Create or replace every object, and answer them as the API server has them.

    namespace: for the objects that name none, as kustomize's field of that name sets it.
    """
    applied = []
    for manifest in load_manifests(paths):
        resource = api.resource(manifest["apiVersion"], manifest["kind"])
        if namespace is not None and resource.namespaced:
            manifest["metadata"].setdefault("namespace", namespace)
        applied.append(api.apply(manifest))
    return applied
