"""Documents of kind Readings that ship with the package: built-in ones and presets."""

from importlib import resources
from typing import Any

import yaml

_FOLDER = resources.files("rescheduler") / "readings"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _names(folder: str) -> tuple[str, ...]:
    return tuple(
        sorted(
            traversable.name.removesuffix(".yaml") for traversable in (_FOLDER / folder).iterdir()
        )
    )


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


def load_shipped(folder: str, name: str) -> dict[str, Any]:
    """The document as JSON would have it."""
    made: dict[str, Any] = yaml.load(text_of(folder, name), _LOADER)  # noqa: S506 - both are safe
    return made
