"""What is in a release: which file each part is, by the version."""

import os
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from rescheduler import __version__

ROOT = Path(__file__).resolve().parents[2]
PROJECT = "rescheduler/rescheduler"
"""The repository that the files of the tree name."""
REPOSITORY = os.environ.get("GITHUB_REPOSITORY", PROJECT)
"""Where it is released: the workflow says its own."""


class ReleaseFault(Exception):
    """A part could not be made, or is not what it should be; the message says which and why."""


@dataclass(frozen=True)
class Artifacts:
    """The files of one release, all in one folder."""

    folder: Path
    version: str = __version__

    @property
    def sdist(self) -> Path:
        """The source distribution."""
        return self.folder / f"kube_rescheduler-{self.version}.tar.gz"

    @property
    def wheel(self) -> Path:
        """The wheel, for every platform."""
        return self.folder / f"kube_rescheduler-{self.version}-py3-none-any.whl"

    @property
    def plugin(self) -> Path:
        """The archive that krew unpacks: the program with its Python, for one platform."""
        return self.folder / f"kubectl-rescheduler_v{self.version}_linux_amd64.tar.gz"

    @property
    def manifest(self) -> Path:
        """What krew's index says of the plugin."""
        return self.folder / "rescheduler.yaml"

    @property
    def materials(self) -> Path:
        """The bill of materials of the package (CycloneDX)."""
        return self.folder / f"kube_rescheduler-{self.version}.cdx.json"

    @property
    def image_materials(self) -> Path:
        """The bill of materials of the image (CycloneDX)."""
        return self.folder / f"rescheduler-{self.version}-linux-amd64.cdx.json"

    @property
    def notes(self) -> Path:
        """What people read about this release."""
        return self.folder / "notes.md"

    @property
    def chart(self) -> Path:
        """The Helm chart, as `helm package` names it."""
        return self.folder / f"rescheduler-{self.version}.tgz"

    @property
    def image(self) -> Path:
        """The image, for machines that reach no registry: an OCI archive."""
        return self.folder / f"rescheduler-{self.version}-linux-amd64.oci.tar"

    @property
    def image_digest(self) -> Path:
        """By which a registry knows the image."""
        return self.folder / "image.txt"

    @property
    def install(self) -> Path:
        """All objects for a cluster in one file, in Audit."""
        return self.folder / "install.yaml"

    @property
    def provenance(self) -> Path:
        """Who made which file from what (in-toto, SLSA)."""
        return self.folder / "provenance.intoto.json"

    @property
    def checksums(self) -> Path:
        """The SHA-256 of every file but this and its signature, as `sha256sum --check` reads it."""
        return self.folder / "checksums.txt"

    @property
    def signature(self) -> Path:
        """Of the checksums."""
        return self.folder / "checksums.txt.sig"

    def address(self, file: Path) -> str:
        """Where people find a file once it is released."""
        return f"https://github.com/{REPOSITORY}/releases/download/v{self.version}/{file.name}"


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    return sha256(path.read_bytes()).hexdigest()
