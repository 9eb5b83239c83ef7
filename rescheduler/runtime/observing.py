"""What a cycle sees: the cluster with its readings, or a recording of them."""

import os
import socket
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Protocol

from rescheduler.model.cluster.observed_scheduler import ObservedScheduler
from rescheduler.model.cluster.readings import ReadingRequest
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem
from rescheduler.runtime.process_dependencies import dependencies_of
from rescheduler.runtime.reading_sources import read_all, reading_sources, with_address
from rescheduler.runtime.settings import Settings
from rescheduler.sources.kubernetes.client import Connection
from rescheduler.sources.kubernetes.cluster import read_cluster
from rescheduler.sources.kubernetes.running_scheduler import foreign_address, read_scheduler
from rescheduler.sources.recording import load


class Observe(Protocol):
    """Takes a snapshot with these readings, and these annotations besides those always read."""

    def __call__(
        self,
        requests: Iterable[ReadingRequest],
        annotations: frozenset[str] = frozenset(),
        /,
    ) -> Snapshot:
        """The snapshot."""


def observer(settings: Settings, connection: Connection | None, *, stats: bool = False) -> Observe:
    """How to take snapshots: from the recording if there is one, else from the real sources.

    stats: whether readings have what they cost.
    """
    if settings.snapshot is not None:
        recording = load(settings.snapshot)
        return lambda *_wanted: recording
    if connection is None:
        raise ValueError("a live snapshot needs a connection")
    sources = reading_sources(settings, stats=stats, connection=connection)

    def observe(
        requests: Iterable[ReadingRequest], annotations: frozenset[str] = frozenset(), /
    ) -> Snapshot:
        bare = read_cluster(connection, annotations, now=lambda: datetime.now(UTC))
        addressed = with_address(settings, sources, bare)
        needs = dependencies_of(addressed, os.environ, socket.gethostname())
        read = replace(bare, readings=read_all(sources, requests, bare), dependencies=needs)
        return with_scheduler(settings, connection, read)

    return observe


def with_scheduler(settings: Settings, connection: Connection, snapshot: Snapshot) -> Snapshot:
    """The snapshot with what the running scheduler reports about itself, if it is to be read."""
    if settings.scheduler_url is None:
        return snapshot
    verify = not settings.scheduler_insecure_skip_tls_verify
    proven = verify and settings.scheduler_ca_file is not None
    foreign = foreign_address(settings.scheduler_url, snapshot, connection.server, proven=proven)
    if foreign:
        problem = Problem("GRD010", foreign)
        return replace(
            snapshot, scheduler=ObservedScheduler(url=settings.scheduler_url, problem=problem)
        )
    observed = read_scheduler(
        connection,
        settings.scheduler_url,
        ca_file=settings.scheduler_ca_file,
        verify=verify,
    )
    return replace(snapshot, scheduler=observed)
