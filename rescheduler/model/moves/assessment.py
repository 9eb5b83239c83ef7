"""What a policy, or all of them together, say of the placement: states that are never mixed."""

from typing import Annotated, Literal

import msgspec

from rescheduler.model.field_doc import doc
from rescheduler.model.problem import Problem

AssessmentState = Literal["Healthy", "NotJudged", "Powerless", "Improvable"]


class Assessment(msgspec.Struct, frozen=True, kw_only=True):
    """A state, and why it is that one."""

    state: Annotated[
        AssessmentState,
        doc(
            "Healthy: judged, and nothing is wrong. NotJudged: nobody knows. Powerless: something "
            "is wrong, and no move that may be made mends it. Improvable: something is wrong, and "
            "moves are proposed."
        ),
    ]
    why: Annotated[Problem | None, doc("Why it is powerless or not judged, or null.")] = None
