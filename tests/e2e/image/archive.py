"""An OCI archive: what its manifest says, and what its layers hold."""

import io
import json
import re
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

Json = dict[str, Any]


@dataclass(frozen=True)
class ImageArchive:
    """One image in a tar archive of the OCI's layout."""

    path: Path

    def _json(self, name: str) -> Json:
        with tarfile.open(self.path) as archive:
            return cast("Json", json.loads(_content(archive, name)))

    def _blob(self, digest: str) -> Json:
        return self._json(_blob_name(digest))

    @cached_property
    def digest(self) -> str:
        """The digest by which a registry would know it."""
        (manifest,) = self._json("./index.json")["manifests"]
        return str(manifest["digest"])

    @cached_property
    def manifest(self) -> Json:
        """Its configuration and its layers, by digest and size."""
        return self._blob(self.digest)

    @cached_property
    def config(self) -> Json:
        """How it is run: entry point, environment, user."""
        return cast("Json", self._blob(self.manifest["config"]["digest"])["config"])

    @property
    def compressed(self) -> int:
        """Bytes that a node pulls."""
        return sum(int(layer["size"]) for layer in self.manifest["layers"])

    def layers(self) -> Iterator[bytes]:
        """Each layer, compressed, from the lowest on."""
        with tarfile.open(self.path) as archive:
            for layer in self.manifest["layers"]:
                yield _content(archive, _blob_name(layer["digest"]))

    def members(self) -> dict[str, tarfile.TarInfo]:
        """All files by their path in the image, without a leading slash."""
        files: dict[str, tarfile.TarInfo] = {}
        for layer in self.layers():
            with tarfile.open(fileobj=io.BytesIO(layer)) as opened:
                files |= {member.name.removeprefix("./"): member for member in opened}
        return files

    def texts(self, pattern: str) -> dict[str, str]:
        """What stands in the files whose whole path has this pattern."""
        texts: dict[str, str] = {}
        for layer in self.layers():
            with tarfile.open(fileobj=io.BytesIO(layer)) as opened:
                for member in opened:
                    path = member.name.removeprefix("./")
                    if member.isfile() and re.fullmatch(pattern, path):
                        texts[path] = _content(opened, member.name).decode()
        return texts

    def unpack(self, folder: Path) -> Path:
        """Its file system, with its owners and modes."""
        folder.chmod(0o755)
        for layer in self.layers():
            command = ["tar", "--extract", "--gzip", "--numeric-owner", "--same-permissions"]
            subprocess.run([*command, "--directory", folder], input=layer, check=True)
        return folder


def _blob_name(digest: str) -> str:
    return f"./blobs/{digest.replace(':', '/')}"


def _content(archive: tarfile.TarFile, name: str) -> bytes:
    member = archive.extractfile(name)
    assert member is not None, name
    return member.read()
