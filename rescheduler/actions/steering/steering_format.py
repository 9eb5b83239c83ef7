"""How the table of replacements is stored in its ConfigMap, such that CEL can read it too.

    data.<UID of the controller>   a line for each set of nodes:
        strength|template|name|hostname,hostname|namespace|deadline,plan,pod;deadline,plan,pod

CEL splits strings and knows no JSON, and has no clock and no count: what it reads are the first
four fields. Replacements to the same nodes share a line. The other fields are for those who sweep.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, get_args

from rescheduler.model.moves.steering_entry import SteeringEntry, Strength

FENCE = "rescheduler.io/fence"
"""Annotation: the lease transition of the last writer."""
WRITES = "rescheduler.io/writes"
"""Annotation: their number, so that each makes a new version; what changes nothing makes none."""
SEEN = "rescheduler.io/seen"
SEEN_BY = "rescheduler.io/seen-by-"
"""Before the name of the means that shows it; those of earlier versions show `SEEN` alone."""
"""Annotation in a dry run: the version of the table that the admission policy reads."""
MOST_BYTES = 900 * 2**10
"""Of all keys and values; a ConfigMap holds 1 MiB."""
MOST_VALUE = 2**16
MOST_LINE = 2**14
MOST_LINES = 32
"""Characters of one controller's value and of a line of it, and lines: the API server would need
seconds for longer ones, so that the policy looks at no more."""

_LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", re.ASCII)
"""A value of a label: with another one in its affinity a pod would be refused."""
_MARKS = frozenset("|,;\n")
_TIME = "%Y-%m-%dT%H:%M:%SZ"


def encode_entries(entries: Iterable[SteeringEntry]) -> dict[str, str]:
    """The `data` of the ConfigMap with these entries.

    Raises:
        ValueError: a name of them cannot be written.
    """
    lines: dict[str, list[str]] = {}
    for shared, same in groupby(sorted(entries, key=_line_key), key=_line_key):
        owner, strength, template, name, hostnames, namespace = shared
        items = [(_text(entry.deadline), entry.plan, entry.pod) for entry in same]
        for text in (template, name, namespace, *(t for item in items for t in item)):
            if _MARKS & set(text):
                raise ValueError(f"{text!r} cannot be written into a line")
        if not hostnames or not all(map(_LABEL.fullmatch, hostnames)):
            raise ValueError(f"{', '.join(hostnames)!r} are not values of a label")
        line = (strength, template, name, ",".join(hostnames), namespace)
        item = ";".join(",".join(parts) for parts in items)
        lines.setdefault(owner, []).append("|".join((*line, item)))
    data = {owner: "\n".join(owner_lines) for owner, owner_lines in lines.items()}
    for owner, value in data.items():
        if len(lines[owner]) > MOST_LINES:
            said = f"has replacements to {len(lines[owner])} different sets of nodes"
            raise ValueError(f"controller {owner} {said}, more than {MOST_LINES}")
        if len(value) > MOST_VALUE or max(map(len, lines[owner])) >= MOST_LINE:
            raise ValueError(f"the entries of controller {owner} take {len(value)} characters")
    return data


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime(_TIME)


def _line_key(entry: SteeringEntry) -> tuple[str, Strength, str, str, tuple[str, ...], str]:
    steering_entry = entry
    return (
        steering_entry.owner,
        steering_entry.strength,
        steering_entry.template,
        steering_entry.name,
        steering_entry.hostnames,
        steering_entry.namespace,
    )


def read(data: Mapping[str, Any]) -> tuple[list[SteeringEntry], dict[str, str]]:
    """The entries in the `data` of a ConfigMap, and the keys that hold no such lines, with why."""
    entries: list[SteeringEntry] = []
    broken: dict[str, str] = {}
    for owner, value in data.items():
        try:
            entries += [
                entry for line in str(value).split("\n") for entry in _read_line(owner, line)
            ]
        except ValueError as error:
            broken[owner] = str(error)
    return entries, broken


def _read_line(owner: str, line: str) -> list[SteeringEntry]:
    fields = line.split("|")
    if len(fields) != 6:
        raise ValueError(f"a line has {len(fields)} fields, not 6")
    strength, template, name, hostnames, namespace, items = fields
    if strength not in get_args(Strength):
        raise ValueError("a line begins with neither Prefer nor Require")
    if not all(map(_LABEL.fullmatch, hostnames.split(","))):
        raise ValueError("a line has a hostname that is no value of a label")
    answer = []
    for item in items.split(";"):
        deadline, plan, pod = item.split(",")
        answer.append(
            SteeringEntry(
                owner=owner,
                namespace=namespace,
                template=template,
                name=name,
                hostnames=tuple(hostnames.split(",")),
                strength="Require" if strength == "Require" else "Prefer",
                deadline=datetime.strptime(deadline, _TIME).replace(tzinfo=UTC),
                plan=plan,
                pod=pod,
            )
        )
    return answer


def size(data: Mapping[str, str]) -> int:
    """Bytes that the API server counts of it.

    Source: ValidateConfigMap in pkg/apis/core/validation/validation.go: the values only; the keys
    are counted here too.
    """
    return sum(len(key) + len(value.encode()) for key, value in data.items())
