"""The service on a real control plane for hundreds of evictions, under churn and faults."""

import random
import threading
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any

import msgspec

from tests.e2e.between import Cut, Effect, Spoiled, When
from tests.e2e.builders.cluster import Cluster, is_ready
from tests.e2e.builders.workloads import deployment
from tests.e2e.crashing import Crashes, accepted, end, judge, moves, state, uid
from tests.e2e.loop import NAMESPACE, USER, install, only_evictions_and_own_state, swift

ROUND = 700
"""Evictions of one installation: its state has room for 850 in a day. Then it is reinstalled."""
MOST_STORED = 1 << 20
"""Bytes that a ConfigMap may have."""
# Zones are drained between prediction and landing. That it then stops, and demotes its policy, has
# tests of its own.
_QUICK = (
    swift(per_cycle=32, per_node=32, per_workload=2, batch=16)
    + """\
  minLandingHitRate: 0
  minMeasuredShare: 0
"""
)
_LEFT = 3
"""So many workloads may still want to spread when the next zone is drained."""
_QUIET = 4
"""Turns without an eviction after which it is drained in any case: those that are left rest.

One whose eviction got no clear answer does for two minutes and more, and as long as others do.
"""
_GUEST = deployment("guest", 3, cpu="500m", memory="1Gi")
_FAULTS = (429, 500, 503, "cut before", "cut after")


class Weather:
    """Spoils about one write in 25, each time in another way; the lock is left alone.

    A lock that cannot be renewed is rightly lost, and the service would do nothing but take it.
    """

    def __init__(self, seed: int) -> None:
        self.done: Counter[str] = Counter()
        self._random = random.Random(seed)
        self._guard = threading.Lock()
        self._pending: dict[Effect, int | str] = {}

    def __call__(self, effect: Effect, when: When) -> None:
        """The hook for `Between`."""
        with self._guard:
            if when == "before" and effect.kind != "lease" and self._random.random() < 0.04:
                self._pending[effect] = self._random.choice(_FAULTS)
            fault = self._pending.get(effect)
            if fault is None or (fault == "cut after" and when == "before"):
                return
            del self._pending[effect]
            self.done[f"{effect.kind}: {fault}"] += 1
        if isinstance(fault, int):
            raise Spoiled(fault)
        raise Cut


class Budgets:
    """Counts the Ready pods behind every budget at every change that the API server reports."""

    def __init__(self, cluster: Cluster, least: int) -> None:
        """least: how many Ready pods each budget must leave, all of which are there now."""
        self.breaches: list[str] = []
        self.changes = 0
        self._api, self._least = cluster.api, least
        selectors = (
            manifest["spec"]["selector"]["matchLabels"]["app"]
            for manifest in cluster.api.items("policy/v1", "PodDisruptionBudget")
        )
        self._ready: dict[str, set[str]] = {app: set() for app in selectors}
        self._failed: list[Exception] = []
        self._ended = threading.Event()
        self._began = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()
        assert self._began.wait(30), "the pods could not be listed"

    def _watch(self) -> None:
        try:
            path = self._api.resource("v1", "Pod").path()
            while not self._ended.is_set():
                listed = self._api.request("GET", path)
                for ready in self._ready.values():
                    ready.clear()
                for pod in listed["items"]:
                    self._take(pod, gone=False)
                self._judge(self._ready)
                self._began.set()
                for line in self._api.watch(path, listed["metadata"]["resourceVersion"]):
                    event = msgspec.json.decode(line)
                    if event["type"] == "ERROR":
                        break  # its version is too old: list again
                    if event["type"] != "BOOKMARK":
                        app = self._take(event["object"], gone=event["type"] == "DELETED")
                        self._judge([app] if app else [])
                    if self._ended.is_set():
                        return
        except Exception as error:  # noqa: BLE001 - `stop` raises it in the test's thread
            self._failed.append(error)

    def _take(self, pod: dict[str, Any], *, gone: bool) -> str:
        """Count this pod or not; its budget, or "" where it has none."""
        metadata = pod["metadata"]
        app = str(metadata.get("labels", {}).get("app", ""))
        if app not in self._ready:
            return ""
        ready = not gone and is_ready(pod)
        (self._ready[app].add if ready else self._ready[app].discard)(metadata["uid"])
        return app

    def _judge(self, apps: Iterable[str]) -> None:
        self.changes += 1
        for app in apps:
            if len(self._ready[app]) < self._least:
                self.breaches.append(f"{app}: {len(self._ready[app])} of {self._least} are Ready")

    def stop(self) -> None:
        """End the watch; what went wrong in it is raised here."""
        self._ended.set()
        if self._failed:
            raise self._failed[0]


