"""The nodes of the sample plans: 60, of which 5 are hot; and the documents of their policies."""

from typing import Any

from rescheduler.model.moves.plan import Change, NodeView

HOT = ["gpu-a-03", "gpu-a-07", "gpu-a-11", "gpu-a-12", "gpu-a-18"]
COOL = ["gpu-b-04", "gpu-c-09", "gpu-b-17", "gpu-c-02", "gpu-b-11", "gpu-c-14"]


def load(number: int, salt: int) -> float:
    """A load between 12 and 42 % that looks like real life."""
    return round(0.12 + ((number * 37 + salt * 53) % 61) / 200, 4)


DOCUMENTS: dict[str, dict[str, Any]] = {
    "gpu-utilization": {
        "apiVersion": "rescheduler.io/v1alpha1",
        "kind": "Utilization",
        "metadata": {"name": "gpu-utilization"},
        "spec": {
            "mode": "Enforce",
            "nodes": {"labels": {"matchLabels": {"pool": "gpu"}}},
            "match": {"all": True},
            "targets": {"gpu": {"high": "50%", "low": "45%"}},
            "window": "5m",
        },
    },
    "zone-spread": {
        "apiVersion": "rescheduler.io/v1alpha1",
        "kind": "Spread",
        "metadata": {"name": "zone-spread"},
        "spec": {"mode": "Audit", "weight": 2.0, "match": {"namespaces": ["web"]}, "maxSkew": 1},
    },
}


def node_views(*, moved: bool) -> list[NodeView]:
    views = []
    for number in range(60):
        name = f"gpu-{'abc'[number // 20]}-{number % 20 + 1:02d}"
        before = 0.95 - HOT.index(name) * 0.03 if name in HOT else load(number, 1)
        if name in COOL:
            before = round(before / 2, 4)
        after = before
        pods = 7 if name in HOT else 4 + number % 3
        shift = 0
        if moved and name in HOT:
            after, shift = before - 0.46, -1
        elif moved and name in COOL[:5]:
            after, shift = before + 0.25, 1
        views.append(
            NodeView(
                name=name,
                zone=f"eu-west-1{name[4]}",
                pods=Change(before=pods, after=pods + shift),
                load={
                    "node.gpu": Change(before=before, after=round(after, 4)),
                    "node.network.receive": Change(
                        before=load(number, 2), after=round(load(number, 2) + shift * 0.05, 4)
                    ),
                    "node.network.transmit": Change(
                        before=None if number == 41 else load(number, 3),
                        after=None if number == 41 else load(number, 3),
                    ),
                },
            )
        )
    return views
