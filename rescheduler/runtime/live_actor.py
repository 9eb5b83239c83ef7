"""The parts that act on a real cluster, behind the ports of `Actor`."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from rescheduler.acting.actor import Actor, Checks, Recorder, discard_record
from rescheduler.actions.api_call import Api, ServerClock, call, steady
from rescheduler.actions.events import EventWriter
from rescheduler.actions.evict import (
    CALL_TIMEOUT,
    EvictionAnswer,
    annotations,
    evict,
)
from rescheduler.actions.kueue_workloads import KueueWorkloads
from rescheduler.actions.lease import Lease
from rescheduler.actions.ledger import Ledger
from rescheduler.actions.seen_pod import read_pod
from rescheduler.actions.steering.extender_lease import NAME as EXTENDER
from rescheduler.actions.steering.extender_lease import ExtenderLease
from rescheduler.actions.steering.soft_taints import SoftTaints
from rescheduler.actions.steering.steering_table import TABLE, SteeringTable
from rescheduler.actions.stored_object import StoredObject
from rescheduler.actions.trail_file import TrailFile, TrailStream
from rescheduler.actions.trail_writer import Trail, TrailTarget
from rescheduler.kube.objects import Pod
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.errors import SettingsError
from rescheduler.model.moves.history import History
from rescheduler.model.moves.plan import MoveResult, PlannedMove
from rescheduler.model.trails.trail_files import IN_FOLDER, is_folder
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.policies.limits import Limits
from rescheduler.reporting.move_reasons import coded_text
from rescheduler.reporting.move_sentences import move_sentence
from rescheduler.runtime.logs import hide_secrets, logger
from rescheduler.sources.output_file import is_stdout
from rescheduler.steering.port import Port
from rescheduler.steering.steering import Steering

NAMESPACE = "rescheduler"
"""Of the lock and the state, wherever we run: were it a setting, two of us could each hold a lock
and spend a budget of their own."""
LEASE = "rescheduler"
STATE = "rescheduler-state"
FINDING_HISTORY = "rescheduler-finding-history"
_READ_TIMEOUT = 5.0
"""Seconds for one pod."""


@dataclass(frozen=True, slots=True)
class LockAndLedger:
    """The lock and the ledger of one process on one cluster, with the server's clock."""

    lease: Lease
    ledger: Ledger
    clock: ServerClock


def open_state(
    api: Api, *, identity: str, wait: Callable[[float], bool] | None = None
) -> LockAndLedger:
    """The lock and the ledger of the cluster; nothing is sent yet.

    identity: unique to this process, such as the host's name with a random part.
    wait: sleeps for so many seconds while the lock is held by another, or answers True as soon as
    the process is stopped.
    """
    # The lock is renewed on connections of its own, so that nothing can hold up a renewal.
    own = Api(configuration=api.configuration)
    own.default_headers = dict(api.default_headers)
    clock = ServerClock()
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
    maps = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
    lease = Lease(
        StoredObject(own, leases, LEASE, clock=clock),
        where=f"{NAMESPACE}/{LEASE}",
        identity=identity,
        now=clock.now,
        wait=wait,
    )
    ledger = Ledger(
        StoredObject(api, maps, STATE, clock=clock),
        where=f"{NAMESPACE}/{STATE}",
        marker=lease,
        clock=clock,
    )
    return LockAndLedger(lease, ledger, clock)


