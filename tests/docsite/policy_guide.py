"""The guide to all policy kinds, written from their models so that it cannot be wrong."""

import inspect
import re
from functools import cache
from typing import Any

import msgspec

from rescheduler.documents.fields import (
    DURATION_PATTERN,
    POSITIVE_DURATION_PATTERN,
    RATIO_PATTERN,
    SPEED_PATTERN,
)
from rescheduler.kube.nodes.node_marks import KNOWN_AVOIDED, KNOWN_LEAVING, known_marks
from rescheduler.model.reasons import CATALOG
from rescheduler.policies.base import Policy
from rescheduler.policies.files.json_schema import json_schema
from rescheduler.policies.registry import DOCUMENTS
from rescheduler.policies.worked_example import Worked

_INTRODUCTION = """\
Every document has `apiVersion: rescheduler.io/v1alpha1`, a `kind`, `metadata.name` (unique among
all policies) and a `spec`. `metadata.labels` and `metadata.annotations` are free for owners.
Unknown fields, repeated keys, anchors and tags are errors. Only `true` and `false` are booleans;
`no`, `on`, `010` and `22:30` are text. Durations have units (`90s`, `1h30m`), shares are `50%` or
`0.5`. An empty selector is refused: who means everything writes `all: true`. What `exclude` selects
is left out of a `match` or of `nodes`; as there, all that it gives must hold.

The unit of every cost is one badly placed pod, so weights mean the same in every kind.
"""

_MARKS = """\
These count unless `avoidNodes` of the [Limits](#limits) ignores one. A node that is taken away is
neither left nor counted on (ELG020, FEA016): its pods are evicted by others. A node that is
avoided is broken or will be down for a while: pods may leave it, and none is sent there (FEA016).
A taint counts whatever its effect, a taint that ends in `/` for all keys that begin so; a mark
without a value for all values but `false`. Taints and conditions that are not listed are avoided
where their names warn: conditions that are True and tell of trouble (`DiskHung`), or False and
tell of health (`StorageReady`), and taints such as `example.com/draining`. On bare metal, give
kured a taint (`--prefer-no-schedule-taint=weave.works/kured-node-reboot:PreferNoSchedule`) or
`--annotate-nodes=true`: otherwise it marks a node only once it drains it."""

_COMMON = "Fields of every policy"
_HEAD = ("| field | value | default | meaning |", "|---|---|---|---|")

_ANCHOR = re.compile(r"(?<=\]\()#([\w-]+)(?=\))")
_REFERENCE = re.compile(r'"#/definitions/(\w+)"')
_ELSEWHERE = {
    "built-in-readings": "readings.md",
    "presets": "readings.md",
    "marks-of-nodes": "limits.md",
}
_CLASSES = {
    DURATION_PATTERN: "duration",
    POSITIVE_DURATION_PATTERN: "duration above 0",
    RATIO_PATTERN: "percentage",
    SPEED_PATTERN: "bits a second such as `10G`",
}


_TYPES = {
    "integer": "whole number",
    "number": "number",
    "string": "text",
    "boolean": "`true` or `false`",
}


def guide() -> str:
    """The text of all pages about documents of policies."""
    return "\n".join([policies_part(), *map(kind_part, DOCUMENTS)])


def page_of_anchor(anchor: str) -> str:
    """The page of the reference that has a section of this name, as a link from its folder."""
    pages = {kind.lower(): f"{kind.lower()}.md" for kind in DOCUMENTS}
    if anchor in pages:
        return pages[anchor]
    owners = {name.lower(): kinds for name, kinds in _kinds_of_definitions().items()}
    kinds = owners.get(anchor, set())
    page = pages[next(iter(kinds)).lower()] if len(kinds) == 1 else _ELSEWHERE.get(anchor)
    return f"{page or 'policies.md'}#{anchor}"


def policies_part() -> str:
    """What holds for all kinds: their common fields, and what several of them are made of."""
    common = _common_rows(json_schema()["definitions"])
    shared = [name for name, kinds in _kinds_of_definitions().items() if len(kinds) != 1]
    parts = [_INTRODUCTION, f"## {_COMMON}", "", *_HEAD, *common, ""]
    return _with_pages([*parts, *_sections_of(shared)])


