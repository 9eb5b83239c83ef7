"""Marks of nodes and pods that other tools leave, as operators write them in the Limits."""

from collections.abc import Iterable
from dataclasses import replace

from pydantic import Field, model_validator

from rescheduler.documents.field_problems import FieldError
from rescheduler.documents.fields import Strict
from rescheduler.documents.label_names import (
    AnnotationPattern,
    ConditionPattern,
    LabelPattern,
    TaintPattern,
)
from rescheduler.kube.nodes.node_marks import NodeMark, Source, node_mark


class AvoidedNode(Strict):
    """Which nodes no replacement is sent to: those that carry one mark."""

    taint: TaintPattern | None = Field(
        None,
        description="Nodes with this taint, whatever its effect; `key`, `key=value` or `a.b/`.",
    )
    condition: ConditionPattern | None = Field(
        None, description="Nodes with this condition: `type`, which is True, or `type=status`."
    )
    label: LabelPattern | None = Field(
        None, description="Nodes with this label: `key`, which is not `false`, or `key=value`."
    )
    annotation: AnnotationPattern | None = Field(
        None,
        description="Nodes with this annotation: `key`, which is not `false`, or `key=value`.",
    )
    ignore: bool = Field(
        default=False,
        description="The mark says nothing in this cluster: not one that is built in.",
    )

    @model_validator(mode="after")
    def _is_one_mark(self) -> "AvoidedNode":
        if len(self._given) != 1:
            raise FieldError("must have one of taint, condition, label and annotation")
        return self

    @property
    def _given(self) -> list[tuple[Source, str]]:
        fields: list[tuple[Source, str | None]] = [
            ("taint", self.taint),
            ("condition", self.condition),
            ("label", self.label),
            ("annotation", self.annotation),
        ]
        return [(source, text) for source, text in fields if text]

    @property
    def mark(self) -> NodeMark:
        """The mark."""
        return node_mark(*self._given[0])


def believed(marks: Iterable[NodeMark], written: Iterable[AvoidedNode]) -> list[NodeMark]:
    """Those of the known marks that nothing tells to ignore; one without a value is all values."""
    ignored = {each.mark for each in written if each.ignore}
    return [
        mark
        for mark in marks
        if mark not in ignored
        and (mark.source == "condition" or replace(mark, value="") not in ignored)
    ]
