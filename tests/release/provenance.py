"""Who made which file from what: an in-toto statement with SLSA's predicate.

The workflow has the statement made and signed by GitHub itself. What is made here has the same form
with another builder, so that its reader can be tried; it proves nothing about who made it.
"""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.release.artifacts import REPOSITORY, ROOT, Artifacts, ReleaseFault, digest
from tests.release.commands import run_command

_INPUTS = ("requirements.lock", "requirements-release.lock", "requirements-dev.lock")


def make_provenance(artifacts: Artifacts, files: Iterable[Path], began: datetime) -> str:
    """Write the statement about these files."""
    subjects = [{"name": file.name, "digest": {"sha256": digest(file)}} for file in files]
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {"buildDefinition": _definition(artifacts), "runDetails": _details(began)},
    }
    artifacts.provenance.write_text(json.dumps(statement, indent=2) + "\n", encoding="utf-8")
    check_provenance(artifacts.provenance, artifacts.folder)
    return f"SLSA's form, of {len(subjects)} files; not signed by a builder here"


def check_provenance(provenance: Path, folder: Path) -> None:
    """Every file that the statement names must be in the folder, as it was.

    Raises:
        ReleaseFault: one is missing or another, or the statement has another form.
    """
    statement = json.loads(provenance.read_text(encoding="utf-8"))
    kinds = (statement["_type"], statement["predicateType"])
    if kinds != ("https://in-toto.io/Statement/v1", "https://slsa.dev/provenance/v1"):
        raise ReleaseFault(f"{provenance.name} is a statement of another form: {kinds}")
    for subject in statement["subject"]:
        file = folder / subject["name"]
        if not file.is_file() or digest(file) != subject["digest"]["sha256"]:
            raise ReleaseFault(f"{file.name} is not what {provenance.name} says")


def _definition(artifacts: Artifacts) -> dict[str, Any]:
    commit = run_command("git", "rev-parse", "HEAD", folder=ROOT).strip()
    changed = run_command("git", "status", "--porcelain", folder=ROOT).strip()
    source = {
        "uri": f"git+https://github.com/{REPOSITORY}",
        "digest": {"gitCommit": commit},
        "annotations": {"uncommittedChanges": bool(changed)},
    }
    locks = [{"uri": name, "digest": {"sha256": digest(ROOT / name)}} for name in _INPUTS]
    return {
        "buildType": f"https://github.com/{REPOSITORY}/blob/main/docs/releases.md",
        "externalParameters": {"version": artifacts.version, "target": "release-dry-run"},
        "resolvedDependencies": [source, *locks],
    }


def _details(began: datetime) -> dict[str, Any]:
    times = {"startedOn": began, "finishedOn": datetime.now(UTC)}
    return {
        "builder": {"id": f"https://github.com/{REPOSITORY}/dry-run"},
        "metadata": {name: f"{moment:%Y-%m-%dT%H:%M:%SZ}" for name, moment in times.items()},
    }
