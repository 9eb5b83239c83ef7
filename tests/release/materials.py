"""The package's bill of materials: what is installed with the wheel, as CycloneDX says it.

It is made of the environment in which the wheel was tried, and must be what the lock says: no
package less, none more, each in its version.
"""

import json
from pathlib import Path
from typing import Any

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.release.artifacts import ROOT, Artifacts, ReleaseFault
from tests.release.commands import run_command
from tests.release.environments import Environment

OWN = "kube-rescheduler"
_OF_EVERY_ENVIRONMENT = frozenset({"pip", "setuptools"})
"""What Python itself puts into a virtual environment; the image and the plugin have neither."""


def make_materials(artifacts: Artifacts, tried: Environment, tools: Environment) -> str:
    """Write it, validated by CycloneDX's schema, and compare it with the lock."""
    run_command(
        *(tools.program("cyclonedx-py"), "environment", tried.program("python")),
        *("--pyproject", ROOT / "pyproject.toml", "--mc-type", "application"),
        *("--output-reproducible", "--validate", "--output-format", "JSON"),
        *("--output-file", artifacts.materials),
    )
    bill = json.loads(artifacts.materials.read_text(encoding="utf-8"))
    bill["components"] = [
        component
        for component in bill["components"]
        if component["name"] not in _OF_EVERY_ENVIRONMENT
    ]
    _forget_tools_of_the_environment(bill)
    bill["metadata"]["component"]["version"] = artifacts.version
    artifacts.materials.write_text(json.dumps(bill, indent=2) + "\n", encoding="utf-8")
    listed = components(bill)
    locked = locked_packages(ROOT / "requirements.lock")
    if listed != locked:
        raise ReleaseFault(
            f"the bill of materials and requirements.lock differ: {sorted(listed ^ locked)}"
        )
    licensed = sum(1 for component in bill["components"] if component.get("licenses"))
    return f"{len(listed)} packages as in the lock, {licensed} with their license"


def components(bill: dict[str, Any]) -> set[tuple[str, str]]:
    """Name and version of every package of a bill but our own."""
    return {
        (canonicalize_name(entry["name"]), entry["version"])
        for entry in bill["components"]
        if entry["name"] != OWN
    }


def locked_packages(lock: Path, python: str | None = None) -> set[tuple[str, str]]:
    """Name and version of every package that the lock installs here; on this Python, or another."""
    text = lock.read_text(encoding="utf-8").replace("\\\n", " ")
    lines = (line.split(" --hash")[0].split("#")[0].strip() for line in text.splitlines())
    requirements = [Requirement(line) for line in lines if line]
    here = {key: str(value) for key, value in default_environment().items()}
    if python is not None:
        here |= {"python_version": python, "python_full_version": f"{python}.0"}
    return {
        (canonicalize_name(requirement.name), str(requirement.specifier).removeprefix("=="))
        for requirement in requirements
        if requirement.marker is None or requirement.marker.evaluate(here)
    }


def _forget_tools_of_the_environment(bill: dict[str, Any]) -> None:
    """Leave no dependency on what is not listed."""
    gone = tuple(f"{name}==" for name in _OF_EVERY_ENVIRONMENT)
    bill["dependencies"] = [
        entry for entry in bill["dependencies"] if not entry["ref"].startswith(gone)
    ]
