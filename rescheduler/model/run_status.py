"""The status: what runs, why nothing moves now, and what is left of each budget."""

from datetime import datetime
from typing import Annotated

import msgspec

from rescheduler.model.field_doc import SchemaVersion, doc
from rescheduler.model.kept_cycles import CycleRecord
from rescheduler.model.moves.suggestion import Suggestion
from rescheduler.model.problem import Problem

SCHEMA_VERSION = "1"


class LockView(msgspec.Struct, frozen=True, kw_only=True):
    """The lock."""

    holder: Annotated[str, doc("The instance that holds it; empty where nobody does.")]
    renewed: Annotated[datetime | None, doc("When it was renewed last, or null.")]
    expires: Annotated[datetime | None, doc("When it expires without another renewal, or null.")]
    live: Annotated[bool, doc("Whether somebody holds it and it has not expired.")]


class SpentBudget(msgspec.Struct, frozen=True, kw_only=True):
    """One limit on moves as it is now."""

    limit: Annotated[str, doc("Field of the Limits.")]
    window: Annotated[str, doc("In what time moves count together: cycle, hour or day.")]
    group: Annotated[str, doc("What is counted together; empty: all moves.")]
    amount: Annotated[str, doc("As the Limits have it, a number or a percentage of pods.")]
    used: Annotated[int, doc("Moves that count now.")]
    most: Annotated[
        int | None,
        doc("Moves that may be made in it; null for a percentage of pods that nobody counted."),
    ]
    remaining: Annotated[
        int | None, doc("How many of them are left; null where `most` is; `notes` says why.")
    ]
    since: Annotated[datetime, doc("Moves that were made since then count.")]
    free: Annotated[
        datetime | None, doc("When the oldest of them counts no more; null where none counts.")
    ]


class OpenMove(msgspec.Struct, frozen=True, kw_only=True):
    """A move whose replacement is not Ready yet, or of which no answer has come."""

    namespace: Annotated[str, doc("Namespace of the pod.")]
    pod: Annotated[str, doc("Name of the evicted pod.")]
    node: Annotated[str, doc("The node that it leaves.")]
    landedOn: Annotated[str, doc("Node of the replacement; empty where there is none yet.")]
    state: Annotated[str, doc("What the move waits for.")]
    since: Annotated[datetime, doc("When the eviction was announced.")]
    plan: Annotated[str, doc("Id of the plan.")]
    policies: Annotated[list[str], doc("Policies that wanted it.")]
    steered: Annotated[bool, doc("Whether its replacement is steered.")]


class ReportingPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """A policy that only reports."""

    policy: Annotated[str, doc("Name of the policy.")]
    until: Annotated[
        datetime | None, doc("When it acts again; null where that is for people to decide.")
    ]
    code: Annotated[str, doc("Reason code; empty where its document says so.")]
    message: Annotated[str, doc("Why it only reports.")]


class ResetOffer(msgspec.Struct, frozen=True, kw_only=True):
    """What a person can reset."""

    command: Annotated[str, doc("The command to type.")]
    message: Annotated[str, doc("What it ends, and since when that is so.")]


class SteeringView(msgspec.Struct, frozen=True, kw_only=True):
    """What steers."""

    by: Annotated[
        list[str],
        doc("The means that policies want; empty where they want none, or none is known."),
    ]
    live: Annotated[
        bool | None, doc("Whether all of them are set up; null where none is wanted or known.")
    ]
    problems: Annotated[list[Problem], doc("What is not set up.")]


class NextCycle(msgspec.Struct, frozen=True, kw_only=True):
    """When the next cycle begins."""

    at: Annotated[
        datetime | None, doc("When the next cycle begins, or null where that is not known.")
    ]
    message: Annotated[str, doc("Who runs it, or why it is not known.")]
    overdueSeconds: Annotated[
        float | None, doc("By how much the cycle after the last one is late, or null.")
    ]


class RunStatus(msgspec.Struct, frozen=True, kw_only=True, tag="Status", tag_field="kind"):
    """What runs in a cluster, as it is read now."""

    schemaVersion: SchemaVersion = SCHEMA_VERSION
    tool: Annotated[str, doc("Name and version of the program that wrote this.")]
    taken: Annotated[datetime, doc("When it was read, by the API server's clock.")]
    cluster: Annotated[str, doc("Name of the cluster, as the kubeconfig calls it.")]
    mode: Annotated[
        str, doc("Mode of the last cycle, Audit or Enforce; empty where none is known.")
    ]
    paused: Annotated[bool, doc("Whether people have paused all evictions.")]
    reasons: Annotated[
        list[Problem],
        doc("Why nothing moves now, the first that holds first; empty: nothing holds it."),
    ]
    lock: Annotated[LockView | None, doc("The lock, or null where it may not be read.")]
    next: Annotated[NextCycle, doc("The next cycle.")]
    cycles: Annotated[list[CycleRecord], doc("The last cycles, the newest first.")]
    budgets: Annotated[
        list[SpentBudget],
        doc("What is used of each limit on moves; empty where the Limits are not known."),
    ]
    slowStartCycles: Annotated[
        int, doc("Cycles of the slow start that are to come, each of one move.")
    ]
    moves: Annotated[list[OpenMove], doc("Moves that are under way.")]
    policies: Annotated[list[ReportingPolicy], doc("Policies that only report.")]
    steering: Annotated[SteeringView, doc("What steers replacements.")]
    resets: Annotated[list[ResetOffer], doc("What `rescheduler reset` can end here.")]
    plan: Annotated[str, doc("Id of the plan whose report is kept; empty without one.")]
    planTaken: Annotated[
        datetime | None, doc("When the cluster was read for that plan; null without one.")
    ]
    suggestions: Annotated[
        list[Suggestion],
        doc("The changes that would help most, as that plan has them; empty once it was acted on."),
    ]
    notes: Annotated[list[str], doc("What could not be read, and what follows from that.")]
