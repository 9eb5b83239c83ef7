"""The notes of a release: its section of the changelog, and how to check what was downloaded."""

import re

from rescheduler.scheduler.config.versions import COMPARED
from tests.release.artifacts import REPOSITORY, ROOT, Artifacts, ReleaseFault

_CHECK = """
### How to check it

Every file is in `checksums.txt`, which is signed by the workflow of this repository (docs/releases.md):

    cosign verify-blob checksums.txt --bundle checksums.txt.bundle \\
      --certificate-identity https://github.com/{repository}/.github/workflows/release.yaml@refs/tags/v{version} \\
      --certificate-oidc-issuer https://token.actions.githubusercontent.com
    sha256sum --check --ignore-missing checksums.txt
    gh attestation verify FILE --repo {repository}

Compared with kube-scheduler of Kubernetes {versions}.
"""  # noqa: E501 - a command is one line

_KINDS = frozenset({"added", "changed", "deprecated", "removed", "fixed", "security"})
"""Of changes, in Keep a Changelog and Artifact Hub; what stands under another heading is new."""


def make_notes(artifacts: Artifacts) -> str:
    """Write what the changelog says of this version.

    Raises:
        ReleaseFault: it says nothing.
    """
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    section = section_of(changelog, artifacts.version)
    versions = ", ".join(version.removeprefix("v") for version in COMPARED.values())
    check = _CHECK.format(repository=REPOSITORY, version=artifacts.version, versions=versions)
    artifacts.notes.write_text(f"{section}\n{check}", encoding="utf-8")
    return f"{len(section.splitlines())} lines of the changelog"


def typed_changes(section: str) -> list[dict[str, str]]:
    """Each entry of a section with its kind, as Artifact Hub shows changes of a chart."""
    changes: list[dict[str, str]] = []
    kind = "added"
    for line in section.splitlines():
        if line.startswith("### "):
            kind = line.removeprefix("### ").lower()
        elif line.startswith("- "):
            named = kind if kind in _KINDS else "added"
            changes.append({"kind": named, "description": line.removeprefix("- ")})
        elif line.startswith("  ") and changes:
            changes[-1]["description"] += f" {line.strip()}"
    return changes


def section_of(changelog: str, version: str) -> str:
    """What stands below the heading of that version, without the heading."""
    pattern = rf"^## {re.escape(version)}(?: .*)?\n(.*?)(?=^## |\Z)"
    match = re.search(pattern, changelog, re.MULTILINE | re.DOTALL)
    if match is None or not match[1].strip():
        raise ReleaseFault(f"CHANGELOG.md says nothing of {version}")
    return match[1].strip()
