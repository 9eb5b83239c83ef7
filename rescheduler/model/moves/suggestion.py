"""A suggestion: one change of settings or of the cluster, and what planning again with it gives."""

from typing import Annotated

import msgspec

from rescheduler.model.field_doc import doc
from rescheduler.model.finding_count import FindingCount


class WorstNode(msgspec.Struct, frozen=True, kw_only=True):
    """The highest load of any node by one reading, after the plan as it is and as changed."""

    reading: Annotated[str, doc("Name of the reading.")]
    now: Annotated[float, doc("The highest load of any node after this plan, 0 to 1.")]
    changed: Annotated[float, doc("The same after the changed plan.")]


class TrialResult(msgspec.Struct, frozen=True, kw_only=True):
    """What planning again with a change gives, beside the plan as it is."""

    movesNow: Annotated[
        int, doc("Moves of this plan that may be made, without those of Audit policies.")
    ]
    moves: Annotated[int, doc("The same with the change.")]
    gainNow: Annotated[float, doc("Weighted gain of these moves as the plan is.")]
    gain: Annotated[float, doc("The same with the change.")]
    worst: Annotated[
        WorstNode | None,
        doc("The reading whose hottest node gets coolest by it; null: none does."),
    ] = None
    counts: Annotated[
        list[FindingCount],
        doc("What can be counted and differs: after this plan, and after the changed one."),
    ] = []


class Suggestion(msgspec.Struct, frozen=True, kw_only=True):
    """One change that would help."""

    code: Annotated[str, doc("Reason code of what is in the way now; empty where a mode is.")]
    change: Annotated[str, doc("What to do, as a sentence without its end.")]
    how: Annotated[str, doc("What to write and where, as a sentence.")] = ""
    pods: Annotated[int, doc("Candidates that are left alone for it; 0: not known.")] = 0
    trial: Annotated[
        TrialResult | None, doc("What planning again with it gave; null: it was not tried.")
    ] = None
    untried: Annotated[str, doc("Why it was not tried; empty where it was.")] = ""
    risk: Annotated[str, doc("What becomes less safe; empty: nothing.")] = ""
    decides: Annotated[str, doc("Who has to decide that.")] = ""
