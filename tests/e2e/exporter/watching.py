"""Follows one kind of object by list and watch, for ever."""

import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec
import requests

from rescheduler.kube.nesting import decode_json
from tests.e2e.controlplane.api import Api, ApiError
from tests.e2e.exporter.objects import ListMeta, Node, Pod
from tests.e2e.exporter.world import World

Kind = TypeVar("Kind", Node, Pod)


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Listed(msgspec.Struct):
    metadata: ListMeta
    items: list[Any]


class Follower(threading.Thread, Generic[Kind]):
    """A thread that keeps the world as the API server says."""

    def __init__(
        self,
        api: Api,
        path: str,
        kind: type[Kind],
        reconcile: Callable[[list[Kind]], None],
        changed: Callable[[Kind], None],
        gone: Callable[[Kind], None],
    ) -> None:
        """path: the collection; reconcile, changed, gone: what to call for it."""
        super().__init__(name=path, daemon=True)
        self.synced = threading.Event()
        self._api = api
        self._path = path
        self._decoder: msgspec.json.Decoder[Kind] = msgspec.json.Decoder(kind)
        self._kind: type[Kind] = kind
        self._reconcile: Callable[[list[Kind]], None] = reconcile
        self._handlers: dict[str, Callable[[Kind], None]] = {
            "ADDED": changed,
            "MODIFIED": changed,
            "DELETED": gone,
        }

    def run(self) -> None:
        """List, watch, and again when the watch ends or the API server is away."""
        while True:
            try:
                version = self._list()
                self.synced.set()
                self._watch(version)
            except (requests.RequestException, ApiError) as error:
                sys.stderr.write(f"watch of {self._path}: {error}\n")
                time.sleep(0.5)

    def _list(self) -> str:
        answer: Any = self._api.request("GET", self._path)
        listed = msgspec.convert(answer, _Listed)
        self._reconcile([msgspec.convert(item, self._kind) for item in listed.items])
        return listed.metadata.resourceVersion

    def _watch(self, version: str) -> None:
        for line in self._api.watch(self._path, version):
            event = decode_json(line, _Event)
            if event.type == "ERROR":
                return
            handle = self._handlers.get(event.type)
            if handle is not None:
                handle(self._decoder.decode(event.object))


def follow(api: Api, world: World) -> None:
    """Start to follow nodes and pods; returns when both were listed once."""
    nodes = Follower(
        api,
        "/api/v1/nodes",
        Node,
        lambda items: world.reconcile(nodes=items),
        world.node_changed,
        world.node_gone,
    )
    pods = Follower(
        api,
        "/api/v1/pods",
        Pod,
        lambda items: world.reconcile(pods=items),
        world.pod_changed,
        world.pod_gone,
    )
    for follower in (nodes, pods):
        follower.start()
    for follower in (nodes, pods):
        if not follower.synced.wait(30):
            raise TimeoutError(f"no list of {follower.name} in 30 s")
