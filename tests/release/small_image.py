"""A small image as an OCI archive, with the files that it is given."""

import gzip
import io
import json
import tarfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def write_image(path: Path, files: Mapping[str, str]) -> str:
    """Write it there; its digest."""
    blobs: dict[str, bytes] = {}

    def add_blob(content: bytes) -> Json:
        digest = sha256(content).hexdigest()
        blobs[f"./blobs/sha256/{digest}"] = content
        return {"digest": f"sha256:{digest}", "size": len(content)}

    packed = _pack({name: text.encode() for name, text in files.items()})
    layer = add_blob(gzip.compress(packed, mtime=0))
    config = add_blob(json.dumps({"config": {}}).encode())
    manifest = add_blob(json.dumps({"config": config, "layers": [layer]}).encode())
    index = json.dumps({"manifests": [manifest]}).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_pack({"./index.json": index, **blobs}))
    return str(manifest["digest"])


def _pack(files: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()
