"""Recorded answers of exporters, by the readings that are read from them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

FILES = sorted(Path(__file__).with_name("answers").glob("*.yaml"))
_LINE = re.compile(r"(\S+?)\{(.*)\}\s+(\S+)|(\S+)\s+(\S+)")


def answers(file: Path) -> list[tuple[str, dict[str, Any]]]:
    found = yaml.safe_load(file.read_text())
    return [(f"{file.stem}-{name}", yaml_object) for name, yaml_object in found.items()]


CASES = [case for file in FILES for case in answers(file)]


def series(case: str, answer: dict[str, Any]) -> Iterator[tuple[str, str, float, float]]:
    """Each series as it is stored: metric, series, first value, and growth in a second."""
    target = {**answer.get("target", {}), "case": case}
    for line in answer["metrics"].splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        assert match is not None, line
        name, value = match[1] or match[4], match[3] or match[5]
        own = dict(re.findall(r'([\w.]+)="((?:\\.|[^"\\])*)"', match[2] or ""))
        labels = {**target}
        for label, text in own.items():
            clash = label in target and not answer.get("honorLabels", False)
            labels[f"exported_{label}" if clash else label] = text or labels.get(label, "")
        shown = ",".join(f'{label}="{text}"' for label, text in sorted(labels.items()) if text)
        start, _, growth = value.partition("+") if "e+" not in value else (value, "", "")
        yield name, f"{name}{{{shown}}}", float(start), float(growth or 0)
