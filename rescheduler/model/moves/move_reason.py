"""Why a move is proposed, as data; reports make the words."""

from typing import Annotated

import msgspec

from rescheduler.model.field_doc import doc


class LoadChange(msgspec.Struct, frozen=True):
    """A load of the node that the pod leaves, before and after the move."""

    reading: Annotated[str, doc("Name in the catalogue of readings.")]
    before: Annotated[float, doc("Before the move, 0 to 1 of the node.")]
    after: Annotated[float, doc("After the move.")]


class RequestChange(msgspec.Struct, frozen=True):
    """What a pod asks for of one resource, and what its replacement does."""

    resource: Annotated[str, doc("Name of the resource.")]
    before: Annotated[str, doc("What the pod asks for, as a quantity of Kubernetes.")]
    after: Annotated[str, doc("What its replacement asks for.")]


class MoveReason(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One reason for a move; a field that says nothing of this code is left out."""

    code: Annotated[str, doc("Reason code: three letters for the family and a number.")]
    policy: Annotated[str, doc("The policy that gains.")] = ""
    gain: Annotated[float, doc("Its unweighted gain.")] = 0.0
    weight: Annotated[float, doc("What one unit of its cost counts.")] = 1.0
    subject: Annotated[str, doc("What its finding is about.")] = ""
    finding: Annotated[str, doc("What it finds, in a sentence with the numbers.")] = ""
    later: Annotated[bool, doc("Whether it finds that once other moves of the plan are made.")] = (
        False
    )
    loads: Annotated[list[LoadChange], doc("Loads that the move takes off its node.")] = []
    pod: Annotated[str, doc("The pod that it makes room for: `namespace/name`.")] = ""
    node: Annotated[str, doc("Where that has room, or where the pod itself fits better.")] = ""
    gang: Annotated[str, doc("The gang that it makes room for, or moves with.")] = ""
    others: Annotated[int, doc("Other moves that make room for that gang with it.")] = 0
    requests: Annotated[list[RequestChange], doc("What its replacement asks for instead.")] = []
    like: Annotated[str, doc("What shows these requests, such as its newest sibling.")] = ""
