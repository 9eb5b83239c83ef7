"""Marks of nodes and pods that other tools leave, as operators write them in the Limits."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

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
from rescheduler.kube.objects import ObjectMeta


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
    leaving: bool = Field(
        default=False,
        description="The node is being taken away: besides, no pod is moved off it, as anybody who "
        "takes it away evicts its pods.",
    )
    ignore: bool = Field(
        default=False,
        description="The mark says nothing in this cluster: neither one that is built in nor the "
        "name of a taint or condition.",
    )

    @model_validator(mode="after")
    def _is_one_mark(self) -> "AvoidedNode":
        if len(self._mark_fields) != 1:
            raise FieldError("must have one of taint, condition, label and annotation")
        if self.leaving and self.ignore:
            raise FieldError("leaving and ignore exclude each other")
        return self

    @property
    def _mark_fields(self) -> list[tuple[Source, str]]:
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
        return node_mark(*self._mark_fields[0])


class OptOut(Strict):
    """Which pods are left alone: those that carry one mark, or whose owner or namespace does."""

    label: LabelPattern | None = Field(
        None, description="This label: `key`, which is not `false`, or `key=value`."
    )
    annotation: AnnotationPattern | None = Field(
        None, description="This annotation: `key`, which is not `false`, or `key=value`."
    )

    @model_validator(mode="after")
    def _is_one_mark(self) -> "OptOut":
        if (self.label is None) == (self.annotation is None):
            raise FieldError("must have either label or annotation")
        return self

    @property
    def kind(self) -> Literal["label", "annotation"]:
        """Which of the two it is."""
        return "annotation" if self.label is None else "label"

    @property
    def key(self) -> str:
        """Its name, without a value."""
        return self._text.partition("=")[0]

    def mark_value(self, metadata: ObjectMeta) -> str | None:
        """The value of the mark on an object, or None where it does not carry it."""
        _, exact, wanted = self._text.partition("=")
        marks = metadata.annotations if self.label is None else metadata.labels
        value = (marks or {}).get(self.key, "false")
        counts = value == wanted if exact else value.strip().lower() != "false"
        return value if counts else None

    @property
    def _text(self) -> str:
        return self.label or self.annotation or ""


def drop_ignored(marks: Iterable[NodeMark], written: Iterable[AvoidedNode]) -> list[NodeMark]:
    """Those of the known marks that nothing tells to ignore; one without a value is all values."""
    ignored = {node.mark for node in written if node.ignore}
    return [
        mark
        for mark in marks
        if mark not in ignored
        and (mark.source == "condition" or replace(mark, value="") not in ignored)
    ]
