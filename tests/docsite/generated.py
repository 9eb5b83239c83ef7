"""What pages of the site have of the models; in the repository a line says that it is missing."""

import re
from collections.abc import Callable
from functools import partial

from rescheduler.policies.registry import DOCUMENTS
from tests.docsite.command_pages import commands_part, settings_part
from tests.docsite.gate_pages import gates_part
from tests.docsite.monitoring_pages import alerts_part, labels_part, metrics_part
from tests.docsite.policy_guide import kind_part, policies_part
from tests.docsite.reading_tables import reading_tables
from tests.docsite.reason_pages import reasons_part

PLACE = re.compile(
    r"^\*`make site` writes here what the program itself says: ([A-Za-z-]+)\.\*$", re.MULTILINE
)

PARTS: dict[str, Callable[[], str]] = {
    **{kind: partial(kind_part, kind) for kind in DOCUMENTS},
    "policies": policies_part,
    "readings": reading_tables,
    "reasons": reasons_part,
    "metrics": metrics_part,
    "labels": labels_part,
    "alerts": alerts_part,
    "commands": commands_part,
    "settings": settings_part,
    "gates": gates_part,
}
"""What makes each part."""


def filled(text: str) -> str:
    """The page with what is generated in its places; a name that nothing makes is a KeyError."""
    return PLACE.sub(lambda place: PARTS[place[1]](), text)
