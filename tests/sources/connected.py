"""A small cluster behind an API server, and connections to it."""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from rescheduler.sources.kubernetes.client import connect
from rescheduler.sources.kubernetes.transport import Connection
from tests.sources.objects import Api, node, pod
from tests.sources.server import Served, serving

PODS, NODES = "/api/v1/pods", "/api/v1/nodes"


def small(pods: int = 3, page: int = 500) -> Api:
    return Api({PODS: [pod(f"web-{n}", "n1") for n in range(pods)], NODES: [node("n1")]}, page)


@contextmanager
def connected(api: Api, tmp_path: Path) -> Iterator[tuple[Connection, Served]]:
    with serving(api) as served:
        connection = connect(kubeconfig(tmp_path, served.url), None)
        with closing(connection.api):
            yield connection, served


def kubeconfig(folder: Path, url: str) -> Path:
    path = folder / "kubeconfig"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {"token": "t0ken"}}],
    }
    path.write_text(json.dumps(document))
    return path
