"""Which schedulers there are: what is declared of them, and what they report themselves."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import msgspec
from pydantic import ValidationError

from rescheduler.documents.envelope import to_document
from rescheduler.documents.validation import describe_error
from rescheduler.kube.pods.pod_requests import is_resized
from rescheduler.model.cluster.observed_scheduler import ObservedScheduler
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.plan_basis import SchedulerResult
from rescheduler.model.problem import Problem
from rescheduler.scheduler.config.default_profile import counting_profile, default_profiles
from rescheduler.scheduler.config.newer_configuration import read_configz
from rescheduler.scheduler.config.scheduler import Scheduler
from rescheduler.scheduler.config.scheduler_profile import configured_profiles, declared_profiles
from rescheduler.scheduler.config.versions import never_compared
from rescheduler.scheduler.profile import Profile
from rescheduler.scheduler.sampling import sample_size

Verb = Literal["filterVerb", "prioritizeVerb"]
"""What is requested of an extender: which nodes are left, or their scores."""


@dataclass(frozen=True, slots=True)
class ResolvedScheduler:
    """One scheduler. source: where its profile comes from. document: what declares it, if any."""

    profile: Profile
    source: str
    document: Scheduler | None = None


@dataclass(frozen=True, slots=True)
class Schedulers:
    """The schedulers of a cluster by name. guards: what holds the whole cycle because of them.

    notes: what is to be known of their predictions.
    """

    by_name: Mapping[str, ResolvedScheduler]
    guards: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()

    @property
    def profiles(self) -> dict[str, Profile]:
        """What the model follows."""
        return {name: scheduler.profile for name, scheduler in self.by_name.items()}

    def samples_nodes(self, name: str, nodes: int) -> bool:
        """Whether this scheduler looks at some of so many nodes only."""
        scheduler = self.by_name.get(name)
        return sample_size(nodes, scheduler.profile.percentage if scheduler else 0) < nodes

    def calls_extender(self, name: str, verb: Verb) -> bool:
        """Whether this scheduler may ask an extender that was declared harmless, as ours must be.

        Where no document has the scheduler's configuration it may, if a document declares one
        harmless for it, or the configuration of no other scheduler does.
        """
        scheduler = self.by_name.get(name)
        document = scheduler.document if scheduler else None
        if document is not None and (document.configuration or document.harmlessExtenders):
            return document.configuration is None or _calls_extender(document, verb)
        others = (item.document for item in self.by_name.values() if item.document)
        return not any(_calls_extender(item, verb) for item in others)

    def results(self) -> list[SchedulerResult]:
        """What a plan publishes of them, by name."""
        return [_result(name, scheduler) for name, scheduler in sorted(self.by_name.items())]


def _calls_extender(document: Scheduler, verb: Verb) -> bool:
    """Whether its configuration has a harmless extender that is called so for every pod."""
    return any(
        getattr(extender, verb)
        for extender in document.extenders
        if extender.urlPrefix in document.harmlessExtenders and not extender.managedResources
    )


def schedulers_of(
    snapshot: Snapshot, documents: Sequence[Scheduler] = (), pinned: Mapping[str, str] | None = None
) -> Schedulers:
    """What is known of the cluster's schedulers.

    `default-scheduler` is known without any word about it. If a running scheduler was read and gave
    no answer that can be used, a guard holds; where it contradicts a document, none of its landings
    can be predicted.

    documents: what operators declare. pinned: name to the digest of the profile that a plan was
    made with; one that is another now predicts nothing.
    """
    version = snapshot.cluster.version
    schedulers = {
        name: ResolvedScheduler(profile, f"default profile of {version or 'an unknown version'}")
        for name, profile in default_profiles(version).items()
    }
    observed = snapshot.scheduler
    reported, guards = _reported_profiles(observed, documents)
    if observed is not None:
        schedulers |= {
            profile.name: ResolvedScheduler(profile, _configz_name(observed))
            for profile in reported.values()
        }
    for document in documents:
        reporter = (
            observed if observed is not None and set(document.names) & reported.keys() else None
        )
        usual = reporter.version if reporter is not None and reporter.version else version
        for profile in declared_profiles(document, usual, reporter.gates if reporter else {}):
            schedulers[profile.name] = _reconcile_profiles(
                profile, reported.get(profile.name), document, reporter
            )
    schedulers = _check_pinned(_counted_alike(schedulers, snapshot), pinned or {})
    if guards:  # also where only single moves are checked
        message = guards[0].message
        schedulers = {
            name: replace(scheduler, profile=replace(scheduler.profile, problem=message))
            for name, scheduler in schedulers.items()
        }
    held, notes = _never_compared(schedulers, snapshot)
    return Schedulers(schedulers, (*guards, *held), notes)


def _never_compared(
    schedulers: Mapping[str, ResolvedScheduler], snapshot: Snapshot
) -> tuple[tuple[Problem, ...], tuple[Problem, ...]]:
    """GRD012 of each scheduler that pods have and that no one allows, and of those allowed."""
    used = {spec.schedulerName for spec in snapshot.specs}
    held: list[Problem] = []
    allowed: list[Problem] = []
    for name, scheduler in sorted(schedulers.items()):
        if name not in used or scheduler.profile.problem:
            continue
        versions = scheduler.document.allowVersions if scheduler.document else []
        document = scheduler.document.name if scheduler.document else ""
        message = never_compared(name, scheduler.profile.version, versions, document)
        if message:
            problems = allowed if scheduler.profile.version in versions else held
            problems.append(Problem(code="GRD012", message=message))
    return tuple(held), tuple(allowed)


def digest(profile: Profile) -> str:
    """SHA-256 of all that the profile holds."""
    return hashlib.sha256(msgspec.json.encode(profile, order="deterministic")).hexdigest()


def _reported_profiles(
    observed: ObservedScheduler | None, documents: Sequence[Scheduler]
) -> tuple[dict[str, Profile], tuple[Problem, ...]]:
    """The profiles that the running scheduler reports, or why it cannot be understood."""
    if observed is None:
        return {}, ()
    if observed.problem is not None:
        return {}, (observed.problem,)
    try:
        configz = read_configz(observed.configuration)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        what = describe_error(first, ".".join(map(str, first["loc"])))
        message = f"{_configz_name(observed)} is not understood: {what}"
        return {}, (Problem(code="GRD010", message=message),)
    profiles = [
        replace(profile, problem=configz.problem(profile.name) or profile.problem)
        for profile in configured_profiles(
            configz.configuration, observed.version, observed.gates, documents, complete=True
        )
    ]
    return {profile.name: profile for profile in profiles}, ()


def _configz_name(observed: ObservedScheduler) -> str:
    return f"/configz of {observed.url.removeprefix('https://')}"


def _reconcile_profiles(
    declared: Profile,
    reported: Profile | None,
    document: Scheduler,
    observed: ObservedScheduler | None,
) -> ResolvedScheduler:
    source = f"document {document.name}"
    if reported is None or observed is None:
        return ResolvedScheduler(declared, source, document)
    differing = [
        f"feature gate {name} is {_value_text(said)}, and the scheduler has it {_value_text(has)}"
        for name, said in document.featureGates.items()
        if (has := observed.gates.get(name, said)) != said
    ] or _differences(declared, reported)
    if differing:
        problem = f"{source} and {_configz_name(observed)} disagree: {'; '.join(differing[:3])}"
        return ResolvedScheduler(replace(declared, problem=problem), source, document)
    return ResolvedScheduler(
        reported, f"{source}, as {_configz_name(observed)} reports too", document
    )


def _differences(declared: Profile, reported: Profile) -> list[str]:
    """The differences between the two, each with both values."""
    one, other = msgspec.to_builtins(declared), msgspec.to_builtins(reported)
    answer = []
    for name in (field.name for field in fields(Profile) if field.name != "problem"):
        here, there = one[name], other[name]
        if name == "filters":
            here, there = sorted(set(here) - set(there)), sorted(set(there) - set(here))
        if here == there:
            continue
        if isinstance(here, dict) and isinstance(there, dict):
            answer += [
                f"{name}.{key} is declared as {_value_text(here.get(key))} "
                f"and runs as {_value_text(there.get(key))}"
                for key in sorted({*here, *there})
                if here.get(key) != there.get(key)
            ]
        elif name == "filters":
            answer += [f"{plugin} is declared to filter, and does not" for plugin in here]
            answer += [f"{plugin} is declared not to filter, and does" for plugin in there]
        else:
            answer.append(
                f"{name} is declared as {_value_text(here)} and runs as {_value_text(there)}"
            )
    if not answer and declared.problem != reported.problem:
        answer.append(f"it has a part that is not modelled: {reported.problem or declared.problem}")
    return answer


def _value_text(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "absent" if value is None else msgspec.json.encode(value).decode()


def _counted_alike(
    schedulers: dict[str, ResolvedScheduler], snapshot: Snapshot
) -> dict[str, ResolvedScheduler]:
    """The same, with a problem where a scheduler counts requests otherwise than the model does."""
    profiles = {name: scheduler.profile for name, scheduler in schedulers.items()}
    usual = counting_profile(profiles, snapshot.cluster.version)
    answer = {}
    for name, scheduler in schedulers.items():
        profile = scheduler.profile
        problem = _counts_otherwise(profile, usual, snapshot) if usual.version else ""
        if problem:
            profile = replace(profile, problem=profile.problem or problem)
        answer[name] = replace(scheduler, profile=profile)
    return answer


def _counts_otherwise(profile: Profile, usual: Profile, snapshot: Snapshot) -> str:
    """What the two count otherwise of pods that run: the model counts it once for all, or ""."""
    version = usual.version
    if profile.pod_level_resources != usual.pod_level_resources:
        return f"its version counts pod-level requests otherwise than {version} does"
    if profile.resizes_by_sum != usual.resizes_by_sum and any(map(is_resized, snapshot.pods)):
        return (
            f"its version counts pods in resize otherwise than {version} does, and there are some"
        )
    return ""


def _check_pinned(
    schedulers: dict[str, ResolvedScheduler], pinned: Mapping[str, str]
) -> dict[str, ResolvedScheduler]:
    """The same, with a problem where the profile is not the one that a plan was made with."""
    answer = {}
    for name, scheduler in schedulers.items():
        profile = scheduler.profile
        if pinned and pinned.get(name) != digest(profile) and not profile.problem:
            problem = "its profile is another than the one that the plan was made with"
            profile = replace(profile, problem=problem)
        answer[name] = replace(scheduler, profile=profile)
    return answer


def _result(name: str, scheduler: ResolvedScheduler) -> SchedulerResult:
    profile = scheduler.profile
    problem = Problem(code="FEA005", message=profile.problem) if profile.problem else None
    return SchedulerResult(
        name=name,
        source=scheduler.source,
        version=profile.version,
        digest=digest(profile),
        # Through JSON, so that it equals what is read back: tuples would not.
        profile=msgspec.json.decode(msgspec.json.encode(profile, order="deterministic")),
        problem=problem,
        document=to_document(scheduler.document) if scheduler.document is not None else {},
    )
