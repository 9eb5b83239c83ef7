"""The documents of kind Readings that the package brings along, as data of the package."""

from importlib import resources
from typing import Any

import yaml

_FOLDER = resources.files("rescheduler") / "readings"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _names(folder: str) -> tuple[str, ...]:
    return tuple(sorted(each.name.removesuffix(".yaml") for each in (_FOLDER / folder).iterdir()))


BUILT_IN = _names("builtin")
"""What is always read."""
PRESETS = _names("presets")
"""What a document can include by name."""


def text_of(folder: str, name: str) -> str:
    """The document as it is written. folder: `builtin` or `presets`.

    Raises:
        KeyError: there is none of that name.
    """
    if name not in {"builtin": BUILT_IN, "presets": PRESETS}[folder]:
        raise KeyError(name)
    return (_FOLDER / folder / f"{name}.yaml").read_text(encoding="utf-8")


def shipped(folder: str, name: str) -> dict[str, Any]:
    """The document as JSON would have it."""
    made: dict[str, Any] = yaml.load(text_of(folder, name), _LOADER)  # noqa: S506 - both are safe
    return made
