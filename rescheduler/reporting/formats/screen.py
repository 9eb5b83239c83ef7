"""A terminal of a certain width: paragraphs and grids that fit it."""

from io import StringIO

from rich.console import Console
from rich.text import Text

from rescheduler.reporting.formats.columns import Grid

NARROWEST = 72

KEPT = "\N{NO-BREAK SPACE}"
"""A space at which no line is broken; it is written as a plain one."""

_BOUND = "\ue000"
"""Stands for a space that must not be broken: rich breaks at every kind of white space.

A character for private use, one cell wide, which `clean` leaves in no name.
"""


class Screen:
    """Collects lines; nothing in them is shown by color alone.

    Widths below 72 screen cells are taken as 72. With color, as ANSI escape sequences.
    """

    def __init__(self, *, width: int, color: bool) -> None:
        self._out = StringIO()
        self.console = Console(
            file=self._out,
            width=max(width, NARROWEST),
            force_terminal=color,
            color_system="standard" if color else None,
            no_color=not color,
            markup=False,
            highlight=False,
            emoji=False,
            legacy_windows=False,
            _environ={},
        )

    @property
    def width(self) -> int:
        """In screen cells."""
        return self.console.width

    def text(self) -> str:
        """All that was written, without blanks at the ends of lines."""
        return "\n".join(line.rstrip() for line in self._out.getvalue().splitlines()) + "\n"

    def line(self, text: Text | str = "", *, fold: bool = False) -> None:
        """One line, which is longer than the screen where it must be; or folded at its end."""
        if fold:
            self.console.print(text, overflow="fold")
        else:
            self.console.print(text, soft_wrap=True)

    def paragraph(self, text: Text, *, first: Text | None = None, indent: int = 0) -> None:
        """A paragraph, its lines indented; `first` stands in the indentation of the first line."""
        for number, line in enumerate(self._wrap_lines(text, self.width - indent)):
            if number == 0 and first is not None:
                lead = Text.assemble(first, " " * (indent - first.cell_len))
            else:
                lead = Text(" " * indent)
            self.line(lead.append_text(line))

    def grid(self, grid: Grid) -> None:
        """A table, and an empty line after it."""
        for above, line, below in grid.lines(self.width, 2):
            if above is not None:
                self.paragraph(above, indent=2)
            self.line(line)
            if below is not None:
                self.paragraph(below, indent=7)
        self.line()

    def _wrap_lines(self, text: Text, width: int) -> list[Text]:
        """The lines of a paragraph; a percent sign stays with its number."""
        text = text.copy()
        text.plain = text.plain.replace(" %", f"{_BOUND}%").replace(KEPT, _BOUND)
        lines = list(text.wrap(self.console, max(width, 20)))
        for line in lines:
            line.plain = line.plain.replace(_BOUND, " ")
        return lines


def code_prefix(code: str) -> Text:
    """A reason code before its sentence."""
    return Text(f"{code} " if code else "", style="cyan")
