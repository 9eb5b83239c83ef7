"""Notices in the form that each type of receiver takes."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Literal

import msgspec

from rescheduler.model.notice import STATES, Notice
from rescheduler.model.wording import clean

_MOST_LETTERS = 2800
"""Of a message: Slack takes 3000 in a section, and Teams 28 KiB in all."""
_EVENT_LASTS = timedelta(hours=1)
"""How long Alertmanager has what is no state."""
_MARGIN = timedelta(hours=1)
"""A state that is told again keeps its alert meanwhile."""

Receives = Literal["Webhook", "Slack", "Teams", "Alertmanager"]


def notice_body(
    notice: Notice, receives: Receives, repeat_after: timedelta, *, ended: bool = False
) -> bytes:
    """The body of the request, as JSON.

    repeat_after: when the same is told again. ended: the state is over, which only Alertmanager
    is told.
    """
    if receives == "Alertmanager":
        return msgspec.json.encode([_alert(notice, repeat_after, ended=ended)])
    return msgspec.json.encode(_FORMS[receives](notice))


def _lines(notice: Notice) -> list[str]:
    """The lines below the title, cut where they are too many letters."""
    kept: list[str] = []
    letters = 0
    for line in map(clean, notice.lines):
        letters += len(line) + 1
        if letters > _MOST_LETTERS:
            return [*kept, "\N{HORIZONTAL ELLIPSIS}"]
        kept.append(line)
    return kept


def _webhook(notice: Notice) -> dict[str, Any]:
    return {
        "schemaVersion": "1",
        "occasion": notice.occasion,
        "severity": "warning" if notice.warning else "info",
        "code": notice.code,
        "cluster": clean(notice.cluster),
        "plan": clean(notice.plan),
        "at": notice.at,
        "title": clean(notice.title),
        "lines": _lines(notice),
    }


def _heading(notice: Notice) -> str:
    """The title with the cluster that it is of."""
    title = clean(notice.title)
    return f"[{clean(notice.cluster)}] {title}" if notice.cluster else title


def _slack(notice: Notice) -> dict[str, Any]:
    heading = _slack_text(_heading(notice))
    lines = "\n".join(f"\N{BULLET} {_slack_text(line)}" for line in _lines(notice))
    # Fields of type plain_text have no links, mentions or emphasis in them.
    blocks = [
        {"type": "section", "text": {"type": "plain_text", "text": text[:3000], "emoji": False}}
        for text in (heading, lines)
        if text
    ]
    return {"text": heading, "blocks": blocks}


def _slack_text(text: str) -> str:
    """As Slack wants the three characters that control its messages."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _teams(notice: Notice) -> dict[str, Any]:
    # A RichTextBlock takes its text as it is; a TextBlock would read Markdown in it.
    heading = {"type": "TextRun", "text": _heading(notice), "weight": "Bolder"}
    if notice.warning:
        heading["color"] = "Warning"
    blocks: list[dict[str, Any]] = [{"type": "RichTextBlock", "inlines": [heading]}]
    blocks += [
        {
            "type": "RichTextBlock",
            "spacing": "Small",
            "inlines": [{"type": "TextRun", "text": f"\N{BULLET} {line}"}],
        }
        for line in _lines(notice)
    ]
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": blocks,
    }
    content_type = "application/vnd.microsoft.card.adaptive"
    attachment = {"contentType": content_type, "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def _alert(notice: Notice, repeat_after: timedelta, *, ended: bool) -> dict[str, Any]:
    """An alert of Alertmanager's API v2; its labels stay the same while the state lasts."""
    lasts = repeat_after + _MARGIN if notice.occasion in STATES else _EVENT_LASTS
    ends = notice.at if ended else notice.at + lasts
    labels = {
        "alertname": f"Rescheduler{notice.occasion}",
        "occasion": notice.occasion,
        "severity": "warning" if notice.warning else "info",
    }
    if notice.cluster:
        labels["cluster"] = clean(notice.cluster)
    if notice.occasion not in STATES:
        labels["plan"] = clean(notice.plan)  # or the next one would be taken for this
    return {
        "labels": labels,
        "annotations": {
            "summary": clean(notice.title),
            "description": "\n".join(_lines(notice)),
            "plan": clean(notice.plan),
            "code": notice.code,
        },
        "startsAt": _time(notice.at if not ended else notice.at - timedelta(seconds=1)),
        "endsAt": _time(ends),
    }


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")


_FORMS: dict[str, Callable[[Notice], dict[str, Any]]] = {
    "Webhook": _webhook,
    "Slack": _slack,
    "Teams": _teams,
}
