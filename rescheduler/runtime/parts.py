"""Puts the real parts of a cycle together from the settings."""

import secrets
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rescheduler.acting.actor import Actor, Recorder, discard_record
from rescheduler.model.errors import SettingsError
from rescheduler.model.moves.history import History
from rescheduler.model.moves.past_move import PastMove
from rescheduler.model.moves.plan import Plan, PlannedMove
from rescheduler.model.problem import Problem
from rescheduler.model.reasons import problem
from rescheduler.planning.evaluation.effort import Effort
from rescheduler.policies.files.policy_set import (
    PolicySet,
    limits_from_document,
    policy_from_document,
    policy_set,
    readings_from_document,
    scheduler_from_document,
)
from rescheduler.runtime.cycle import Parts, Phase
from rescheduler.runtime.cycle_period import with_cycle_period
from rescheduler.runtime.live_actor import LockAndLedger, live_actor, open_state, open_trail
from rescheduler.runtime.observing import Observe, observer
from rescheduler.runtime.reading_sources import check_written_address
from rescheduler.runtime.settings import Settings
from rescheduler.runtime.steering_seen import choose_seen_steering, not_set_up, read_version
from rescheduler.runtime.stopping import Stop
from rescheduler.runtime.stored_history import memory_of, recall
from rescheduler.sources.kubernetes.client import Connection, connect
from rescheduler.sources.kubernetes.cluster import read_pods, read_queues
from rescheduler.sources.kubernetes.pod_reread import read_surroundings, read_workload
from rescheduler.sources.output_file import is_stdout
from rescheduler.sources.policy_files import load_policies, shipped_policies


def connection_of(settings: Settings) -> Connection | None:
    """The cluster to connect to; None where a recording stands in for it."""
    if settings.snapshot is not None:
        return None
    return connect(settings.kubeconfig, settings.context)


def parts_of(  # noqa: PLR0913 - who asks for a cycle, and what for
    settings: Settings,
    connection: Connection | None,
    *,
    state: LockAndLedger | None = None,
    stop: Stop | None = None,
    phase: Phase | None = None,
    policies: Callable[[], PolicySet] | None = None,
    remembers: bool = False,
    attended: bool = False,
) -> Parts:
    """The parts of a cycle. With a state, and only then, it can act.

    policies: loads them; otherwise they come from the settings' path.
    remembers: whether what it finds is remembered for the next cycle.
    attended: whether people decide on the plan before anything is done by it.

    Raises:
        SettingsError: it can act, and its metric source is not written down.
    """
    if connection is not None and state is not None:
        check_written_address(settings, connection)
    observe = observer(settings, connection)
    record = _recorder(settings, state)
    actor: Callable[[PolicySet], Actor] | None = None
    if connection is not None and state is not None:
        actor = _actor(settings, connection, state, observe, stop or Stop(), record)

    def remember() -> tuple[History, list[Problem]]:
        if connection is None:
            return History(), []
        return recall(connection)

    def steering_problems(policies: PolicySet) -> list[Problem]:
        return [] if connection is None else not_set_up(connection, policies)

    def choose_steering(policies: PolicySet) -> tuple[PolicySet, list[Problem]]:
        return (policies, []) if connection is None else choose_seen_steering(connection, policies)

    parts = Parts(
        policies=policies or (lambda: policies_of(settings)),
        observe=observe,
        recall=remember,
        actor=actor,
        memory=None if connection is None else memory_of(connection),
        remembers=remembers,
        recorded=settings.snapshot is not None,
        record=record,
        effort=lambda: _effort(settings),
        unsteered=steering_problems,
        attended=attended,
        choose_steering=choose_steering,
        version=lambda: "" if connection is None else read_version(connection),
        fit_schedule=lambda policies, history: with_cycle_period(policies, settings, history),
    )
    return parts if phase is None else replace(parts, phase=phase)


def _effort(settings: Settings) -> Effort:
    """What the settings let one plan cost, from now on by our own steady clock."""
    began, seconds = time.monotonic(), settings.search_time.total_seconds()
    return Effort(
        settings.search_steps,
        expired=lambda: time.monotonic() - began >= seconds,
        half_spent=lambda: time.monotonic() - began >= seconds / 2,
    )


