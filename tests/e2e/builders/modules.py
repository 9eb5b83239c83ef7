"""What lies beside a program's sources in its Go module: its CRDs and its manifests."""

import subprocess
from functools import partial
from pathlib import Path

import yaml

from tests.e2e.builders.cluster import Cluster
from tests.e2e.controlplane.api import ApiError
from tests.e2e.controlplane.versions import Program


def config(program: Program, module: str) -> Path:
    """The folder with the manifests of this version of the module."""
    found = subprocess.run(
        ["go", "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", module],
        cwd=program.folder,
        check=True,
        capture_output=True,
        text=True,
    )
    return Path(found.stdout.strip()) / "config" / "components"


def define(cluster: Cluster, config: Path, api: str, *kinds: str) -> None:
    """Apply the CRDs that lie there, and wait until these kinds of `api` are served."""
    for path in sorted((config / "crd" / "bases").glob("*.yaml")):
        cluster.api.apply(yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader))
    for kind in kinds:
        cluster.until(partial(_served, cluster, api, kind), f"{kind} is served")


def _served(cluster: Cluster, api: str, kind: str) -> bool:
    try:
        cluster.api.request("GET", f"/apis/{api}/{kind.lower()}s")
    except ApiError:
        return False
    return True
