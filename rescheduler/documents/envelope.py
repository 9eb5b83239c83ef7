"""What every document of ours has around its spec: apiVersion, kind and metadata."""

import hashlib
from typing import Any

import msgspec
from pydantic import Field

from rescheduler.documents.fields import Strict

API_VERSION = "rescheduler.io/v1alpha1"


class Document(Strict):
    """What a document holds; `kind` and `name` come from around its spec."""

    kind: str
    name: str = Field(min_length=1, description="metadata.name")


def to_document(made: Document) -> dict[str, Any]:
    """The document (as JSON) with every field written out; reading it gives an equal one."""
    spec = made.model_dump(mode="json", exclude_none=True, exclude={"kind", "name"})
    return {
        "apiVersion": API_VERSION,
        "kind": made.kind,
        "metadata": {"name": made.name},
        "spec": spec,
    }


def digest(made: Document) -> str:
    """SHA-256 of the document, whatever the file's layout, order and comments."""
    encoded = msgspec.json.encode(to_document(made), order="deterministic")
    return hashlib.sha256(encoded).hexdigest()
