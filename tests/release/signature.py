"""Checksums of all files, and a signature of the checksums with a key that is thrown away.

It is an ECDSA signature over SHA-256 in base64, as `cosign sign-blob --key` makes them. The
workflow signs without a key, by the identity of its run; that needs Sigstore and cannot be tried
here. What is proven here: each file is covered, the signature holds, and none holds for a change.
"""

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.release.artifacts import Artifacts, digest
from tests.release.commands import run_command

_KEY = ("openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out")


def sign_files(artifacts: Artifacts, files: Iterable[Path]) -> str:
    """Write checksums and signature, and verify both as a stranger would."""
    lines = [f"{digest(file)}  {file.name}\n" for file in files]
    artifacts.checksums.write_text("".join(lines), encoding="utf-8")
    run_command(
        "sha256sum", "--check", "--strict", artifacts.checksums.name, folder=artifacts.folder
    )
    with TemporaryDirectory() as folder:
        key, public, plain = (Path(folder) / name for name in ("key", "public", "signature"))
        run_command(*_KEY, key)
        run_command("openssl", "pkey", "-in", key, "-pubout", "-out", public)
        sign = ("openssl", "dgst", "-sha256", "-sign", key, "-out", plain)
        run_command(*sign, artifacts.checksums)
        run_command("openssl", "base64", "-A", "-in", plain, "-out", artifacts.signature)
        verify = ("openssl", "dgst", "-sha256", "-verify", public, "-signature", plain)
        run_command(*verify, artifacts.checksums)
        changed = Path(folder) / "changed"
        changed.write_bytes(artifacts.checksums.read_bytes() + b"\n")
        run_command(*verify, changed, code=1)
    return f"{len(lines)} files; the signature holds, and none for a changed file (throw-away key)"