def kind_part(kind: str) -> str:
    """What a document of a kind may say, what it charges, and its reason codes."""
    definitions = json_schema()["definitions"]
    model = DOCUMENTS[kind]
    common = _common_rows(definitions) if issubclass(model, Policy) else []
    rows = [row for row in _rows(definitions[kind]) if row not in common]
    link = f"policies.md#{_COMMON.lower().replace(' ', '-')}"
    beside = [f"Beside the [{_COMMON.lower()}]({link}):", ""] if common else []
    parts = [inspect.cleandoc(model.__doc__ or ""), "", "## Fields", "", *beside, *_HEAD, *rows, ""]
    worked: tuple[Worked, ...] = getattr(model, "examples", ())
    parts += ["## What it charges, in numbers", ""] if worked else []
    parts += [line for example in worked for line in example.markdown()]
    parts += _known_marks() if kind == "Limits" else []
    families: tuple[str, ...] = getattr(model, "codes", ())
    codes = [code for family in families for code in CATALOG if code.startswith(family)]
    parts += ["## Reason codes", ""] if codes else []
    parts += [f"- [`{code}`](reasons.md#{code.lower()}) {CATALOG[code].sentence}" for code in codes]
    own = [name for name, kinds in _kinds_of_definitions().items() if kinds == {kind}]
    return _with_pages([*parts, "", *_sections_of(own)])


def _with_pages(parts: list[str]) -> str:
    """The lines, in which a link to a section leads to the page that has it."""
    text = "\n".join(parts).rstrip() + "\n"
    return _ANCHOR.sub(lambda link: page_of_anchor(link[1]), text)


def _common_rows(definitions: dict[str, Any]) -> list[str]:
    kinds = [kind for kind, model in DOCUMENTS.items() if issubclass(model, Policy)]
    common = set.intersection(*(set(_rows(definitions[kind])) for kind in kinds))
    return [row for row in _rows(definitions[kinds[0]]) if row in common]


def _sections_of(names: list[str]) -> list[str]:
    definitions = json_schema()["definitions"]
    parts: list[str] = []
    for name in names:
        text = inspect.cleandoc(definitions[name]["description"])
        parts += [f"## {name}", "", text, "", *_HEAD, *_rows(definitions[name]), ""]
    return parts


@cache
def _kinds_of_definitions() -> dict[str, set[str]]:
    """Of each part of a document, which kinds have it."""
    definitions = json_schema()["definitions"]
    uses = {
        name: {match[1] for match in _REFERENCE.finditer(msgspec.json.encode(schema).decode())}
        for name, schema in definitions.items()
    }
    owners: dict[str, set[str]] = {name: set() for name in definitions if name not in DOCUMENTS}
    for kind in DOCUMENTS:
        waiting = [*uses[kind]]
        while waiting:
            name = waiting.pop()
            if kind not in owners[name]:
                owners[name].add(kind)
                waiting += uses[name]
    return owners


def _known_marks() -> list[str]:
    """The marks of nodes that count without a word in the Limits, by who sets them."""
    parts = ["## Marks of nodes", "", _MARKS, "", "| set by | what becomes of the node | marks |"]
    parts += ["|---|---|---|"]
    for what, table in (("taken away", KNOWN_LEAVING), ("avoided", KNOWN_AVOIDED)):
        for who, lines in table.items():
            marks = ", ".join(f"`{mark.text}`" for mark in known_marks(lines))
            parts.append(f"| {who} | {what} | {marks} |")
    return [*parts, ""]


def _rows(schema: dict[str, Any]) -> list[str]:
    required = schema.get("required", [])
    rows = []
    for key, field in schema["properties"].items():
        default = "required" if key in required else _default(field)
        rows.append(f"| `{key}` | {_value(field)} | {default} | {field.get('description', '')} |")
    return rows


def _default(field: dict[str, Any]) -> str:
    if field.get("default") in (None, {}, []):
        return ""
    return f"`{msgspec.json.encode(field['default']).decode()}`"


def _value(field: dict[str, Any]) -> str:
    choices = field.get("anyOf") or field.get("oneOf")
    if choices:
        return " or ".join(_value(choice) for choice in choices if choice.get("type") != "null")
    return _describe_type(field)


def _describe_type(field: dict[str, Any]) -> str:
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "const" in field:
        return f"`{msgspec.json.encode(field['const']).decode()}`"
    if "enum" in field:
        return " or ".join(f"`{choice}`" for choice in field["enum"])
    if field.get("pattern") in _CLASSES:
        return _CLASSES[field["pattern"]]
    if field["type"] == "array":
        return f"list of {_describe_type(field['items'])}"
    if field["type"] == "object":
        held = field.get("additionalProperties") or next(
            iter(field.get("patternProperties", {}).values()), None
        )
        return f"mapping of text to {_value(held)}" if isinstance(held, dict) else "mapping"
    least, most = field.get("minimum"), field.get("maximum")
    bounds = f" {least} to {most}" if most is not None else f" from {least}"
    name = _TYPES[field["type"]]
    return name + (bounds if least is not None else "")
