"""What the files of an audit trail are called, so that writer and reader agree on their order."""

import re
from collections.abc import Iterable

IN_FOLDER = "audit-trail.jsonl"
"""The file that is written to, where a folder was named."""


def is_folder(path: str) -> bool:
    """Whether the name alone says that a folder is meant."""
    return path.endswith("/")


def rotated_name(name: str, day: str, seq: int) -> str:
    """The name that the file gets when it is full: with the day and number of its last record."""
    stem, dot, suffix = name.rpartition(".")
    if not stem:
        stem, dot, suffix = name, "", ""
    return f"{stem}-{day}-{seq:012d}{dot}{suffix}"


def in_order(name: str, names: Iterable[str]) -> list[str]:
    """Those of the names that are rotated files of this one, the oldest first."""
    stem, dot, suffix = name.rpartition(".")
    if not stem:
        stem, dot, suffix = name, "", ""
    pattern = re.compile(
        rf"{re.escape(stem)}-(\d{{4}}-\d\d-\d\d-\d{{12,}}){re.escape(dot + suffix)}", re.ASCII
    )
    dated_names = [
        (match[1], file_name) for file_name in names if (match := pattern.fullmatch(file_name))
    ]
    return [file_name for _, file_name in sorted(dated_names)]
