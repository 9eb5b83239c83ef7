"""What pages of the site have of the models: `<!-- generated: NAME -->` stands for it."""

import re
from collections.abc import Callable

_PLACE = re.compile(r"^<!-- generated: ([a-z-]+) -->$", re.MULTILINE)

PARTS: dict[str, Callable[[], str]] = {}
"""What makes each part."""


def filled(text: str) -> str:
    """The page with what is generated in its places; a name that nothing makes is a KeyError."""
    return _PLACE.sub(lambda place: PARTS[place[1]](), text)
