"""The image of a release, as the files name it that people install from it."""

import re
from dataclasses import dataclass
from pathlib import Path

from tests.release.artifacts import REPOSITORY, Artifacts, ReleaseFault

REGISTRY = "ghcr.io"
"""Where the workflow pushes it, under the name of the repository."""
TREE_FLAG = " --set image.registry=REGISTRY"
"""What the chart's README says while no image is published."""


@dataclass(frozen=True)
class ReleasedImage:
    """Its address. digest: empty where it was not built beside."""

    name: str
    tag: str
    digest: str = ""

    @property
    def address(self) -> str:
        """What a container of a pod names."""
        return f"{self.name}@{self.digest}" if self.digest else f"{self.name}:{self.tag}"

    def objects_text(self, text: str) -> str:
        """Manifests of the tree with this image, in each of their containers."""
        return re.sub(r"\bimage: rescheduler:\S+", f"image: {self.address}", text)

    def values_text(self, text: str) -> str:
        """The chart's values with this image for their defaults."""
        registry, _, repository = self.name.rpartition("/")
        parts = {"registry": registry, "repository": repository, "tag": self.tag}
        for part, value in (parts | {"digest": self.digest}).items():
            line = rf"(?m)^(image:\n(?:  .*\n)*?  {part}: ).*$"
            text, count = re.subn(line, rf'\g<1>"{value}"', text)
            if count != 1:
                raise ReleaseFault(f"the values of the chart have no image.{part}")
        return text

    def write_chart(self, chart: Path) -> None:
        """Write it into a copy of the chart."""
        for name, change in (("values.yaml", self.values_text), ("README.md", _without_flag)):
            path = chart / name
            path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")

    def check(self, text: str) -> None:
        """Hold that all containers of these objects run it.

        Raises:
            ReleaseFault: one names another image.
        """
        images = set(re.findall(r"\bimage: \"?([^\s\"]+)", text))
        if images != {self.address}:
            raise ReleaseFault(f"what is installed names {sorted(images)}, not {self.address}")


def released_image(artifacts: Artifacts) -> ReleasedImage:
    """The image of this release, with its digest if it is built."""
    built = artifacts.image_digest
    digest = built.read_text(encoding="utf-8").strip() if built.is_file() else ""
    return ReleasedImage(f"{REGISTRY}/{REPOSITORY}", artifacts.version, digest)


def _without_flag(text: str) -> str:
    return text.replace(TREE_FLAG, "")
