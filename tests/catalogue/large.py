"""An API server with 50,000 pods of the size that real ones have, listed page by page."""

import json
from datetime import UTC, datetime, timedelta
from email.utils import formatdate
from typing import Any

from tests.sources.objects import CREATED, Api, named, node, pod
from tests.sources.server import Reply, Request

PODS = "/api/v1/pods"
PAGES, PAGE = 100, 500
SIZE = 4700
"""Bytes of a pod, of which most are managedFields and other things that nobody needs."""
_NUMBER = b"@PAGE@"


class Large(Api):
    """A thousand nodes in three zones, and a ReplicaSet of 500 pods for each page of the list.

    The pages differ in names and UIDs alone, so that the server has one of them in memory.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "/api/v1/namespaces": [named("kube-system"), named("team")],
                "/api/v1/nodes": _old([_node(number) for number in range(1000)]),
                "/apis/apps/v1/replicasets": [_replica_set(number) for number in range(PAGES)],
            }
        )
        self.asked: list[str] = []
        pods = _old([_padded(pod(f"web-@PAGE@-{n}", f"n{2 * n}")) for n in range(PAGE)])
        self._page = json.dumps(pods).encode()

    def __call__(self, request: Request) -> Reply:
        date = {"Date": formatdate(usegmt=True)}
        if request.path != PODS:
            told = super().__call__(request)
            return Reply(told.body, told.status, {**told.headers, **date})
        self.asked.append(request.query["limit"])
        number = int(request.query.get("continue", 0))
        token = {"continue": str(number + 1)} if number + 1 < PAGES else {}
        metadata = json.dumps({"resourceVersion": "1", **token}).encode()
        items = self._page.replace(_NUMBER, b"%d" % number)
        return Reply(b'{"metadata":%s,"items":%s}' % (metadata, items), 200, date)


def _old(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same, made two days ago."""
    made = (datetime.now(UTC) - timedelta(days=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
    aged: list[dict[str, Any]] = json.loads(json.dumps(objects).replace(CREATED, made))
    return aged


def _node(number: int) -> dict[str, Any]:
    made = node(f"n{number}")
    made["metadata"]["labels"] = {"topology.kubernetes.io/zone": "aabbc"[number // 200]}
    return made


def _replica_set(number: int) -> dict[str, Any]:
    return {
        "metadata": {"name": f"web-{number}", "namespace": "team", "uid": f"rs-{number}"},
        "spec": {"replicas": PAGE, "selector": {"matchLabels": {"app": f"web-{number}"}}},
        "status": {"replicas": PAGE, "readyReplicas": PAGE, "observedGeneration": 0},
    }


def _padded(made: dict[str, Any]) -> dict[str, Any]:
    metadata = made["metadata"]
    metadata["labels"] = {"app": "web-@PAGE@"}
    metadata["annotations"] = {"note": "of no use to anybody"}
    metadata["ownerReferences"][0].update(name="web-@PAGE@", uid="rs-@PAGE@")
    made["spec"]["volumes"] = []
    left = SIZE - len(json.dumps(made))
    metadata["managedFields"].append({"manager": "kubelet", "fieldsV1": {"f:status": "." * left}})
    return made