@dataclass
class Soaked:
    """What a soak saw."""

    evictions: int = 0
    refused: int = 0
    rounds: int = 0
    drained: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    breaches: list[str] = field(default_factory=list)
    changes: int = 0
    """Changes of pods after which the budgets were counted."""
    memory: list[list[int]] = field(default_factory=list)
    """KiB resident, of each installation, sampled every few seconds."""
    stored: int = 0
    """Bytes of the largest state."""

    def text(self) -> str:
        """As JSON, for a person or a file."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2).decode()


def soak(crashes: Crashes, evictions: int, deadline: float, seed: int = 1) -> Soaked:
    """Run the service until it has made so many evictions; judged all along, and in the end.

    deadline: seconds for all of it.
    """
    crashes.policies.joinpath("policy-1.yaml").write_text(_QUICK, encoding="utf-8")
    found, limit = Soaked(), time.monotonic() + deadline
    budgets = Budgets(crashes.cluster, least=5)  # maxUnavailable 1 of 6
    try:
        while found.evictions < evictions:
            wanted = min(ROUND, evictions - found.evictions)
            _round(crashes, found, wanted, limit, Weather(seed + found.rounds))
            found.rounds += 1
    finally:
        budgets.stop()
    found.breaches, found.changes = budgets.breaches, budgets.changes
    return found


def _round(crashes: Crashes, found: Soaked, wanted: int, limit: float, weather: Weather) -> None:
    """One installation, from its first run to its clean end."""
    cluster = crashes.cluster
    if found.rounds:
        _install_anew(crashes)
    mark = cluster.control_plane.audit.mark()
    crashes.between.forget(weather)
    log = crashes.folder / f"soak-{found.rounds}.log"
    process = crashes.start(("--every", "1s"), log)
    memory: list[int] = []
    done, place = 0, mark
    churn = Churn(cluster)
    found.memory.append(memory)
    try:
        while True:
            assert process.poll() is None, f"it ended\n{log.read_text(encoding='utf-8')[-4000:]}"
            # Only what is new: by the end of a round the log has hundreds of megabytes.
            records, place = cluster.control_plane.audit.read(place)
            new = len(accepted(records))
            done += new
            if done >= wanted:
                break
            assert time.monotonic() < limit, f"{found.evictions + done} evictions until now"
            churn.turn(new)
            memory.append(_resident(process.pid))
            found.stored = max(found.stored, _stored(cluster))
            time.sleep(3)
        crashes.between.forget()
        process.terminate()
        assert process.wait(60) == 0, log.read_text(encoding="utf-8")[-4000:]
    finally:
        end(process)
        churn.open()
    records = cluster.control_plane.audit.since(mark)
    judge(records, f"round {found.rounds}")
    only_evictions_and_own_state(records)
    by_us = records.evictions(by=USER)
    ours = accepted(records)
    charged = {m["podUid"] for m in moves(cluster) if m.get("state") != "refused"}
    forgotten = {uid(our) for our in ours} - charged
    assert not forgotten, f"evicted, and not charged: {forgotten}"
    found.evictions += len(ours)
    found.refused += len(by_us) - len(ours)
    found.faults += weather.done
    found.drained += churn.evicted


class Churn:
    """Drains one zone after the other as an administrator does; workloads come and go."""

    def __init__(self, cluster: Cluster) -> None:
        self.evicted = 0
        self._cluster = cluster
        self._zones = cycle("abc")
        self._closed: set[str] = set()
        """Names of the nodes that are being drained."""
        self._quiet = 0

    def turn(self, evicted: int) -> None:
        """Go on with the drain, or begin the next one once most workloads are spread.

        evicted: how many pods the service has evicted since the turn before.
        """
        pods = self._cluster.pods()
        if not self._closed:
            self._quiet = 0 if evicted else self._quiet + 1
            if self._uneven(pods) <= _LEFT or self._quiet >= _QUIET:
                self._quiet = 0
                self._close(next(self._zones))
            return
        leaving = [pod for pod in pods if pod["spec"].get("nodeName") in self._closed]
        if not leaving:
            self.open()
        for pod in leaving:
            self.evicted += self._cluster.api.evict(pod) == 201

    def _uneven(self, pods: Iterable[dict[str, Any]]) -> int:
        zones: dict[str, Counter[str]] = {}
        for pod in pods:
            if node := pod["spec"].get("nodeName"):
                zones.setdefault(pod["metadata"]["labels"]["app"], Counter("abc"))[node[0]] += 1
        return sum(max(zone.values()) - min(zone.values()) > 1 for zone in zones.values())

    def _close(self, zone: str) -> None:
        api = self._cluster.api
        for node in api.items("v1", "Node"):
            if node["metadata"]["name"].startswith(zone):
                self._closed.add(node["metadata"]["name"])
                api.patch(node, {"spec": {"unschedulable": True}})
        self._cluster.create(_GUEST)

    def open(self) -> None:
        """Let the drained nodes come back."""
        if not self._closed:
            return
        api = self._cluster.api
        for name in self._closed:
            api.patch(api.read("v1", "Node", name), {"spec": {"unschedulable": None}})
        self._closed = set()
        api.delete(_GUEST)


def _install_anew(crashes: Crashes) -> None:
    """Another installation, with an empty state of its own."""
    api = crashes.cluster.api
    crashes.cluster.settled(120)
    metadata = {"name": "rescheduler", "namespace": NAMESPACE}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata}
    api.delete(lease)
    api.delete(state(crashes.cluster))
    install(crashes.cluster, "enforce-cronjob", crashes.folder)


def _resident(pid: int) -> int:
    """KiB of memory that the process has resident."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise ValueError(f"process {pid} has no memory")


def _stored(cluster: Cluster) -> int:
    return len(state(cluster).get("binaryData", {}).get("state", ""))
