"""What tests convert with."""

from typing import Any

from rescheduler.documents.text_files import TextFile
from rescheduler.model.errors import PolicyError
from rescheduler.policies.conversion.source_forms import Converted, convert


def converted(text: str) -> Converted:
    return convert(TextFile("file.yaml", "file.yaml", text))


def refusal(text: str) -> str:
    """Why the text cannot be converted."""
    try:
        return f"converted: {converted(text).text}"
    except PolicyError as error:
        return str(error)


def specs(text: str) -> dict[str, Any]:
    """The spec of each policy that the text becomes, by the policy's name."""
    drafts = converted(text).conversion.drafts
    return {draft.name: {"kind": draft.kind, **draft.document()["spec"]} for draft in drafts}


def one_line(text: str) -> str:
    """The text as if its comments were not wrapped."""
    return " ".join(text.replace("\n#", " ").split())
