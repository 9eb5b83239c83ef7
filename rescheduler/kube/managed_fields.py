"""managedFields: which manager wrote which fields of an object, and when it last did."""

from datetime import datetime
from typing import Any

import msgspec

from rescheduler.kube.objects import Base, ObjectMeta


class ManagedFields(Base):
    """An entry of managedFields; subclasses add the parts of `fieldsV1` that they read."""

    manager: str = ""
    time: datetime | None = None


class _SpecFields(Base):
    template: Base | None = msgspec.field(name="f:template", default=None)
    selector: Base | None = msgspec.field(name="f:selector", default=None)


class ControllerFields(Base):
    """The fields of a controller that a manager owns."""

    spec: _SpecFields | None = msgspec.field(name="f:spec", default=None)


class TemplateWrite(ManagedFields):
    """An entry of managedFields of a controller, and whether it owns fields of the template."""

    fieldsV1: ControllerFields | None = None

    @property
    def of_template(self) -> bool:
        """Whether its manager has written the template."""
        fields = self.fieldsV1
        return fields is not None and fields.spec is not None and fields.spec.template is not None

    @property
    def of_creator(self) -> bool:
        """Whether its manager has created the controller: the selector cannot be written later."""
        fields = self.fieldsV1
        return fields is not None and fields.spec is not None and fields.spec.selector is not None


class ControllerMeta(ObjectMeta):
    """metadata of a controller."""

    managedFields: list[TemplateWrite] | None = None


class _MetaFields(Base):
    labels: dict[str, Any] | None = msgspec.field(name="f:labels", default=None)
    annotations: dict[str, Any] | None = msgspec.field(name="f:annotations", default=None)


class _NamespaceFields(Base):
    metadata: _MetaFields | None = msgspec.field(name="f:metadata", default=None)


class NamespaceWrite(ManagedFields):
    """An entry of managedFields of a Namespace, with the labels and annotations that it owns."""

    fieldsV1: _NamespaceFields | None = None

    @property
    def keys(self) -> set[str]:
        """The labels and annotations that its manager has written."""
        fields = self.fieldsV1.metadata if self.fieldsV1 is not None else None
        if fields is None:
            return set()
        return {
            key.removeprefix("f:") for key in (*(fields.labels or ()), *(fields.annotations or ()))
        }


class NamespaceMeta(ObjectMeta):
    """metadata of a Namespace."""

    managedFields: list[NamespaceWrite] | None = None
