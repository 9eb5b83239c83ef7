"""The Dockerfile, by its stages."""

import re

from tests.deploy.policies_configmap import ROOT

Instruction = tuple[str, str]


def stages() -> list[list[Instruction]]:
    """The instructions of each stage, line continuations joined."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    found: list[list[Instruction]] = [[]]
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        word, _, rest = line.strip().partition(" ")
        if word == "FROM":
            found.append([])
        found[-1].append((word, rest.strip()))
    return found


def versions(name: str) -> dict[str, list[str]]:
    """Those of each package; there may be one for each Python."""
    found: dict[str, list[str]] = {}
    text = (ROOT / name).read_text()
    for package, version in re.findall(r"^([\w.\-]+)==(\S+)", text, re.MULTILINE):
        found.setdefault(package, []).append(version)
    return found
