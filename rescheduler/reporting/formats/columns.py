"""Columns for the terminal: as wide as they must be, and no wider than the screen."""

from dataclasses import dataclass, field
from typing import Literal

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from rescheduler.reporting.phrasing import ELLIPSIS

GAP = 2
LEAST = 6


@dataclass(frozen=True)
class Column:
    """A heading. flexible: may be cut in the middle where the screen is too narrow."""

    heading: str
    align: Literal["left", "right"] = "left"
    flexible: bool = False


@dataclass
class Grid:
    """Rows under headings, each with optional lines above and below it that span the screen."""

    columns: list[Column]
    rows: list[tuple[list[Text], Text | None, Text | None]] = field(default_factory=list)

    def add(self, *cells: str | Text, above: Text | None = None, below: Text | None = None) -> None:
        """A row: one cell for each column."""
        texts = [cell if isinstance(cell, Text) else Text(cell) for cell in cells]
        self.rows.append((texts, above, below))

    def lines(self, width: int, indent: int) -> list[tuple[Text | None, Text, Text | None]]:
        """The heading and the rows as lines that fit: (above, the row itself, below)."""
        widths = self._widths(width - indent)
        head = self._line(
            [Text(column.heading, style="dim") for column in self.columns], widths, indent
        )
        return [
            (None, head, None),
            *(
                (above, self._line(cells, widths, indent), below)
                for cells, above, below in self.rows
            ),
        ]

    def _widths(self, room: int) -> list[int]:
        """Fixed columns get what they want; the flexible ones share what is left, fairly."""
        wanted = [
            max([cell_len(column.heading), *(row[0][place].cell_len for row in self.rows)])
            for place, column in enumerate(self.columns)
        ]
        flexible = [place for place, column in enumerate(self.columns) if column.flexible]
        fixed = sum(wanted) - sum(wanted[place] for place in flexible)
        free_width = room - fixed - GAP * (len(self.columns) - 1)
        for done, place in enumerate(sorted(flexible, key=lambda place: wanted[place])):
            wanted[place] = min(wanted[place], max(LEAST, free_width // (len(flexible) - done)))
            free_width -= wanted[place]
        return wanted

    def _line(self, cells: list[Text], widths: list[int], indent: int) -> Text:
        line = Text(" " * indent)
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True)):
            fitted = fit(cell, width)
            blank = " " * (width - fitted.cell_len)
            gap = " " * GAP if place else ""
            if self.columns[place].align == "right":
                line.append(gap + blank).append_text(fitted)
            else:
                line.append(gap).append_text(fitted).append(blank)
        line.rstrip()
        return line


def fit(cell: Text, width: int) -> Text:
    """The cell cut in the middle by screen cells, where wide characters count as two."""
    if cell.cell_len <= width:
        return cell
    tail = (width - 1) // 2
    plain = cell.plain
    end = set_cell_size(plain[::-1], tail)[::-1].lstrip() if tail else ""
    start = set_cell_size(plain, width - 1 - cell_len(end)).rstrip()
    return Text(start + ELLIPSIS + end, style=cell.style)
