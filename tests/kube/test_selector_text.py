"""A controller's selector as the API takes it in a query."""

from typing import Any

import msgspec
import pytest

from rescheduler.kube.controllers import Controller, selector_text


@pytest.mark.parametrize(
    ("kind", "selector", "text"),
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
    ],
)
def test_a_selector_in_text(kind: str, selector: dict[str, Any] | None, text: str) -> None:
    controller = msgspec.convert({"kind": kind, "spec": {"selector": selector}}, Controller)
    assert selector_text(controller) == text
