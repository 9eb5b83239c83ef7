"""Which schedulers there are: what is declared of them, and what they report themselves."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import msgspec
from pydantic import ValidationError

from rescheduler.documents.envelope import to_document
from rescheduler.documents.validation import described
from rescheduler.kube.pods.pod_requests import resized
from rescheduler.model.cluster.observed_scheduler import ObservedScheduler
from rescheduler.model.cluster.snapshot import Snapshot
from rescheduler.model.moves.plan import SchedulerResult
from rescheduler.model.problem import Problem
from rescheduler.scheduler.config.default_profile import counting_profile, default_profiles
from rescheduler.scheduler.config.newer import understood
from rescheduler.scheduler.config.scheduler import Scheduler
from rescheduler.scheduler.config.scheduler_profile import configured_profiles, declared_profiles
from rescheduler.scheduler.config.versions import never_compared
from rescheduler.scheduler.profile import Profile
from rescheduler.scheduler.sampling import sample_size

Verb = Literal["filterVerb", "prioritizeVerb"]
"""What an extender is asked for: which nodes are left, or their scores."""


@dataclass(frozen=True, slots=True)
class Known:
    """One scheduler. source: where its profile comes from. document: what declares it, if any."""

    profile: Profile
    source: str
    document: Scheduler | None = None


@dataclass(frozen=True, slots=True)
class Schedulers:
    """The schedulers of a cluster by name. guards: what holds the whole cycle because of them.

    notes: what is to be known of their predictions.
    """

    known: Mapping[str, Known]
    guards: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()

    @property
    def profiles(self) -> dict[str, Profile]:
        """What the model follows."""
        return {name: each.profile for name, each in self.known.items()}

    def sampled(self, name: str, nodes: int) -> bool:
        """Whether this scheduler looks at some of so many nodes only."""
        known = self.known.get(name)
        return sample_size(nodes, known.profile.percentage if known else 0) < nodes

    def asks(self, name: str, verb: Verb) -> bool:
        """Whether this scheduler may ask an extender that was declared harmless, as ours must be.

        Where no document has the scheduler's configuration it may, if a document declares one
        harmless for it, or the configuration of no other scheduler does.
        """
        known = self.known.get(name)
        document = known.document if known else None
        if document is not None and (document.configuration or document.harmlessExtenders):
            return document.configuration is None or _asks(document, verb)
        others = (each.document for each in self.known.values() if each.document)
        return not any(_asks(each, verb) for each in others)

    def results(self) -> list[SchedulerResult]:
        """What a plan publishes of them, by name."""
        return [_result(name, each) for name, each in sorted(self.known.items())]


def _asks(document: Scheduler, verb: Verb) -> bool:
    """Whether its configuration has a harmless extender that is asked about every pod so."""
    return any(
        getattr(each, verb)
        for each in document.extenders
        if each.urlPrefix in document.harmlessExtenders and not each.managedResources
    )


def schedulers_of(
    snapshot: Snapshot, documents: Sequence[Scheduler] = (), pinned: Mapping[str, str] | None = None
) -> Schedulers:
    """What is known of the cluster's schedulers.

    `default-scheduler` is known without any word about it. Where a running scheduler was asked and
    gave no answer that can be used, a guard holds; where it contradicts a document, none of
    its landings can be predicted.

    documents: what operators declare. pinned: name to the digest of the profile that a plan was
    made with; one that is another now predicts nothing.
    """
    version = snapshot.cluster.version
    known = {
        name: Known(profile, f"default profile of {version or 'an unknown version'}")
        for name, profile in default_profiles(version).items()
    }
    observed = snapshot.scheduler
    reported, guards = _reported(observed, documents)
    if observed is not None:
        known |= {each.name: Known(each, _asked(observed)) for each in reported.values()}
    for document in documents:
        asked = observed if observed is not None and set(document.names) & reported.keys() else None
        usual = asked.version if asked is not None and asked.version else version
        for profile in declared_profiles(document, usual, asked.gates if asked else {}):
            known[profile.name] = _agreed(profile, reported.get(profile.name), document, asked)
    known = _pinned(_counted_alike(known, snapshot), pinned or {})
    if guards:  # also where only single moves are checked
        message = guards[0].message
        known = {
            name: replace(each, profile=replace(each.profile, problem=message))
            for name, each in known.items()
        }
    held, notes = _never_compared(known, snapshot)
    return Schedulers(known, (*guards, *held), notes)


def _never_compared(
    known: Mapping[str, Known], snapshot: Snapshot
) -> tuple[tuple[Problem, ...], tuple[Problem, ...]]:
    """GRD012 of each scheduler that pods have and that no one allows, and of those allowed."""
    used = {spec.schedulerName for spec in snapshot.specs}
    held: list[Problem] = []
    allowed: list[Problem] = []
    for name, each in sorted(known.items()):
        if name not in used or each.profile.problem:
            continue
        versions = each.document.allowVersions if each.document else []
        document = each.document.name if each.document else ""
        message = never_compared(name, each.profile.version, versions, document)
        if message:
            found = allowed if each.profile.version in versions else held
            found.append(Problem(code="GRD012", message=message))
    return tuple(held), tuple(allowed)


def digest(profile: Profile) -> str:
    """SHA-256 of all that the profile holds."""
    return hashlib.sha256(msgspec.json.encode(profile, order="deterministic")).hexdigest()


def _reported(
    observed: ObservedScheduler | None, documents: Sequence[Scheduler]
) -> tuple[dict[str, Profile], tuple[Problem, ...]]:
    """The profiles that the running scheduler reports, or why it cannot be understood."""
    if observed is None:
        return {}, ()
    if observed.problem is not None:
        return {}, (observed.problem,)
    try:
        known = understood(observed.configuration)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        what = described(first, ".".join(map(str, first["loc"])))
        message = f"{_asked(observed)} is not understood: {what}"
        return {}, (Problem(code="GRD010", message=message),)
    profiles = [
        replace(each, problem=known.problem(each.name) or each.problem)
        for each in configured_profiles(
            known.configuration, observed.version, observed.gates, documents, complete=True
        )
    ]
    return {each.name: each for each in profiles}, ()


def _asked(observed: ObservedScheduler) -> str:
    return f"/configz of {observed.url.removeprefix('https://')}"


def _agreed(
    declared: Profile,
    reported: Profile | None,
    document: Scheduler,
    observed: ObservedScheduler | None,
) -> Known:
    source = f"document {document.name}"
    if reported is None or observed is None:
        return Known(declared, source, document)
    differing = [
        f"feature gate {name} is {_shown(said)}, and the scheduler has it {_shown(has)}"
        for name, said in document.featureGates.items()
        if (has := observed.gates.get(name, said)) != said
    ] or _differences(declared, reported)
    if differing:
        problem = f"{source} and {_asked(observed)} disagree: {'; '.join(differing[:3])}"
        return Known(replace(declared, problem=problem), source, document)
    return Known(reported, f"{source}, as {_asked(observed)} reports too", document)


def _differences(declared: Profile, reported: Profile) -> list[str]:
    """The differences between the two, each with both values."""
    one, other = msgspec.to_builtins(declared), msgspec.to_builtins(reported)
    answer = []
    for name in (each.name for each in fields(Profile) if each.name != "problem"):
        here, there = one[name], other[name]
        if name == "filters":
            here, there = sorted(set(here) - set(there)), sorted(set(there) - set(here))
        if here == there:
            continue
        if isinstance(here, dict) and isinstance(there, dict):
            answer += [
                f"{name}.{key} is declared as {_shown(here.get(key))} "
                f"and runs as {_shown(there.get(key))}"
                for key in sorted({*here, *there})
                if here.get(key) != there.get(key)
            ]
        elif name == "filters":
            answer += [f"{each} is declared to filter, and does not" for each in here]
            answer += [f"{each} is declared not to filter, and does" for each in there]
        else:
            answer.append(f"{name} is declared as {_shown(here)} and runs as {_shown(there)}")
    if not answer and declared.problem != reported.problem:
        answer.append(f"it has a part that is not modelled: {reported.problem or declared.problem}")
    return answer


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "absent" if value is None else msgspec.json.encode(value).decode()


def _counted_alike(known: dict[str, Known], snapshot: Snapshot) -> dict[str, Known]:
    """The same, with a problem where a scheduler counts requests otherwise than the model does."""
    profiles = {name: each.profile for name, each in known.items()}
    usual = counting_profile(profiles, snapshot.cluster.version)
    answer = {}
    for name, each in known.items():
        profile = each.profile
        problem = _counts_otherwise(profile, usual, snapshot) if usual.version else ""
        if problem:
            profile = replace(profile, problem=profile.problem or problem)
        answer[name] = replace(each, profile=profile)
    return answer


def _counts_otherwise(profile: Profile, usual: Profile, snapshot: Snapshot) -> str:
    """What the two count otherwise of pods that run: the model counts it once for all, or ""."""
    version = usual.version
    if profile.pod_level_resources != usual.pod_level_resources:
        return f"its version counts pod-level requests otherwise than {version} does"
    if profile.resizes_by_sum != usual.resizes_by_sum and any(map(resized, snapshot.pods)):
        return (
            f"its version counts pods in resize otherwise than {version} does, and there are some"
        )
    return ""


def _pinned(known: dict[str, Known], pinned: Mapping[str, str]) -> dict[str, Known]:
    """The same, with a problem where the profile is not the one that a plan was made with."""
    answer = {}
    for name, each in known.items():
        profile = each.profile
        if pinned and pinned.get(name) != digest(profile) and not profile.problem:
            problem = "its profile is another than the one that the plan was made with"
            profile = replace(profile, problem=problem)
        answer[name] = replace(each, profile=profile)
    return answer


def _result(name: str, known: Known) -> SchedulerResult:
    profile = known.profile
    problem = Problem(code="FEA005", message=profile.problem) if profile.problem else None
    return SchedulerResult(
        name=name,
        source=known.source,
        version=profile.version,
        digest=digest(profile),
        # Through JSON, so that it equals what is read back: tuples would not.
        profile=msgspec.json.decode(msgspec.json.encode(profile, order="deterministic")),
        problem=problem,
        document=to_document(known.document) if known.document is not None else {},
    )
