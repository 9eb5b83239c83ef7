"""The series that a reading's definition asks for."""

from rescheduler.documents.promql import selectors
from rescheduler.policies.own_readings.definition import OwnReading


def series_of(own: OwnReading) -> list[str]:
    """The names of all series that a definition reads, in the order of its queries."""
    names = [selector.partition("{")[0] for query in own.queries for selector in selectors(query)]
    return list(dict.fromkeys(name for name in names if name))
