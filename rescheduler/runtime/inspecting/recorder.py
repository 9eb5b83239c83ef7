"""Recording a cluster with its readings."""

from rescheduler.model.errors import SettingsError
from rescheduler.model.wording import count_text, verb_for
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.runtime.observing import observer
from rescheduler.runtime.reading_sources import OPTIONS, reading_sources, unanswered_requests
from rescheduler.runtime.settings import Settings
from rescheduler.sources.kubernetes.client import Connection
from rescheduler.sources.output_file import is_stdout
from rescheduler.sources.recording import save


def record(
    settings: Settings, connection: Connection | None, policies: PolicySet | None
) -> list[str]:
    """Take a snapshot and save it; answers a summary for people.

    policies: whose readings to record; without any, all that the catalogue has.

    Raises:
        SettingsError: no file or no cluster was given.
        OutputError: the file cannot be written.
        ClusterUnavailable: the cluster cannot be read.
    """
    if settings.out is None or connection is None:
        raise SettingsError("a recording needs --out and a cluster", "add --out FILE.")
    sources = reading_sources(settings, connection=connection)
    notes: frozenset[str] = frozenset()
    if policies is None:
        wanted = [request for source in sources for request in source.catalog()]
    else:
        wanted, notes = policies.requests_to_try(), policies.limits.own_annotations
    lacking = set(unanswered_requests(sources, wanted))
    answered = [request for request in wanted if request not in lacking]
    snapshot = observer(settings, connection)(answered, notes)
    save(snapshot, settings.out)
    size = f"{count_text(len(snapshot.nodes), 'node')}, {count_text(len(snapshot.pods), 'pod')}"
    name = "standard output" if is_stdout(settings.out) else settings.out
    said = [f"{name}: {size}, {count_text(len(snapshot.readings.entries), 'reading')}"]
    if lacking or (policies is None and not wanted):
        recorded = len(snapshot.readings.entries)
        left_out = f"only {count_text(recorded, 'reading')}" if recorded else "no readings"
        said.append(
            f"warning: no {OPTIONS} was given, so {left_out} {verb_for(recorded, 'was', 'were')} "
            "recorded"
        )
    said += [
        f"warning: {reading.name}: {reading.problem.code} {reading.problem.message}"
        for reading in snapshot.readings.entries
        if reading.problem is not None
    ]
    return said
