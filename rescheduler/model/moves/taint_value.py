"""The value of a soft taint: who set it, and until when it may stay.

Its value says who set it and until when it may stay, so that after a crash the next run can tell
ours from those of others, which are never touched.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from rescheduler.kube.objects import Node
from rescheduler.kube.pods.tolerations import SOFT_TAINT

_TIME = "%Y%m%dT%H%M%SZ"
_MARK = re.compile(r"fence-([0-9]{1,18})\.until-([0-9]{8}T[0-9]{6}Z)", re.ASCII)


class TaintValue(NamedTuple):
    """Who set a taint, by the lease transition, and until when it may stay."""

    fence: int
    until: datetime


def taint_value(mark: TaintValue) -> str:
    """The value of the taint: like a label's, of 63 characters at most."""
    return f"fence-{mark.fence}.until-{mark.until.astimezone(UTC).strftime(_TIME)}"


def read(value: str) -> TaintValue | None:
    """The mark in the value of a taint; None where it is not one of ours."""
    match = _MARK.fullmatch(value)
    if match is None:
        return None
    try:
        until = datetime.strptime(match[2], _TIME).replace(tzinfo=UTC)
    except ValueError:
        return None
    return TaintValue(int(match[1]), until)


def tainted_by_us(nodes: Iterable[Node]) -> list[str]:
    """The names of the nodes that bear a taint of ours."""
    return [
        node.metadata.name
        for node in nodes
        for taint in node.spec.taints or ()
        if taint.key == SOFT_TAINT.key
        and taint.effect == SOFT_TAINT.effect
        and read(taint.value or "") is not None
    ]
