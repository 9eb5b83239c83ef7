"""Tables on a narrow screen: a row is a block there, so that each cell has to say its column."""

import re
from itertools import cycle

_TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
_HEAD = re.compile(r"<th[^>]*>(.*?)</th>", re.DOTALL)
_CELL = re.compile(r"<td(?=[ >])")
_TAG = re.compile(r"<[^>]*>")


def with_columns(html: str) -> str:
    """The page, in which each cell of a table has its column's name as `data-column`."""
    return _TABLE.sub(lambda table: _with_names(table[0]), html)


def _with_names(table: str) -> str:
    heads = [_TAG.sub("", head).replace('"', "&quot;") for head in _HEAD.findall(table)]
    names = cycle(heads)
    return _CELL.sub(lambda _: f'<td data-column="{next(names)}"', table)
