"""`python -m tests.deploy.chart_files`: makes the files of the chart that follow from others.

The objects come from the components of deploy/kustomize, so that each is written once. The values
and their comments come from the schema of the values.
"""

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.deploy.manifests import KUSTOMIZE
from tests.deploy.policies_configmap import ROOT

CHART = ROOT / "deploy" / "helm" / "rescheduler"
SCHEMA = CHART / "values.schema.json"
VALUES = CHART / "values.yaml"
COMPONENTS = CHART / "files" / "components"
NOT_INSTALLED = {"addons", "overlays", "steering-policy-v1beta1", "evictions-by-namespace"}
"""Folders without a file of the chart: overlays, and what only patches."""
_LINE = 100


def component_names() -> list[str]:
    """The folders of deploy/kustomize that the chart takes objects from."""
    folders = {path.name for path in KUSTOMIZE.iterdir()}
    return sorted(folders - NOT_INSTALLED)


def component_text(name: str) -> str:
    """All objects of a component, as its files have them with their comments."""
    head = (
        f"# Made from deploy/kustomize/{name} by `python -m tests.deploy.chart_files`: edit that.\n"
    )
    return head + "---\n".join(source_texts(KUSTOMIZE / name, alone=True))


def source_texts(folder: Path, *, alone: bool = False) -> Iterator[str]:
    """The objects of a kustomization as YAML, with the ConfigMaps that kustomize would generate.

    alone: without those of folders beside it.
    """
    kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text(encoding="utf-8"))
    for entry in [*kustomization.get("resources", []), *kustomization.get("components", [])]:
        path = folder / entry
        if alone and entry.startswith("../"):
            continue
        if path.is_dir():
            yield from source_texts(path)
        else:
            yield path.read_text(encoding="utf-8")
    options = kustomization.get("generatorOptions", {})
    for generator in kustomization.get("configMapGenerator", []):
        files = [folder / file for file in generator["files"]]
        yield configmap_text(generator["name"], generator["namespace"], options, files)


def configmap_text(name: str, namespace: str, options: dict[str, Any], files: list[Path]) -> str:
    """The ConfigMap that kustomize generates of these files, under a name without a hash."""
    assert options["disableNameSuffixHash"]
    metadata = {"name": name, "namespace": namespace}
    metadata |= {kind: options[kind] for kind in ("labels", "annotations") if kind in options}
    head = yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    data = ""
    for file in files:
        text = file.read_text(encoding="utf-8")
        style = "|" if text.endswith("\n") else "|-"
        data += f"  {file.name}: {style}\n{textwrap.indent(text.rstrip(chr(10)), '    ')}\n"
    return f"{head}data:\n{data}"


def values_text() -> str:
    """values.yaml: every value with its default, under its description."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    head = "# Made from values.schema.json by `python -m tests.deploy.chart_files`: edit that.\n"
    return head + "".join(_value_lines(schema["properties"], ""))


def _value_lines(properties: dict[str, Any], indent: str) -> Iterator[str]:
    for name, schema in properties.items():
        if name == "global":
            continue
        width = _LINE - len(indent) - 2
        comment = textwrap.wrap(schema["description"], width, break_on_hyphens=False)
        yield "" if indent else "\n"
        yield "".join(f"{indent}# {line}\n" for line in comment)
        if "default" not in schema:
            yield f"{indent}{name}:\n"
            yield from _value_lines(schema["properties"], f"{indent}  ")
        else:
            yield f"{indent}{name}: {_flow(schema['default'])}\n"


def _flow(value: Any) -> str:
    """The value on one line, texts in quotes only where they need them."""
    text = yaml.safe_dump(value, default_flow_style=True, width=10_000)
    return text.removesuffix("\n").removesuffix("\n...").replace("''", '""')


def chart_files() -> dict[Path, str]:
    """What every made file ought to be."""
    components = {COMPONENTS / f"{name}.yaml": component_text(name) for name in component_names()}
    return {VALUES: values_text(), **components}


def present_files() -> set[Path]:
    """The made files that are there."""
    return {VALUES, *(path for path in (CHART / "files").rglob("*") if path.is_file())}


if __name__ == "__main__":
    for outdated in present_files() - chart_files().keys():
        outdated.unlink()
    for path, text in chart_files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
