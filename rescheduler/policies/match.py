"""Which pods a policy selects, as operators write it."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
    model_validator,
)

from rescheduler.documents.field_problems import FieldError, FieldPath
from rescheduler.documents.fields import Strict, Yes, all_or, at_least_one_of
from rescheduler.documents.label_names import NamespaceName
from rescheduler.documents.label_selector import Selector

_NARROWING = (
    "namespaces",
    "namespaceSelector",
    "labels",
    "ownerKinds",
    "requests",
    "persistentVolumeClaims",
    "podDisruptionBudget",
    "resourceClaims",
)
NO_OWNER = "Pod"
"""What runs a pod that nothing runs."""

_KIND = "[A-Z][A-Za-z0-9]{0,62}"


def _owner_kind(value: str) -> str:
    if value.isascii() and value.isalnum() and value[0].isupper() and len(value) <= 63:
        return value
    name = value.split(".", maxsplit=1)[0]
    kinds = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob", NO_OWNER)
    close = [kind for kind in kinds if kind.lower() == name.lower().removesuffix("s")]
    hint = f"`{close[0]}`" if close else ""
    raise FieldError("must be a kind without its group, such as StatefulSet", hint=hint)


def _requestable(value: str) -> str:
    if value == "pods":
        raise FieldError("every pod takes one of `pods`, and none requests it")
    return value


_Namespaces = Annotated[list[NamespaceName], Field(min_length=1)]
_OwnerKinds = Annotated[
    list[
        Annotated[
            str,
            AfterValidator(_owner_kind),
            WithJsonSchema({"type": "string", "pattern": f"^{_KIND}$"}),
        ]
    ],
    Field(min_length=1),
]
_Requests = Annotated[
    list[
        Annotated[
            str,
            Field(min_length=1, max_length=316),
            AfterValidator(_requestable),
            WithJsonSchema(
                {"type": "string", "minLength": 1, "maxLength": 316, "not": {"const": "pods"}}
            ),
        ]
    ],
    Field(min_length=1),
]


class ClaimMatch(Strict):
    """Pods with PersistentVolumeClaims, those of ephemeral volumes included."""

    model_config = all_or("storageClasses")

    all: Yes | None = Field(None, description="Any claim; `storageClasses` is not given then.")
    storageClasses: (
        Annotated[list[Annotated[str, Field(min_length=1, max_length=253)]], Field(min_length=1)]
        | None
    ) = Field(None, description="A claim of one of these StorageClasses.")

    @model_validator(mode="after")
    def _selects_one_way(self) -> "ClaimMatch":
        if (self.all is None) == (self.storageClasses is None):
            raise ValueError("write either `all: true` or `storageClasses`, to select by claims")
        return self


class _PodFields(Strict):
    """What pods are selected by; all that is given must hold."""

    namespaces: _Namespaces | None = Field(None, description="Names of namespaces.")
    namespaceSelector: Selector | None = Field(None, description="Labels of the namespace.")
    labels: Selector | None = Field(None, description="Labels of the object itself.")
    ownerKinds: _OwnerKinds | None = Field(
        None,
        description="Kinds of what runs the pod, at the top or right above it: `Deployment` and "
        "`ReplicaSet` both select the pods of a Deployment. `Pod`: nothing runs it.",
    )
    requests: _Requests | None = Field(
        None, description="Resource names, as on nodes; the pod requests at least one of them."
    )
    persistentVolumeClaims: ClaimMatch | None = Field(
        None, description="Whether the pod uses a claim, or one of certain StorageClasses."
    )
    podDisruptionBudget: Literal["Exists", "DoesNotExist"] | None = Field(
        None, description="Whether a PodDisruptionBudget selects the pod."
    )
    resourceClaims: Literal["Exists", "DoesNotExist"] | None = Field(
        None, description="Whether the pod has ResourceClaims (dynamic resource allocation)."
    )

    @property
    def narrowing_fields(self) -> list[str]:
        """The fields that are given, without `all` and `exclude`."""
        return [name for name in _NARROWING if getattr(self, name) is not None]


class Exclude(_PodFields):
    """What a match leaves out: the objects for which all that is given holds.

    What cannot be known counts as holding, so that the pod is left out: the labels of a namespace
    that cannot be read, the StorageClass of a claim that is not there, the PodDisruptionBudgets of
    a namespace in which one could not be decoded.
    """

    model_config = ConfigDict(json_schema_extra=at_least_one_of(*_NARROWING))

    @model_validator(mode="after")
    def _says_something(self) -> "Exclude":
        if not self.narrowing_fields:
            raise ValueError("an empty exclude is refused; leave it out to exclude nothing")
        return self


def _form(value: Any) -> str:
    """So that problems are reported for the form that was meant; brackets keep it out of paths."""
    return "[list]" if isinstance(value, list) else "[mapping]"


_Excludes = Annotated[list[Exclude], Field(min_length=1), Tag("[list]")]


class Match(_PodFields):
    """Which objects a policy selects. All fields given must hold; "everything" must be explicit."""

    model_config = all_or(*_NARROWING)

    all: Yes | None = Field(
        None, description="Every object; no other field but `exclude` is given then."
    )
    exclude: (
        Annotated[Annotated[Exclude, Tag("[mapping]")] | _Excludes, Discriminator(_form)] | None
    ) = Field(
        None,
        description="Of these objects, the ones to leave out; of a list, all that any of its "
        "entries selects.",
    )

    @model_validator(mode="after")
    def _says_something(self) -> "Match":
        if self.all is None and not self.narrowing_fields:
            raise ValueError("an empty match is refused; write `all: true` to mean every object")
        if self.all and self.narrowing_fields:
            raise ValueError("`all: true` excludes the other fields")
        return self

    @property
    def selects_nothing(self) -> bool:
        """Whether an exclude leaves out all that the match selects, whatever the cluster."""
        return any(self.is_covered_by(exclude) for _, exclude in self.excludes)

    def is_covered_by(self, exclude: Exclude) -> bool:
        """Whether this exclude leaves out all that the match selects, whatever the cluster."""
        return all(self._coverage(exclude))

    @property
    def excludes(self) -> list[tuple[FieldPath, Exclude]]:
        """What is left out, each with its place."""
        if isinstance(self.exclude, list):
            return [(("exclude", number), one) for number, one in enumerate(self.exclude)]
        return [] if self.exclude is None else [(("exclude",), self.exclude)]

    def _coverage(self, exclude: Exclude) -> Iterator[bool]:
        """By field of the exclude, whether it holds for whatever the match selects."""
        for name in exclude.narrowing_fields:
            own, other = getattr(self, name), getattr(exclude, name)
            if own is None or own == other:
                yield own is not None
            elif isinstance(own, ClaimMatch):
                names = own.storageClasses
                yield bool(other.all or (names and set(names) <= set(other.storageClasses)))
            else:
                yield isinstance(own, list) and set(own) <= set(other)
