"""Reads the imitated functions of a release from its Go modules, staging included."""

import json
import os
import re
import subprocess
from collections.abc import Collection, Sequence
from pathlib import Path

from tests.drift.table import HERE, Row

_READER = HERE / "reader"
_RELEASE = re.compile(r"v1\.(\d+\.\d+(?:-[0-9A-Za-z.-]+)?)")


class DriftError(Exception):
    """A release cannot be read; the message says what to do."""


def texts(release: str, rows: Sequence[Row]) -> dict[str, dict[str, str]]:
    """Package to name to text of every declaration in the packages of these rows.

    release: as v1.36.3. A package that the release does not have is empty.
    """
    folders = {name: module(name, release) for name in sorted({row.module for row in rows})}
    files: dict[str, list[Path]] = {}
    for row in rows:
        found = sorted((folders[row.module] / row.folder).glob("*.go"))
        files[row.package] = [path for path in found if not path.name.endswith("_test.go")]
    declared = _read({path for found in files.values() for path in found})
    answer: dict[str, dict[str, str]] = {}
    for package, found in files.items():
        names = answer.setdefault(package, {})
        for path in found:
            names |= declared[str(path)]
    return answer


def module(name: str, release: str) -> Path:
    """Where the source of a module of k8s.io lies, downloaded where it is missing.

    Staging modules of v1.36.3 have v0.36.3. A release may ask for a newer Go than there is, though
    its source is only read: `go` is let fetch that.
    """
    number = _RELEASE.fullmatch(release)
    if number is None:
        raise DriftError(f"{release} is no release of Kubernetes 1.\nMaybe v1.38.0 is meant.")
    version = release if name == "kubernetes" else f"v0.{number[1]}"
    done = subprocess.run(
        ["go", "mod", "download", "-json", f"k8s.io/{name}@{version}"],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "GOTOOLCHAIN": "auto", "GOFLAGS": "-mod=mod"},
    )
    answer = json.loads(done.stdout) if done.stdout.strip() else {"Error": done.stderr.strip()}
    if done.returncode or "Dir" not in answer:
        raise DriftError(
            f"k8s.io/{name}@{version} cannot be downloaded: {answer.get('Error', '')}\n"
            "Maybe there is no such release (`go list -m -versions k8s.io/kubernetes` has them), "
            "or the Go module proxy is out of reach (see GOPROXY)."
        )
    return Path(answer["Dir"])


def _read(paths: Collection[Path]) -> dict[str, dict[str, str]]:
    done = subprocess.run(
        ["go", "run", "."],
        cwd=_READER,
        input="\n".join(map(str, sorted(paths))),
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise DriftError(
            f"Go files cannot be read: {done.stderr.strip()}\n"
            "Maybe they are written in a newer Go than the one on PATH."
        )
    found: dict[str, dict[str, str]] = json.loads(done.stdout)
    return found
