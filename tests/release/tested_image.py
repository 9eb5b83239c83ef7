"""`python -m tests.release.tested_image FILE`: copies the image that the e2e suite ran.

It prints the digest, and fails where the suite has not run this image: it builds none.
"""

import shutil
import sys
import tarfile
from hashlib import sha256
from pathlib import Path

from tests.e2e.image.archive import ImageArchive
from tests.e2e.image.built import kept_archive
from tests.release.artifacts import ReleaseFault

_BLOBS = "./blobs/sha256/"


def copy_tested_image(target: Path) -> str:
    """Copy it there; its digest."""
    archive = kept_archive()
    if not archive.is_file():
        raise ReleaseFault(f"no image of this tree was tested on this machine: no {archive}")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(archive, target)
    return checked_digest(target)


def checked_digest(path: Path) -> str:
    """The digest by which a registry would know the image.

    Raises:
        ReleaseFault: a part of it is missing, or is not what its digest says.
    """
    try:
        image = ImageArchive(path)
        parts = {image.digest, image.manifest["config"]["digest"]}
        parts |= {layer["digest"] for layer in image.manifest["layers"]}
    except (KeyError, ValueError, tarfile.TarError) as error:
        raise ReleaseFault(f"{path} is no image: {error}") from error
    lacking = parts - _digests_of_contents(path)
    if lacking:
        raise ReleaseFault(f"{path} is not what its digests say: {', '.join(sorted(lacking))}")
    return image.digest


def _digests_of_contents(path: Path) -> set[str]:
    with tarfile.open(path) as archive:
        blobs = [member for member in archive if member.name.startswith(_BLOBS)]
        contents = (archive.extractfile(blob) for blob in blobs)
        return {f"sha256:{sha256(content.read()).hexdigest()}" for content in contents if content}


if __name__ == "__main__":
    sys.stdout.write(f"{copy_tested_image(Path(sys.argv[1]))}\n")
