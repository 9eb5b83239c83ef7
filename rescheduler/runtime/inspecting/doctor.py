"""Examines a cluster for all that the rescheduler needs of it, and goes on where a part fails."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime

from rescheduler import __version__
from rescheduler.model.checkup import Checkup, Diagnosis, Severity
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.errors import (
    ActionError,
    ClusterUnavailable,
    MetricsUnavailable,
    ReschedulerError,
    SettingsError,
)
from rescheduler.planning.plan.steering_notes import steering_notes
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.reporting.alerts import advice
from rescheduler.reporting.doctor.budget_rules import BUDGETS, check_budgets
from rescheduler.reporting.doctor.cluster_rules import (
    CLOCK,
    SCHEDULERS,
    SERVER,
    WEBHOOKS,
    check_clock,
    check_schedulers,
    check_version,
    check_webhooks,
)
from rescheduler.reporting.doctor.exporter_rules import (
    EXPORTERS,
    DefinedReading,
    check_exporters,
    series_needed,
)
from rescheduler.reporting.doctor.pool_rules import POOLS, check_pools
from rescheduler.reporting.doctor.rights_rules import RIGHTS
from rescheduler.runtime.inspecting.checking import answers, dead, idle, undefined_readings
from rescheduler.runtime.inspecting.reading_list import all_definitions
from rescheduler.runtime.inspecting.reviewed_rights import RightsReview, review_fault
from rescheduler.runtime.observing import with_scheduler
from rescheduler.runtime.reading_sources import (
    OPTIONS,
    MetricSource,
    count_series,
    find_source,
    read_all,
    reading_sources,
)
from rescheduler.runtime.settings import AUTO, Settings
from rescheduler.runtime.steering_seen import choose_seen_steering, not_set_up
from rescheduler.sources.kubernetes.client import Connection
from rescheduler.sources.kubernetes.cluster import read_cluster

PROMETHEUS, STEERING, POLICIES = "Prometheus", "Steering", "Policies"
_UNSTEERED = "STR010"
AREAS = (
    SERVER,
    CLOCK,
    RIGHTS,
    SCHEDULERS,
    PROMETHEUS,
    EXPORTERS,
    STEERING,
    POLICIES,
    POOLS,
    BUDGETS,
    WEBHOOKS,
)
"""In the order in which they are shown."""
_IN_CLUSTER = re.compile(
    r"https?://(?P<name>[^./]+)\.(?P<namespace>[^./]+)\.svc[^:/]*:(?P<port>\d+)"
)


class Doctor:
    """Examines one cluster with the policies and settings of one installation."""

    def __init__(self, settings: Settings, connection: Connection, policies: PolicySet) -> None:
        """Nothing is asked yet."""
        self._settings = settings
        self._connection = connection
        self._policies = policies

    def checkup(self) -> Checkup:
        """All that can be examined; what cannot be is a diagnosis too.

        Raises:
            SettingsError: the settings cannot be used.
        """
        account, rights = self._rights()
        snapshot, unread = self._snapshot()
        diagnoses = [*unread, *rights, *self._steering(snapshot), *self._policy_rules(snapshot)]
        if snapshot is not None:
            diagnoses += self._examine(snapshot)
        return Checkup(
            tool=f"rescheduler {__version__}",
            taken=datetime.now(UTC) if snapshot is None else snapshot.taken,
            cluster=self._connection.name,
            version="" if snapshot is None else snapshot.cluster.version,
            mode=self._settings.mode,
            account=account,
            diagnoses=sorted(diagnoses, key=lambda diagnosis: AREAS.index(diagnosis.area)),
        )

    def _rights(self) -> tuple[str, list[Diagnosis]]:
        """Whose rights they are, and what is said of them."""
        try:
            review = RightsReview(self._connection, self._settings.mode)
            return review.name, list(review.diagnoses(self._policies))
        except ActionError as error:
            return "", [review_fault(error)]

    def _snapshot(self) -> tuple[Snapshot | None, list[Diagnosis]]:
        annotations = self._policies.limits.own_annotations
        try:
            bare = read_cluster(self._connection, annotations, now=lambda: datetime.now(UTC))
            return with_scheduler(self._settings, self._connection, bare), []
        except ClusterUnavailable as error:
            return None, [_fault(SERVER, f"The cluster cannot be read: {error.message}", error)]

    def _examine(self, bare: Snapshot) -> Iterator[Diagnosis]:
        """What reading the cluster and asking Prometheus shows."""
        yield check_version(bare.cluster.version)
        yield check_clock(bare.clock_skew)
        yield from check_schedulers(bare, self._policies.schedulers)
        source, findings = self._metric_source(bare)
        yield from findings
        requests = self._policies.requests()
        sources = reading_sources(replace(self._settings, prometheus_url=None))
        if source is not None:
            sources = (*sources, source)
        readings = read_all(sources, requests, bare) if requests else None
        snapshot = bare if readings is None else replace(bare, readings=readings)
        if source is not None:
            if not any(diagnosis.severity == "error" for diagnosis in findings):
                yield from self._exporters(source, snapshot)
            source.prometheus.close()
        yield from check_budgets(snapshot)
        yield from check_webhooks(snapshot.mutating_webhooks)
        yield from check_pools(snapshot, self._policies.policies)

    def _metric_source(self, bare: Snapshot) -> tuple[MetricSource | None, list[Diagnosis]]:
        """The metric source, if there is one, and what is said of it."""
        sought = self._settings.prometheus_url in (None, AUTO)
        try:
            url, source = find_source(self._settings, bare, self._connection)
        except SettingsError as error:
            return None, [self._no_source(error)]
        try:
            count_series(source, ["up"])
        except MetricsUnavailable as error:
            return source, [_unreachable_server(url, error)]
        text, hint = f"{url} answers.", ""
        if sought:
            text, hint = f"{url} was found and answers.", f"Write it down: {OPTIONS} {url}"
        return source, [Diagnosis(area=PROMETHEUS, severity="ok", message=text, advice=hint)]

    def _no_source(self, error: SettingsError) -> Diagnosis:
        """That there is no Prometheus: an error only where a policy needs one."""
        needed = bool(self._policies.requests())
        severity: Severity = "error" if needed else "note"
        text = "" if needed else "No policy needs Prometheus, and none was found: "
        return Diagnosis(
            area=PROMETHEUS,
            severity=severity,
            message=f"{text}{error.message}.",
            advice=f"Maybe {error.hint}" if needed else "",
        )

    def _exporters(self, source: MetricSource, snapshot: Snapshot) -> Iterator[Diagnosis]:
        readings = list(answers(self._policies, snapshot))
        definitions = [
            DefinedReading(reading.name, reading.place.partition(" ")[0], reading.own)
            for reading in all_definitions(self._policies)
            if not reading.place.endswith("(preset)")
        ]
        names = series_needed(readings, definitions, snapshot)
        try:
            present = count_series(source, names) if names else {}
        except MetricsUnavailable as error:
            yield _fault(EXPORTERS, f"Prometheus was not read: {error.message}", error)
            return
        yield from check_exporters(readings, definitions, present, snapshot)

    def _steering(self, snapshot: Snapshot | None) -> Iterator[Diagnosis]:
        policies, unsteered = choose_seen_steering(self._connection, self._policies)
        by = policies.wanted_steering()
        if not by and not unsteered:
            text = "No policy asks for steering. Replacements go where kube-scheduler puts them, "
            yield Diagnosis(
                area=STEERING,
                severity="note",
                message=f"{text}which is often the old node.",
                advice="Set `steering` in the Limits, and apply its component of deploy/kustomize.",
            )
            return
        problems = [*unsteered, *not_set_up(self._connection, policies)]
        if snapshot is not None:
            problems += steering_notes(
                policies.policies, policies.limits, snapshot, policies.schedulers
            )
        for problem in problems:
            yield Diagnosis(
                area=STEERING,
                severity="note" if problem.code == _UNSTEERED else "error",
                code=problem.code,
                message=problem.message,
                advice=advice(problem.code),
            )
        if not problems:
            text = f"{', '.join(by)}: nothing that it needs is seen to be missing."
            yield Diagnosis(area=STEERING, severity="ok", message=text)

    def _policy_rules(self, snapshot: Snapshot | None) -> Iterator[Diagnosis]:
        """Which policies and rules of them can never act."""
        policies = self._policies
        reasons = list(dead(policies))
        reasons += [] if snapshot is None else list(idle(policies, snapshot))
        for name, rules in _by_policy(reasons).items():
            verb = "have" if " and " in name else "has"
            yield Diagnosis(
                area=POLICIES,
                severity="warning",
                message=f"{name} {verb} rules without effect here: {'; '.join(rules)}.",
                advice="Change these rules, or remove them.",
            )
        lacking = list(undefined_readings(policies))
        for policy, why in lacking:
            text = f"{policy.kind} {policy.name}: {why}."
            yield Diagnosis(area=POLICIES, severity="error", code="RDG008", message=text)
        only = [policy.name for policy in policies.policies if policy.mode == "Audit"]
        if only and self._settings.mode == "Enforce":
            yield Diagnosis(
                area=POLICIES,
                severity="note",
                message=f"{', '.join(only)} only reports, as its document has `mode: Audit`.",
                advice="Set `mode: Enforce` in it once you trust what it reports.",
            )
        if not reasons and not lacking:
            count = (
                f"{len(policies.policies)} policies" if len(policies.policies) != 1 else "1 policy"
            )
            text = f"{count} read; what they select was not checked."
            if snapshot is not None:
                text = f"{count} read. No rule is without effect here."
            yield Diagnosis(area=POLICIES, severity="ok", message=text)


def _by_policy(reasons: Iterable[str]) -> dict[str, list[str]]:
    """Reasons by what they begin with: the kind and name of their document."""
    answer: dict[str, list[str]] = {}
    for reason in dict.fromkeys(reasons):
        policy, _, rule = reason.partition(": ")
        answer.setdefault(policy, []).append(rule)
    return answer


def _fault(area: str, text: str, error: ReschedulerError) -> Diagnosis:
    hint = f"Maybe {error.hint}" if error.hint else ""
    return Diagnosis(area=area, severity="error", message=f"{text}.", advice=hint)


def _unreachable_server(url: str, error: ReschedulerError) -> Diagnosis:
    """That nothing answers there; a Service is reached from outside by a port-forward."""
    text = f"{url} cannot be read: {error.message}."
    service = _IN_CLUSTER.match(url)
    hint = f"Maybe {error.hint}" if error.hint else ""
    if service is not None:
        hint = (
            f"From outside of the cluster: kubectl -n {service['namespace']} port-forward "
            f"service/{service['name']} 9090:{service['port']}, and {OPTIONS} "
            "http://localhost:9090."
        )
    return Diagnosis(area=PROMETHEUS, severity="error", message=text, advice=hint)
