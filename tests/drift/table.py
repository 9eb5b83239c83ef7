"""The table of imitated functions, and the digests of them in every release that was read."""

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import yaml

HERE = Path(__file__).parent
TABLE = HERE / "imitated.yaml"
DIGESTS = HERE / "digests.json"

Digests = dict[str, dict[str, dict[str, str]]]
"""Package, function and release (as v1.36.3) to the digest; a release without it has none."""


class Row(msgspec.Struct, forbid_unknown_fields=True):
    """Functions of one package that one of our modules imitates; see the head of imitated.yaml."""

    package: str
    functions: str
    where: str
    differs: str = ""

    @property
    def module(self) -> str:
        """The Go module, below k8s.io."""
        return self.package.partition("/")[0]

    @property
    def names(self) -> list[str]:
        """Its functions."""
        return self.functions.split()

    @property
    def folder(self) -> str:
        """The package's folder in its module."""
        return self.package.partition("/")[2]


def table() -> list[Row]:
    """Every row."""
    return msgspec.convert(yaml.safe_load(TABLE.read_text(encoding="utf-8")), list[Row])


def digests() -> Digests:
    """What was recorded of the releases that were read."""
    found: Digests = json.loads(DIGESTS.read_text(encoding="utf-8"))
    return found


def record(release: str, read: Mapping[str, Mapping[str, str]]) -> None:
    """Put the digests of a release in the place of those that it had.

    read: package to function to its text; functions that the release does not have are absent.
    """
    known = digests() if DIGESTS.exists() else {}
    answer: Digests = {}
    for package, name in functions():
        row = dict(known.get(package, {}).get(name, {}))
        row.pop(release, None)
        text = read[package].get(name)
        if text is not None:
            row[release] = digest(text)
        answer.setdefault(package, {})[name] = dict(sorted(row.items()))
    DIGESTS.write_text(written(answer), encoding="utf-8")


def written(known: Digests) -> str:
    """The digests as JSON, with a line for each function."""
    packages = []
    for package, functions in known.items():
        rows = [f"  {json.dumps(name)}: {json.dumps(found)}" for name, found in functions.items()]
        packages.append(f" {json.dumps(package)}: {{\n" + ",\n".join(rows) + "\n }")
    return "{\n" + ",\n".join(packages) + "\n}\n"


def functions() -> Iterator[tuple[str, str]]:
    """Package and name of each imitated function, once."""
    yield from sorted({(row.package, name) for row in table() for name in row.names})


def releases(known: Digests) -> list[str]:
    """Every release of which there are digests, the oldest first."""
    found = {release for package in known.values() for row in package.values() for release in row}
    return sorted(found, key=order)


def order(release: str) -> tuple[Any, ...]:
    """A key by which releases sort: v1.38.0-beta.0 comes before v1.38.0."""
    number, _, before = release.removeprefix("v").partition("-")
    return (*map(int, number.split(".")), before == "", before)


def digest(text: str) -> str:
    """Twelve hex digits of the text's SHA-256."""
    return sha256(text.encode()).hexdigest()[:12]
