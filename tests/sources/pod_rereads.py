"""A server with a pod and all that an eviction of it depends on."""

from collections.abc import Iterator
from typing import Any

import pytest

from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.sources.kubernetes.pod_reread import read_surroundings
from rescheduler.sources.kubernetes.transport import Connection
from tests.fakes.apiserver import FakeServer, serving
from tests.fakes.world import World
from tests.runtime.skewed import skewed


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with serving() as fake:
        fill(fake.world)
        yield fake


def fill(world: World) -> None:
    """A Deployment of four pods on n1, and pods of others beside them."""
    world.load(skewed())
    world.add_pod("other-1", "n2", owner=("ReplicaSet", "other"), app="other")
    world.add_pod("web-9", "n2", owner=("ReplicaSet", "stranger"), app="web")
    world.add_budget("b", "web", allowed=1)
    world.add_autoscaler(("deployments", "default", "web"), current=4, desired=4)


def read(server: FakeServer, name: str = "web-0") -> Snapshot:
    return read_surroundings(Connection(server.client(), "here"), "default", name)


def names(objects: list[Any]) -> list[str]:
    return [api_object.metadata.name for api_object in objects]
