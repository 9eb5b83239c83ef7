"""The table of gates: all conditions of an eviction, in the order in which they are checked.

A row says what must hold, when it is looked at and with which codes it refuses. The functions of
the rows are in `planning/gates`; those that have to read something from the API server are in
`acting/gates`.
"""

from dataclasses import dataclass
from typing import Literal

Moment = Literal["any time", "batch", "plan", "read", "intent", "request"]
"""When a gate is looked at.

any time: before each read and each request.
batch: on the fresh snapshot of a batch, and on another one each minute, and as soon as a
replacement is overdue or lost. plan: by our own state and that snapshot, before anything is read
again. read: by what is read of the pod right before its eviction. intent: when the intent is
stored. request: right before the request.
"""

Purpose = Literal["move", "dependent", "release"]
"""move: the eviction of a running pod. dependent: the same, later, of one that others make room
for, or that makes room with them: it must be possible too. release: the eviction of a replacement
that stays Pending."""

_PODS: tuple[Purpose, ...] = ("move", "dependent")
_ALL: tuple[Purpose, ...] = ("move", "dependent", "release")


@dataclass(frozen=True, slots=True)
class Gate:
    """What must hold, when it is looked at, and with which codes it refuses.

    codes: those of the refusal, or the first letters of a family of codes. halts: whether nothing
    more is evicted in the run; otherwise the other moves go on. purposes: for which it is checked.
    """

    name: str
    moment: Moment
    codes: tuple[str, ...]
    sentence: str
    halts: bool = False
    purposes: tuple[Purpose, ...] = _ALL


GATES: tuple[Gate, ...] = (
    Gate("running", "any time", ("ACT014",), "Nobody has stopped the run.", halts=True),
    Gate("not paused", "any time", ("GRD006",), "Nobody has paused acting.", halts=True),
    Gate(
        "lock",
        "any time",
        ("ACT015",),
        "The lock stays ours until the request has ended.",
        halts=True,
    ),
    Gate(
        "guards",
        "batch",
        ("GRD",),
        "No guard holds on a snapshot at most a minute old as the next move or group begins, "
        "and read after the last replacement was lost.",
        halts=True,
        purposes=("move",),
    ),
    Gate(
        "not refused before",
        "plan",
        ("ACT004", "ACT007"),
        "The API server has refused no eviction of its namespace or budget in this run.",
    ),
    Gate("not evicted before", "plan", ("ELG022",), "The pod was not evicted before."),
    Gate(
        "slot",
        "plan",
        ("ELG022",),
        "Its workload awaits fewer replacements than `inFlightPerWorkload`.",
        purposes=_PODS,
    ),
    Gate(
        "rested",
        "plan",
        ("ELG022",),
        "Its workload does not rest after an eviction without a clear answer.",
        purposes=("release",),
    ),
    Gate("limits", "plan", ("PAC",), "No limit on moves is reached."),
    Gate(
        "only entry",
        "plan",
        ("STR004",),
        "No other replacement of its controller is being steered.",
        purposes=("release",),
    ),
    Gate(
        "steered no more",
        "plan",
        ("STR",),
        "No means still steers by the entry that was taken out.",
        purposes=("release",),
    ),
    Gate(
        "not held",
        "plan",
        ("ELG038", "ELG039", "ELG040"),
        "No replacement is missing in its namespace, whose objects can be read in time, and such "
        "pods land where that is predicted.",
        purposes=_PODS,
    ),
    Gate(
        "worth it",
        "plan",
        ("DRF", "ACT002", "ELG", "FEA", "MRG", "BUD", "PAC", "SEL", "STB", "DAT"),
        "On the fresh snapshot it is still allowed, lands where planned and gains enough.",
        purposes=("move",),
    ),
    Gate(
        "readable",
        "read",
        ("ACT021", "ACT024"),
        "All that the eviction depends on can be read.",
    ),
    Gate(
        "Workload",
        "read",
        ("ACT021",),
        "Kueue's Workload of its gang is the one that was planned for, and may be deleted.",
        purposes=_PODS,
    ),
    Gate(
        "same pod",
        "read",
        ("ACT002", "ACT003", "DRF001"),
        "The pod is the one that was planned for, where it was, and as it was.",
    ),
    Gate(
        "gang can spare it",
        "read",
        ("DRF001", "ELG027", "ACT024"),
        "Its gang has more Ready pods than it needs.",
        purposes=_PODS,
    ),
    Gate(
        "pods can be distinguished",
        "read",
        ("DRF006",),
        "Its controller has no more pods than an intent can remember.",
        purposes=_PODS,
    ),
    Gate(
        "still allowed",
        "read",
        ("DRF005", "DRF006", "DRF007", "ELG", "DAT"),
        "Its node, owners, namespace, budgets and autoscalers, as they were read, allow it.",
    ),
    Gate(
        "pods can be listed",
        "read",
        ("DRF006",),
        "The pods of its controller can be listed by a selector.",
        purposes=_PODS,
    ),
    Gate("read in time", "read", ("ACT024",), "It was read within 4.5 s."),
    Gate(
        "dry run",
        "read",
        ("ACT",),
        "The API server would evict it, by a dry run.",
        purposes=("dependent",),
    ),
    Gate("room in the state", "intent", ("ACT025",), "Its intent is stored."),
    Gate(
        "steered",
        "intent",
        ("STR",),
        "Its replacement is steered where the plan says so.",
        purposes=("move",),
    ),
    Gate(
        "fresh",
        "request",
        ("ACT016",),
        "What it depends on was read at most 5 s ago.",
        halts=True,
    ),
)


def gates_at(moment: Moment, purpose: Purpose) -> tuple[Gate, ...]:
    """The gates of that moment, in their order."""
    return tuple(gate for gate in GATES if gate.moment == moment and purpose in gate.purposes)
