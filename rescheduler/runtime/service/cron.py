"""Cron expressions with Kubernetes' meaning, and when they fire across changes of the clock.

APScheduler's own reading differs where it hurts: its weekday 0 is Monday, its two day fields must
both hold, and a time that a clock change repeats fires twice. So the five fields are read here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rescheduler.model.errors import SettingsError
from rescheduler.model.wording import count_text

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_HORIZON_DAYS = 8 * 366
"""29 February comes again within eight years, even around 2100."""


@dataclass(frozen=True, slots=True)
class Cron:
    """When to fire, in local time of a zone.

    weekdays: 0 is Sunday. Where both day fields are restricted, either may hold.
    A time that the clock skips fires as much later as the clock jumped; a time that the clock
    repeats fires the first time only, unless every hour is meant.
    """

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool
    any_weekday: bool
    zone: ZoneInfo

    def next_after(self, instant: datetime) -> datetime | None:
        """The first firing after that instant, in UTC, or None if it never fires."""
        start = instant.astimezone(self.zone).date() - timedelta(days=1)
        for offset in range(_HORIZON_DAYS):
            day = start + timedelta(days=offset)
            if self._day_holds(day):
                later = [slot for slot in self._instants(day) if slot > instant]
                if later:
                    return min(later)
        return None

    def _day_holds(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        in_month = day.day in self.days
        in_week = day.isoweekday() % 7 in self.weekdays
        if self.any_day or self.any_weekday:
            return in_month and in_week
        return in_month or in_week

    def _instants(self, day: date) -> Iterator[datetime]:
        every_hour = len(self.hours) == 24
        for hour in self.hours:
            for minute in self.minutes:
                local = datetime(day.year, day.month, day.day, hour, minute, tzinfo=self.zone)
                first = local.astimezone(UTC)
                skipped = first.astimezone(self.zone).replace(tzinfo=None, fold=0) != local.replace(
                    tzinfo=None
                )
                if skipped and every_hour:
                    continue
                yield first
                if every_hour:
                    yield local.replace(fold=1).astimezone(UTC)


def parse_cron(expression: str, zone: str) -> Cron:
    """The schedule that an expression of five fields, or a macro such as `@hourly`, means there.

    Raises:
        SettingsError: names the field and the value that cannot be used.
    """
    try:
        where = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise SettingsError(
            f"--time-zone {zone!r} is not known",
            "use a name of the IANA database such as UTC or Europe/Paris.",
        ) from error
    fields = _MACROS.get(expression.strip().lower(), expression).split()
    if len(fields) != 5:
        raise SettingsError(
            f"--cron {expression!r} has {count_text(len(fields), 'field')}, not 5",
            "write minute, hour, day, month and weekday, as in '0 9 * * mon-fri'.",
        )
    weekdays = _values("weekday", fields[4], 0, 7, {n: i for i, n in enumerate(_DAYS)})
    cron = Cron(
        minutes=_values("minute", fields[0], 0, 59, {}),
        hours=_values("hour", fields[1], 0, 23, {}),
        days=_values("day", fields[2], 1, 31, {}),
        months=_values("month", fields[3], 1, 12, {n: i + 1 for i, n in enumerate(_MONTHS)}),
        weekdays=frozenset(day % 7 for day in weekdays),
        any_day=fields[2][0] in "*?",
        any_weekday=fields[4][0] in "*?",
        zone=where,
    )
    if cron.next_after(datetime(2026, 1, 1, tzinfo=UTC)) is None:
        raise SettingsError(
            f"--cron {expression!r} never comes true", "check the day and the month."
        )
    return cron


def _values(field: str, text: str, low: int, high: int, names: dict[str, int]) -> frozenset[int]:
    answer: set[int] = set()
    for part in text.split(","):
        span, slash, step_text = part.partition("/")
        step = _number(field, part, step_text, 1, 999, {}) if slash else 1
        if span in ("*", "?"):
            first, last = low, (6 if field == "weekday" else high)
        else:
            begin, dash, end = span.partition("-")
            first = _number(field, part, begin, low, high, names)
            last = _number(field, part, end, low, high, names) if dash else first
            if slash and not dash:
                last = high
        if last < first:
            raise SettingsError(
                f"--cron: {field} {part!r} runs backwards", "write the lower value first."
            )
        answer.update(range(first, last + 1, step))
    return frozenset(answer)


def _number(field: str, part: str, text: str, low: int, high: int, names: dict[str, int]) -> int:
    if text.lower() in names:
        return names[text.lower()]
    if not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
        also = f" or a name such as {next(iter(names))}" if names else ""
        raise SettingsError(
            f"--cron: {field} {part!r} cannot be used",
            f"use numbers from {low} to {high}{also}.",
        )
    return int(text)
