"""A controller's selector as the API takes it in a query."""

from typing import Any

import msgspec

from rescheduler.kube.controllers import (
    MOST_SELECTOR,
    Controller,
    selector_size,
    selector_text,
)
from tests.cases import every


@every(
    [
        ("ReplicaSet", {"matchLabels": {"app": "web", "hash": "1"}}, "app=web,hash=1"),
        ("ReplicationController", {"app": "web"}, "app=web"),
        ("Job", None, ""),
        (
            "StatefulSet",
            {
                "matchLabels": {"app": "web"},
                "matchExpressions": [
                    {"key": "tier", "operator": "In", "values": ["a", "b"]},
                    {"key": "zone", "operator": "NotIn", "values": ["c"]},
                    {"key": "live", "operator": "Exists"},
                    {"key": "old", "operator": "DoesNotExist"},
                ],
            },
            "app=web,tier in (a,b),zone notin (c),live,!old",
        ),
    ]
)
def test_a_selector_in_text(kind: str, selector: dict[str, Any] | None, text: str) -> None:
    controller = msgspec.convert({"kind": kind, "spec": {"selector": selector}}, Controller)
    assert selector_text(controller) == text


@every([10, 29, 30, 100])
def test_one_that_is_too_long_to_ask_with_is_none(values: int) -> None:
    """Its size as JSON is an upper bound of its text."""
    drawn = ["v" * 63] * values
    expression = {"key": "app", "operator": "NotIn", "values": drawn}
    selector = {"matchLabels": {"app": "web"}, "matchExpressions": [expression]}
    controller = msgspec.convert({"kind": "ReplicaSet", "spec": {"selector": selector}}, Controller)
    text = f"app=web,app notin ({','.join(drawn)})"
    assert len(text) < selector_size(controller)
    assert selector_text(controller) == (text if values < 30 else "")
    assert (selector_size(controller) > MOST_SELECTOR) == (values >= 30)