def live_actor(  # noqa: PLR0913 - acting has that many ports
    api: Api,
    state: LockAndLedger,
    *,
    observe: Callable[[], Snapshot],
    recheck: Callable[[Snapshot, History], Checks],
    pods: Callable[[str, str, str], list[Pod]],
    reread: Callable[[str, str], Snapshot],
    queues: Callable[[], Snapshot],
    workload: Callable[[str, str, Sequence[str]], Snapshot],
    sleep: Callable[[float], None],
    stop: Callable[[], str],
    policies: PolicySet,
    record: Recorder = discard_record,
) -> Actor:
    """The actor on a real cluster."""
    state.ledger.keep = policies.limits.keep

    def ask(move: PlannedMove, plan: str, fence: int) -> EvictionAnswer:
        return evict(api, move, annotations(move, plan, fence))

    def dry_run(move: PlannedMove, plan: str, fence: int) -> EvictionAnswer:
        return evict(api, move, annotations(move, plan, fence), dry_run=True)

    get = partial(call, api, "GET", timeout=_READ_TIMEOUT)
    events = EventWriter(
        api,
        instance=state.lease.identity,
        now=state.clock.now,
        describe=move_sentence,
        state=f"{NAMESPACE}/{STATE}",
        reason_text=coded_text,
    )

    def announce(move: PlannedMove, result: MoveResult, plan: str) -> None:
        _log_move(move, result, plan)
        events(move, result, plan)

    return Actor(
        lease=state.lease,
        ledger=state.ledger,
        observe=observe,
        recheck=recheck,
        pod=lambda namespace, name: read_pod(get, namespace, name),
        pods=pods,
        reread=reread,
        queues=queues,
        workload=workload,
        evict=ask,
        dry_run=dry_run,
        announce=announce,
        demoted=events.report_demotion,
        clock=state.clock.now,
        steady=steady,
        sleep=sleep,
        stop=stop,
        limits=policies.limits,
        policies=policies.policies,
        record=record,
        steering=_steering(api, state, sleep, policies.limits),
        kueue=KueueWorkloads(
            lambda method, path, body: call(api, method, path, body, timeout=CALL_TIMEOUT)
        ),
        warn=_warn,
    )


def _steering(
    api: Api, state: LockAndLedger, sleep: Callable[[float], None], limits: Limits
) -> Steering:
    maps = f"/api/v1/namespaces/{NAMESPACE}/configmaps"

    def stored_object(collection: str, name: str) -> StoredObject:
        return StoredObject(api, collection, name, clock=state.clock, makes_namespace=False)

    port = Port(
        clock=state.clock.now,
        sleep=sleep,
        warn=_warn,
        fence=lambda: state.ledger.fence,
        locked=lambda: state.lease.valid_for(CALL_TIMEOUT),
        tainted_nodes=limits.taintedNodes,
        table=SteeringTable(stored_object(maps, TABLE), where=f"{NAMESPACE}/{TABLE}"),
        taints=SoftTaints(stored_object),
        extender=extender_lease(api, state.clock),
    )
    return Steering(port)


def _log_move(move: PlannedMove, result: MoveResult, plan: str) -> None:
    """Log when it happens what has become of a move, so that a cycle that is killed leaves it."""
    logger().info(
        "eviction" if result.landedOn is None else "replacement",
        message=move_sentence(move, result),
        pod=f"{move.pod.namespace}/{move.pod.name}",
        uid=move.pod.uid,
        node=move.source,
        result=result.result,
        code=result.code,
        plan=plan,
    )


def _warn(said: str, **values: str) -> None:
    logger().warning(said, **values)


def extender_lease(api: Api, clock: ServerClock) -> ExtenderLease:
    """Where an extender shows itself, for who writes it and for who reads it."""
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
    store = StoredObject(api, leases, EXTENDER, clock=clock, makes_namespace=False)
    return ExtenderLease(store, clock)


def open_trail(
    path: str, *, most_bytes: int, keep: int, now: Callable[[], datetime] | None
) -> Trail:
    """The audit trail at that path: a file, a folder, or standard output; nothing is written yet.

    now: the API server's time; None where nobody hears it, so that this host's stands in.

    Raises:
        SettingsError: it cannot be written there.
    """
    now = now or ServerClock().now
    target: TrailTarget = TrailStream()
    if not is_stdout(Path(path)):
        target = _trail_file(path, most_bytes, keep)
    return Trail(target, now=now, clean=hide_secrets)


def _trail_file(path: str, most_bytes: int, keep: int) -> TrailFile:
    daily = is_folder(path) or Path(path).is_dir()
    file = Path(path) / IN_FOLDER if daily else Path(path)
    problem = ""
    try:
        if daily:
            file.parent.mkdir(exist_ok=True)
        if file.exists() and not file.is_file():
            problem = "it is not a regular file"
        elif not os.access(file if file.exists() else file.parent, os.W_OK):
            problem = "it may not be written" if file.parent.is_dir() else "its folder is missing"
    except OSError as error:
        problem = error.strerror or str(error)
    if problem:
        raise SettingsError(
            f"--audit-trail {path} cannot be used: {problem}",
            "name a file in a folder that exists and may be written, a folder/, or -.",
        )
    return TrailFile(file, most_bytes=most_bytes, keep=keep, daily=daily)
