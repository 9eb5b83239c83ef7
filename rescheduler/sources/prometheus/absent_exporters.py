"""Whether the exporter of a reading was never there, or has stopped.

The source itself remembers it: nothing is kept for this.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from rescheduler.model.cluster.readings import Reading
from rescheduler.model.errors import MetricsUnavailable
from rescheduler.model.problem import Problem
from rescheduler.policies.own_readings.definition import OwnReading
from rescheduler.sources.prometheus.http.http_api import Vector
from rescheduler.sources.prometheus.identity import Identity
from rescheduler.sources.prometheus.known_nodes import count_nodes, query_of_nodes
from rescheduler.sources.prometheus.section import metric_of

DAYS = 7
"""So long after it has stopped an exporter counts as one that has stopped."""


def tell_absent_exporter(
    reading: Reading,
    definitions: Iterable[OwnReading],
    match: str,
    identity: Identity,
    ask: Callable[[str], Vector],
) -> Reading:
    """The reading; with RDG017 where its exporter was never there, as far as the source remembers.

    It stays RDG009 where the source has a past of the metric, or does not answer, or knows no node
    of this cluster: one that has lost all of its data must not look like one without this exporter.
    """
    if reading.problem is None or reading.problem.code != "RDG009":
        return reading
    names = {metric_of(source) for definition in definitions for source in definition.sources}
    if not names or "" in names:
        return reading
    try:
        nodes = ask(query_of_nodes(match))
        past = ask(query_of_past(names, match))
    except MetricsUnavailable:
        return reading
    if nodes.warnings or past.warnings or not count_nodes(nodes.samples, identity):
        return reading
    if past.samples:
        text = f"{reading.problem.message}; it had some in the last {DAYS} days, and has stopped"
        return replace(reading, problem=Problem("RDG009", text))
    return replace(reading, problem=Problem("RDG017", reading.problem.message))


def query_of_past(names: Iterable[str], match: str) -> str:
    """What asks whether any of these metrics had a series lately.

    Of the last hour all samples count, and before it by the hour: all samples of a week are more
    than a source answers for.
    """
    matchers = f",{match.rstrip(',')}" if match else ""
    series = f'{{__name__=~"{"|".join(sorted(names))}"{matchers}}}'
    return f"count(present_over_time({series}[1h]) or present_over_time({series}[{DAYS}d:1h]))"
