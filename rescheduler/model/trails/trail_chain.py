"""Whether the lines of an audit trail follow on each other, as none was changed, lost or moved."""

from dataclasses import dataclass, field

from rescheduler.model.trails.trail import MARK, TrailEntry, digest_of_line, read_entry
from rescheduler.model.wording import count_text

MOST_PROBLEMS = 20
"""Places that are named; more are only counted."""


@dataclass
class _Link:
    """The last line of a chain: where it is, its number and its hash."""

    where: str
    seq: int
    digest: str


@dataclass
class TrailChain:
    """Checks lines in their order; several chains may be mixed, as where processes share a log.

    problems: what is broken, the first one first. warnings: what is odd and breaks nothing.
    """

    records: int = 0
    broken: int = 0
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    begins: dict[str, int] = field(default_factory=dict)
    """The number of the first record of each chain."""
    _links: dict[str, _Link] = field(default_factory=dict)
    _odd: str = ""
    """An undecodable line; the next one shows whether it was part of the chain."""

    def add(self, line: bytes, file: str, number: int) -> TrailEntry | None:
        """The entry of this line; None where it is no line of a trail, or not decodable."""
        start = line.find(MARK)
        # `kubectl logs` puts a time or the name of a container before a line, on request.
        if start < 0 or (start > 0 and line[start - 1 : start] != b" "):
            return None
        line = line[start:].rstrip(b"\r\n")
        where = f"{file}:{number}"
        try:
            entry = read_entry(line)
        except ValueError as error:
            self._note_odd()
            self._odd = f"{where}: the line is not a whole record: {error}"
            return None
        digest = digest_of_line(line)
        self._check(entry, where)
        self._odd = ""
        self.records += 1
        self._links[entry.chain] = _Link(where, entry.seq, digest)
        self.begins.setdefault(entry.chain, entry.seq)
        return entry

    @property
    def last(self) -> str:
        """The hash of the last line: with a copy of it, a chain that was created again shows."""
        return list(self._links.values())[-1].digest if self._links else ""

    def finish(self) -> None:
        """There is no further line."""
        self._note_odd("it is the last line, as a crash leaves it; the next run takes it away")

    def _check(self, entry: TrailEntry, where: str) -> None:
        before = self._links.get(entry.chain)
        if before is None:
            if entry.seq == 1 and entry.previous:
                self._break(f"{where}: the first record names one before it")
            else:
                self._note_odd()
            return
        if entry.seq == before.seq + 1:
            if entry.previous != before.digest:
                self._break(
                    self._odd
                    or f"{before.where}: the line was changed after it was written: the next "
                    f"record, at {where}, has another hash of it"
                )
            else:
                self._note_odd()
            return
        if self._odd:
            self._break(self._odd)
        elif entry.seq > before.seq:
            missing = entry.seq - before.seq - 1
            self._break(
                f"{where}: {count_text(missing, 'record')} before this line "
                f"{'is' if missing == 1 else 'are'} missing: it is number {entry.seq}, and "
                f"{before.where} is number {before.seq}"
            )
        else:
            self._break(
                f"{where}: the line is out of order or repeated: it is number {entry.seq}, after "
                f"number {before.seq} at {before.where}"
            )

    def _break(self, problem: str) -> None:
        self.broken += 1
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(problem)
        self._odd = ""

    def _note_odd(self, conclusion: str = "no record is missing") -> None:
        if self._odd and len(self.warnings) < MOST_PROBLEMS:
            self.warnings.append(f"{self._odd}; {conclusion}")
        self._odd = ""
