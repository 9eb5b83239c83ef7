"""Recording a cluster with its readings."""

from rescheduler.model.errors import SettingsError
from rescheduler.model.readings import ReadingRequest
from rescheduler.model.wording import counted
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.runtime.observing import observer
from rescheduler.runtime.settings import Settings
from rescheduler.sources.kubernetes.client import Connection
from rescheduler.sources.prometheus.catalog import CATALOG
from rescheduler.sources.recording import save


def record(
    settings: Settings, connection: Connection | None, policies: PolicySet | None
) -> list[str]:
    """Take a snapshot and save it; answers what to tell people about it.

    policies: whose readings to record; without any, all that the catalogue has.

    Raises:
        SettingsError: no file or no cluster was given, or the file cannot be written.
        ClusterUnavailable: the cluster cannot be read.
    """
    if settings.out is None or connection is None:
        raise SettingsError("a recording needs --out and a cluster", "add --out FILE.")
    if policies is None:
        requests = [ReadingRequest(name) for name in CATALOG]
    else:
        requests = [each for one in policies.policies for each in one.requests()]
    if settings.prometheus_url is None:
        requests = []
    snapshot = observer(settings, connection)(requests)
    try:
        save(snapshot, settings.out)
    except OSError as error:
        raise SettingsError(
            f"--out {settings.out} cannot be written: {error.strerror}", "choose another place."
        ) from error
    size = f"{counted(len(snapshot.nodes), 'node')}, {counted(len(snapshot.pods), 'pod')}"
    said = [f"{settings.out}: {size}, {counted(len(snapshot.readings.entries), 'reading')}"]
    if settings.prometheus_url is None:
        said.append("warning: no --prometheus-url was given, so no readings were recorded")
    said += [
        f"warning: {each.name}: {each.problem.code} {each.problem.message}"
        for each in snapshot.readings.entries
        if each.problem is not None
    ]
    return said
