"""What lies beside a program's sources in its Go module: its CRDs and its manifests."""

import json
import subprocess
from functools import partial
from pathlib import Path

import yaml

from tests.e2e.builders.cluster import Cluster
from tests.e2e.controlplane.api import ApiError
from tests.e2e.controlplane.versions import Program


def config(program: Program, module: str) -> Path:
    """The folder with the manifests of this version of the module, which is fetched if need be."""
    found = subprocess.run(
        ["go", "mod", "download", "-json", module],
        cwd=program.folder,
        check=True,
        capture_output=True,
        text=True,
    )
    return Path(json.loads(found.stdout)["Dir"]) / "config" / "components"


def define(cluster: Cluster, config: Path, api: str, *kinds: str) -> None:
    """Apply the CRDs that lie there, and wait until these kinds of `api` are served."""
    bases = sorted((config / "crd" / "bases").glob("*.yaml"))
    if not bases:
        raise FileNotFoundError(f"no CRDs in {config}/crd/bases")
    for path in bases:
        cluster.api.apply(yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader))
    for kind in kinds:
        cluster.until(partial(_served, cluster, api, kind), f"{kind} is served")


def _served(cluster: Cluster, api: str, kind: str) -> bool:
    try:
        cluster.api.request("GET", f"/apis/{api}/{kind.lower()}s")
    except ApiError:
        return False
    return True
