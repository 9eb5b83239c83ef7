"""External catalogs of datasets over HTTP: where each dataset is.

Policies name a catalog; its address comes from the settings and is never shown.

It answers GET with `{"datasets": {NAME: {LEVEL: [DOMAIN, ...]}}}`, such as
`{"datasets": {"imagenet": {"zone": ["a"], "host": ["n7", "n8"]}}}`.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import msgspec
import numpy as np
import requests
import urllib3

from rescheduler.model.cluster.readings import Reading, ReadingRequest
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.problem import Problem
from rescheduler.sources.network_faults import cause
from rescheduler.wire.answers import read_body, session_within_wall_time

DATASET = "pair.dataset"
MAX_BODY = 32 * 2**20
"""Bytes of an answer; a catalog of 100,000 datasets is about a third of it."""


class _Catalog(msgspec.Struct):
    datasets: dict[str, dict[str, list[str]]]


@dataclass(frozen=True, slots=True)
class _Kept:
    pairs: tuple[tuple[str, str], ...]
    at: float


@dataclass(slots=True)
class Catalogs:
    """Reads catalogs, and keeps the last answer of each for as long as its policy allows.

    addresses: that of each catalog by its name.
    """

    addresses: Mapping[str, str] = field(default_factory=dict)
    clock: Callable[[], float] = time.monotonic
    _kept: dict[str, _Kept] = field(default_factory=dict)

    def answers(self, request: ReadingRequest) -> bool:
        """Whether the reading is one of a catalog, whose name the request has."""
        return request.name == DATASET

    def catalog(self) -> list[ReadingRequest]:
        """None: which catalogs there are, only policies name."""
        return []

    def read(
        self,
        requests: Iterable[ReadingRequest],
        snapshot: Snapshot,  # noqa: ARG002 - a catalog names domains, whatever nodes there are
    ) -> list[Reading]:
        """A reading for each request; while a catalog is down, its last answer if it is not old."""
        return [self._read(request) for request in requests]

    def _read(self, request: ReadingRequest) -> Reading:
        name, notes = request.query, []
        url = self.addresses.get(name)
        if url is None:
            message = f"--dataset-catalogs gives no address for catalog {name!r}"
            return _reading(request, (), 0.0, (), Problem("RDG001", message))
        try:
            self._kept[name] = _Kept(_fetch(url, request.window), self.clock())
        except (
            requests.RequestException,
            urllib3.exceptions.HTTPError,
            msgspec.MsgspecError,
            RecursionError,
            OSError,
            ValueError,
        ) as error:
            # What the libraries say holds the address, which people may not be meant to see.
            why = cause(error).replace(url, "its address")
            kept = self._kept.get(name)
            if kept is None or self.clock() - kept.at > request.max_age:
                problem = Problem("RDG001", f"catalog {name}: {why}")
                return _reading(request, (), 0.0, (), problem)
            notes.append(f"catalog {name} is down ({why}); its last answer counts")
        kept = self._kept[name]
        return _reading(request, kept.pairs, self.clock() - kept.at, tuple(notes), None)


def _fetch(url: str, timeout: float) -> tuple[tuple[str, str], ...]:
    """Every dataset with every domain that holds it, in an answer within that many seconds."""
    session = requests.Session()
    session.trust_env = False  # no credentials from ~/.netrc, no proxy that nobody named
    session_within_wall_time(session)
    with session, session.get(url, timeout=timeout, stream=True, allow_redirects=False) as answer:
        if answer.status_code != 200:
            raise ValueError(f"status {answer.status_code}")
        body = read_body(answer.raw, MAX_BODY)
    catalog = msgspec.json.decode(body, type=_Catalog)
    return tuple(
        sorted(
            (name, f"{level}={domain}")
            for name, levels in catalog.datasets.items()
            for level, domains in levels.items()
            for domain in domains
        )
    )


def _reading(
    request: ReadingRequest,
    pairs: tuple[tuple[str, str], ...],
    age: float,
    notes: tuple[str, ...],
    problem: Problem | None,
) -> Reading:
    size = len(pairs)
    return Reading(
        request=request,
        unit="",
        values=np.ones(size),
        ages=np.full(size, age),
        expected=np.ones(size, dtype=np.bool_),
        query=request.query,
        notes=notes,
        problem=problem,
        pairs=pairs,
    )
