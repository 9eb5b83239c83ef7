"""Compiling by Numba."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

_Function = TypeVar("_Function", bound=Callable[..., Any])


def compiled(function: _Function) -> _Function:
    """The function as machine code, which is kept on disk where a directory for it is writable."""
    options: dict[str, Any] = {
        "nogil": True,
        # Nothing is allocated: counting references to arrays would take 7 times as long.
        "_nrt": False,
        # A call hands over each number of each array one by one: it would take 4 times as long.
        "forceinline": True,
        # Sums over hinges may be vectors, and no number is NaN.
        "fastmath": {"nnan", "reassoc", "nsz"},
    }
    try:
        made = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no such directory
        made = numba.njit(**options)(function)
    return cast(_Function, made)
