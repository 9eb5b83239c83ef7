"""When a schedule fires."""

from datetime import date, datetime, timedelta

from rescheduler.runtime.service.cron import Cron

NIGHTS = {
    "Europe/Paris": (date(2026, 3, 29), date(2026, 10, 25)),
    "America/New_York": (date(2026, 3, 8), date(2026, 11, 1)),
    "Australia/Lord_Howe": (date(2026, 10, 4), date(2026, 4, 5)),
    "Africa/Cairo": (date(2026, 4, 24), date(2026, 10, 30)),
}
"""Zone to the days on which its clock jumps forward and back."""


def firings(cron: Cron, begin: datetime, end: datetime) -> list[datetime]:
    """Every firing in that time, in local time."""
    at = begin
    found: list[datetime] = []
    while True:
        following = cron.next_after(at)
        if following is None or following >= end:
            return found
        assert following > at
        found.append(following.astimezone(cron.zone))
        at = following


def on(cron: Cron, day: date, days: int = 1) -> list[str]:
    """The local times of the firings on that day."""
    begin = datetime(day.year, day.month, day.day, tzinfo=cron.zone) - timedelta(seconds=1)
    last = day + timedelta(days=days)
    end = datetime(last.year, last.month, last.day, tzinfo=cron.zone)
    return [instant.strftime("%a %H:%M") for instant in firings(cron, begin, end)]
