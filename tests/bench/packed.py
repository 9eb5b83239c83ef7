"""Files of benchmarks, packed or not."""

import gzip
from pathlib import Path


def text_of(path: Path) -> str:
    """All of the file."""
    if path.suffix != ".gz":
        return path.read_text()
    with gzip.open(path, "rt") as file:
        return file.read()
