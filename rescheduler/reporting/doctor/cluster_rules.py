"""What a checkup concludes of the cluster itself: version, clock, schedulers, webhooks."""

from collections import Counter
from collections.abc import Iterator, Sequence

from rescheduler.kube.extensions import WebhookConfiguration
from rescheduler.model.checkup import Diagnosis
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.wording import count_text, list_names, verb_for
from rescheduler.planning.limits.guards import MOST_CLOCK_SKEW
from rescheduler.reporting.alerts import advice
from rescheduler.scheduler.config.default_profile import minor_of
from rescheduler.scheduler.config.scheduler import Scheduler
from rescheduler.scheduler.config.schedulers import schedulers_of
from rescheduler.scheduler.config.versions import COMPARED

SERVER, CLOCK, SCHEDULERS, WEBHOOKS = "API server", "Clock", "Schedulers", "Webhooks"
_NOTICEABLE = 5.0
"""Seconds between the clocks that are worth a word."""
_OURS = "rescheduler"


def check_version(version: str) -> Diagnosis:
    """Whether the model of kube-scheduler was compared with this release."""
    minor = minor_of(version)
    releases = ", ".join(COMPARED[number] for number in sorted(COMPARED))
    if minor in COMPARED:
        text = f"Kubernetes {version}. Its kube-scheduler was compared with our model."
        return Diagnosis(area=SERVER, severity="ok", message=text)
    text = f"Kubernetes {version or 'of an unknown version'}. "
    if minor is None:
        text += "Its kube-scheduler is not modelled, so nothing is moved."
        return Diagnosis(
            area=SERVER,
            severity="error",
            message=text,
            advice=f"Use a release that was compared: {releases}.",
        )
    text += f"Only the kube-scheduler of {releases} was compared with our model."
    return Diagnosis(
        area=SERVER,
        severity="error",
        code="GRD012",
        message=text,
        advice=f'Write `allowVersions: ["1.{minor}"]` into its Scheduler document to move pods '
        "all the same.",
    )


def check_clock(skew: float | None) -> Diagnosis:
    """How far this host's clock is from the API server's."""
    if skew is None:
        text = "The API server sends no date, so the clocks could not be compared."
        return Diagnosis(area=CLOCK, severity="note", message=text)
    most, apart = MOST_CLOCK_SKEW.total_seconds(), abs(skew)
    text = f"This host's clock is {apart:.0f} s {'ahead of' if skew > 0 else 'behind'} the API "
    text += f"server's; {most:.0f} s are allowed."
    if apart > most:
        return Diagnosis(
            area=CLOCK,
            severity="error",
            code="GRD007",
            message=text,
            advice="Synchronize the clocks, as by NTP.",
        )
    if apart >= _NOTICEABLE:
        hint = "Synchronize the clocks before it grows."
        return Diagnosis(area=CLOCK, severity="warning", message=text, advice=hint)
    text = "This host's clock agrees with the API server's."
    return Diagnosis(area=CLOCK, severity="ok", message=text)


def check_schedulers(snapshot: Snapshot, documents: Sequence[Scheduler]) -> Iterator[Diagnosis]:
    """Which schedulers place pods here, and whether their decisions can be predicted."""
    schedulers = schedulers_of(snapshot, documents)
    results = {result.name: result for result in schedulers.results()}
    pods = Counter(pod.spec.schedulerName for pod in snapshot.pods)
    for guard in schedulers.guards:
        yield Diagnosis(
            area=SCHEDULERS,
            severity="error",
            code=guard.code,
            message=guard.message,
            advice=advice(guard.code),
        )
    for name, number in sorted(pods.items(), key=lambda item: (-item[1], item[0])):
        result, places = results.get(name), f"{name} places {count_text(number, 'pod')}"
        if result is None:
            yield Diagnosis(
                area=SCHEDULERS,
                severity="warning",
                code="ELG018",
                message=f"{places} and is not modelled. They are left alone.",
                advice="Declare it in a Scheduler document, if it is a kube-scheduler.",
            )
        elif result.problem is not None:
            yield Diagnosis(
                area=SCHEDULERS,
                severity="warning",
                code=result.problem.code,
                message=f"{places} and cannot be predicted: {result.problem.message}",
                advice=advice(result.problem.code),
            )
        else:
            text = f"{places} and is modelled ({result.source})."
            yield Diagnosis(area=SCHEDULERS, severity="ok", message=text)
    for note in schedulers.notes:
        yield Diagnosis(area=SCHEDULERS, severity="note", code=note.code, message=note.message)


def check_webhooks(configurations: Sequence[WebhookConfiguration]) -> Iterator[Diagnosis]:
    """Which webhooks may change pods as they are created."""
    changing, failing = [], []
    for configuration in configurations:
        for webhook in configuration.webhooks or ():
            if webhook.sees_new_pods and not configuration.metadata.name.startswith(_OURS):
                changing.append(webhook.name)
                if webhook.failurePolicy != "Ignore":
                    failing.append(webhook.name)
    if not changing:
        yield Diagnosis(area=WEBHOOKS, severity="ok", message="No webhook changes new pods.")
        return
    yield Diagnosis(
        area=WEBHOOKS,
        severity="note",
        message=f"{list_names(changing, 'webhook')} may change pods as they are created. A "
        "replacement is planned with what the newest pod of its template shows.",
    )
    if failing:
        refuses = verb_for(len(failing), "refuses", "refuse")
        yield Diagnosis(
            area=WEBHOOKS,
            severity="note",
            message=f"{list_names(failing, 'webhook')} {refuses} new pods while it does not answer "
            "(failurePolicy Fail), so an evicted pod would have no replacement.",
            advice="Let its own pods run twice or more, on different nodes.",
        )
