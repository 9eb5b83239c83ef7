"""Builds the image where its inputs have changed, and keeps it beside the programs of the suite.

`python -m tests.e2e.image.built` does so and says what it did. With a path it builds in any case,
and leaves the image there.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.e2e.image.archive import ImageArchive
from tests.e2e.program import ROOT, cache_folder

BUILD = ROOT / "deploy" / "image" / "build.sh"
_DAY = 86400.0


def inputs() -> list[Path]:
    """The files that the image is made of and by: what .dockerignore lets in, and the recipe."""
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    allowed = [ROOT / line[1:] for line in ignored if line.startswith("!")]
    files = {ROOT / "Dockerfile", ROOT / ".dockerignore", BUILD}
    for path in allowed:
        files |= set(path.rglob("*")) if path.is_dir() else {path}
    return sorted(file for file in files if file.is_file() and file.suffix != ".pyc")


def checksum() -> str:
    """Changes with the name and the content of every input, and the lock that is chosen."""
    digest = hashlib.sha256(os.environ.get("LOCK", "").encode())
    for file in inputs():
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        digest.update(f"{file.relative_to(ROOT)} {content}\n".encode())
    return digest.hexdigest()[:16]


def kept_archive() -> Path:
    """Where the image of these inputs is kept once it is built."""
    return cache_folder() / f"image-{checksum()}.tar"


def image_archive(*, again: bool = False) -> tuple[Path, bool]:
    """The image of these inputs, and whether it had to be built; one builds while others wait."""
    archive = kept_archive()
    archive.parent.mkdir(parents=True, exist_ok=True)
    with (archive.parent / "image.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if archive.exists() and not again:
            return archive, False
        missing = [name for name in ("buildah", "mmdebstrap") if shutil.which(name) is None]
        if missing:
            raise FileNotFoundError(
                f"The image cannot be built without {' and '.join(missing)}.\n"
                "Maybe install them: both are packages of Debian and Ubuntu."
            )
        for older in archive.parent.glob("image-*.tar"):
            if older.stat().st_mtime < time.time() - _DAY:
                older.unlink()
        subprocess.run([BUILD, archive], check=True)
        return archive, True


def seconds_to_start(image: ImageArchive) -> float:
    """The shortest of three starts of its program, as its user, in its file system alone."""
    times = []
    with tempfile.TemporaryDirectory() as folder:
        root = image.unpack(Path(folder))
        command = ["chroot", f"--userspec={image.config['User']}", root]
        for _ in range(3):
            started = time.monotonic()
            program = [*command, *image.config["Entrypoint"], "--version"]
            subprocess.run(program, check=True, stdout=subprocess.DEVNULL)
            times.append(time.monotonic() - started)
    return min(times)


def main() -> int:
    started = time.monotonic()
    wanted = sys.argv[1:]
    archive, is_new = image_archive(again=bool(wanted))
    for path in wanted:
        shutil.copyfile(archive, path)
    image = ImageArchive(archive)
    done = (
        f"built twice in {time.monotonic() - started:.0f} s, the same to the bit"
        if is_new
        else "not built again, as none of its inputs has changed"
    )
    sys.stdout.write(
        f"The image is {done}.\n  {wanted[0] if wanted else archive}\n  {image.digest}\n"
        f"  {image.compressed / 1e6:.1f} MB compressed; starts in {seconds_to_start(image):.2f} s\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