def policies_of(settings: Settings) -> PolicySet:
    """The policies at the settings' path.

    Raises:
        PolicyError: they cannot be used. SettingsError: no path was given.
    """
    if settings.policies is None:
        raise SettingsError("no policies were given", "add --policies PATH.")
    return load_policies(settings.policies)


def policies_or_shipped(settings: Settings) -> PolicySet:
    """The policies at the settings' path, or those that come with the program; acts on none.

    Raises:
        PolicyError: they cannot be used.
    """
    return shipped_policies() if settings.policies is None else load_policies(settings.policies)


def policies_in(plan: Plan) -> PolicySet:
    """The policies and limits that a plan was made with, from the plan itself.

    Raises:
        PolicyError: they are not such that this version knows.
    """
    return policy_set(
        [policy_from_document(policy.document) for policy in plan.policies],
        limits_from_document(
            {
                "apiVersion": "rescheduler.io/v1alpha1",
                "kind": "Limits",
                "metadata": {"name": "default"},
                "spec": plan.limits,
            }
        ),
        tuple(scheduler_from_document(document) for document in _scheduler_documents(plan)),
        tuple(map(readings_from_document, plan.ownReadings)),
    )


def _scheduler_documents(plan: Plan) -> list[dict[str, Any]]:
    """The Scheduler documents in the plan; one may declare several schedulers."""
    documents = [scheduler.document for scheduler in plan.schedulers if scheduler.document]
    return list({document["metadata"]["name"]: document for document in documents}.values())


def state_of(connection: Connection, stop: Stop) -> LockAndLedger:
    """The lock and the ledger, under a name that only this process has; nothing is sent yet."""
    return open_state(
        connection.api,
        identity=f"{socket.gethostname()}_{secrets.token_hex(4)}",
        wait=stop.wait,
    )


def _actor(
    settings: Settings,
    connection: Connection,
    state: LockAndLedger,
    observe: Observe,
    stop: Stop,
    record: Recorder,
) -> Callable[[PolicySet], Actor]:
    def make(policies: PolicySet) -> Actor:
        requests, notes = policies.requests(), policies.limits.own_annotations

        return live_actor(
            connection.api,
            state,
            observe=lambda: observe(requests, notes),
            recheck=lambda _snapshot, _history: _NoPlanYet(),
            pods=lambda namespace, labels, name: read_pods(connection, namespace, labels, name),
            reread=lambda namespace, name: read_surroundings(connection, namespace, name, notes),
            queues=lambda: read_queues(connection),
            workload=partial(read_workload, connection),
            sleep=stop.sleep,
            stop=stop.reason_within(settings.cycle_deadline),
            policies=policies,
            record=record,
        )

    return make


def _recorder(settings: Settings, state: LockAndLedger | None) -> Recorder:
    """What writes the audit trail of the settings, if they ask for one.

    Raises:
        SettingsError: it cannot be written there, or would stand amid the result.
    """
    if settings.audit_trail is None:
        return discard_record
    if not settings.audit_trail:
        raise SettingsError("--audit-trail is empty", "name a file, a folder/ or -.")
    if settings.audit_trail_max_size < 1 or settings.audit_trail_max_files < 1:
        raise SettingsError(
            "--audit-trail-max-size and --audit-trail-max-files must be 1 or more",
            "leave them out: 64 MiB and 30 files suit most clusters.",
        )
    amid = is_stdout(Path(settings.audit_trail)) and is_stdout(settings.out)
    if amid and settings.output != "table":
        raise SettingsError(
            f"the audit trail and the result as {settings.output} both go to standard output",
            "add --out FILE, or give --audit-trail a file.",
        )
    trail = open_trail(
        settings.audit_trail,
        most_bytes=settings.audit_trail_max_size * 1024 * 1024,
        keep=settings.audit_trail_max_files,
        now=None if state is None else state.clock.now,
    )
    return trail.record


class _NoPlanYet:
    """Until a plan puts its own checks here, nothing may be evicted."""

    def guards(self) -> list[Problem]:
        return []

    def refuse_held(self, _move: PlannedMove, /) -> None:
        return None

    def check(self, _move: PlannedMove, _made: Sequence[PastMove], /) -> Problem:
        return problem("DRF004")
