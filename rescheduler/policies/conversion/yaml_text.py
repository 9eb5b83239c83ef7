"""What a conversion makes, as YAML for people: each document with its comments."""

import textwrap
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any

import yaml

from rescheduler.documents.envelope import API_VERSION
from rescheduler.documents.fields import duration_text
from rescheduler.documents.strict_yaml import scalar
from rescheduler.model.wording import clean
from rescheduler.policies.conversion.draft import Conversion, Draft, LimitsDraft
from rescheduler.policies.conversion.outcomes import FieldNote
from rescheduler.policies.limits import Limits

_WIDTH = 100
_DEFAULTS = ("movesPerCycle", "movesPerNode", "movesPerNamespace")
"""Limits that are written also where the file has none, so that people see them."""


class _Dumper(yaml.SafeDumper):
    """Writes text so that our own reader takes it for text."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Lists are indented below their key."""
        del indentless
        super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, data: Any) -> bool:
        """What is the same twice is written twice: our reader refuses aliases."""
        del data
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    """The text, quoted where it is not text else; control characters and line ends as escapes."""
    style = None if isinstance(scalar(value), str) else "'"
    style = style if value.isprintable() else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def to_yaml(value: Any, *, flow: bool | None = False) -> str:
    """The value as YAML; flow: None writes innermost lists and mappings in one line."""
    text = yaml.dump(
        value,
        Dumper=_Dumper,
        sort_keys=False,
        width=_WIDTH,
        allow_unicode=True,
        default_flow_style=flow,
    )
    return str(text)


def policies_text(conversion: Conversion, source: str, form: str) -> str:
    """All documents. source: the name of the file. form: what it holds."""
    head = f"Converted from {source}: {form}. Read the comments before you let it act."
    audit = (
        ["The policies only report (`mode: Audit`), as there nothing is evicted either."]
        if conversion.reports_only
        else []
    )
    parts = ["\n".join(_comment([head, *audit]))]
    parts.append(
        "\n".join([*_limits_comments(conversion), to_yaml(limits_document(conversion.limits))])
    )
    parts += [
        "\n".join([*_draft_comments(draft), to_yaml(draft.document())])
        for draft in conversion.drafts
    ]
    return parts[0] + "\n" + "---\n".join(parts[1:])


def limits_document(draft: LimitsDraft) -> dict[str, Any]:
    """The Limits; what is not limited there is limited as always here."""
    default = Limits()
    moves = {name: draft.moves.get(name, getattr(default, name)) for name in _DEFAULTS}
    moves["movesPerCycle"] = min(moves["movesPerCycle"], default.room_per_day)
    spec: dict[str, Any] = {**moves, **_longer_limits(moves["movesPerCycle"])}
    for name, least in draft.at_least.items():
        spec[name] = duration_text(least) if isinstance(least, timedelta) else least
    if draft.local_storage and all(draft.local_storage):
        spec["localStorage"] = "Allow"
    spec |= draft.others
    metadata = {"name": "limits"}
    return {"apiVersion": API_VERSION, "kind": "Limits", "metadata": metadata, "spec": spec}


def _longer_limits(cycle: int) -> dict[str, int]:
    """An hour may do what a cycle may, and a day what five such hours may: the state has room."""
    default = Limits()
    hour, day = int(default.movesPerHour), int(default.movesPerDay)
    if cycle <= hour:
        return {}
    return {"movesPerHour": cycle, "movesPerDay": min(max(day, 5 * cycle), default.room_per_day)}


def _limits_comments(conversion: Conversion) -> list[str]:
    limits = conversion.limits
    missing = [name for name in _DEFAULTS if name not in limits.moves]
    lines = [
        "Limits of all policies together. What is not here has its default of policies/README.md."
    ]
    if missing:
        lines.append(f"Not limited there, so the defaults of here: {', '.join(missing)}.")
    most = limits.moves.get("movesPerCycle", 0)
    if most > Limits().room_per_day:
        lines.append(f"The state has no room for {most} moves in a day, so a cycle makes fewer.")
    if any(limits.local_storage) and not all(limits.local_storage):
        lines.append(
            "Some profiles let pods with local storage be evicted, others do not: they stay."
        )
    return [*_comment(lines), *_note_lines(dict.fromkeys(conversion.notes))]


def _draft_comments(draft: Draft) -> list[str]:
    line = draft.origin.mark.line
    head = f"From {draft.plugin} (line {line})."
    notes = dict.fromkeys(draft.notes)
    if draft.reports_only or any(note.restricts for note in notes):
        head += " It only reports (`mode: Audit`) until what is said below or above is done."
    return [*_comment([head]), *_note_lines(notes)]


def _note_lines(notes: Iterable[FieldNote]) -> Iterator[str]:
    held = list(notes)
    lost = [note for note in held if not note.equivalent]
    same = [note for note in held if note.equivalent]
    if lost:
        yield "# Without equivalent, or to be done:"
    for note in lost:
        value = f": {note.value}" if note.value else ""
        yield from _comment([f"- line {note.line}, {note.path}{value}"])
        yield from _comment([note.text], "  ")
    if same:
        yield "# Left out, as nothing is lost by it:"
    for note in same:
        yield from _comment(
            [f"- line {note.line}, {note.path}: {note.value} ({note.text.rstrip('.')})"]
        )


def _comment(lines: Iterable[str], indent: str = "") -> Iterator[str]:
    """The lines as comments; what YAML takes for the end of a line in one of them is left out."""
    for line in map(clean, lines):
        hanging = "  " if line.startswith("- ") else ""
        width = _WIDTH - 2 - len(indent)
        for part in textwrap.wrap(
            line,
            width,
            subsequent_indent=hanging,
            break_on_hyphens=False,
            break_long_words=False,
        ):
            yield f"# {indent}{part}"
