"""The rights that an account needs for its mode: what deploy/kustomize grants it."""

from collections.abc import Iterator

from rescheduler.actions.steering.extender_lease import NAME as EXTENDER
from rescheduler.actions.steering.steering_table import TABLE
from rescheduler.model.moves.plan import Mode
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.policies.steering_fields import AUTOMATIC
from rescheduler.reporting.doctor.rights_rules import Right
from rescheduler.runtime.live_actor import FINDING_HISTORY, LEASE, NAMESPACE, STATE
from rescheduler.runtime.report_keeping import LAST_REPORT
from rescheduler.sources.kubernetes.listed_kinds import (
    CONTROLLERS,
    GANG_OBJECTS,
    LISTS,
    NODE,
    OWNERS,
    POD,
    Kind,
)
from rescheduler.steering.means_registry import MEANS

_AGAIN = (
    ("", ("namespaces", "nodes", "pods", "replicationcontrollers")),
    ("apps", ("deployments", "replicasets", "statefulsets")),
    ("batch", ("cronjobs", "jobs")),
    ("jobset.x-k8s.io", ("jobsets",)),
    ("leaderworkerset.x-k8s.io", ("leaderworkersets",)),
)
"""What is read again right before an eviction."""
_LEASES = "coordination.k8s.io"
_NO_REPORT = "without it `rescheduler status` shows no last report."
_NO_STEERING = "without it nothing steers replacements."
_NO_HISTORY = "without it policies with `stableFor` take all findings for new."


def expected_rights(mode: Mode, policies: PolicySet) -> list[Right]:
    """What the account needs to run in this mode with these policies."""
    rights = [*_reading_rights(), *_own_state(policies)]
    if mode == "Enforce":
        rights += [*_acting_rights(), *_steering(policies), *_restart_rights(policies)]
    return rights


def _reading_rights() -> Iterator[Right]:
    """The lists that a snapshot is made of."""
    for kind in (POD, NODE, *LISTS.values(), *CONTROLLERS, *OWNERS, *GANG_OBJECTS):
        yield _list_right(kind)


def _list_right(kind: Kind) -> Right:
    verb, _, what = kind.right.partition(" ")
    resource, _, group = what.partition(".")
    return Right(verb, resource, group, served=kind.path if kind.extension else "")


def _own_state(policies: PolicySet) -> Iterator[Right]:
    for name in (STATE, FINDING_HISTORY, LAST_REPORT):
        yield Right("get", "configmaps", "", NAMESPACE, name)
    waits = any(policy.span for policy in policies.policies)
    history = "" if waits else _NO_HISTORY
    yield Right("update", "configmaps", "", NAMESPACE, FINDING_HISTORY, optional=history)
    yield Right("update", "configmaps", "", NAMESPACE, LAST_REPORT, optional=_NO_REPORT)


def _acting_rights() -> Iterator[Right]:
    yield Right("create", "pods/eviction")
    yield Right("create", "events", "events.k8s.io")
    for group, resources in _AGAIN:
        for resource in resources:
            extension = f"/apis/{group}/{_VERSIONS[group]}/{resource}" if group in _VERSIONS else ""
            yield Right("get", resource, group, served=extension)
    yield Right("create", "leases", _LEASES, NAMESPACE)
    yield Right("get", "leases", _LEASES, NAMESPACE, LEASE)
    yield Right("update", "leases", _LEASES, NAMESPACE, LEASE)
    yield Right("update", "configmaps", "", NAMESPACE, STATE)


_VERSIONS = {kind.path.split("/")[2]: kind.path.split("/")[3] for kind in OWNERS if kind.extension}
"""API group of each extension to the version that is read."""


def _steering(policies: PolicySet) -> Iterator[Right]:
    """What the means of steering that policies want need of us."""
    named = set(policies.wanted_steering())
    wanted = named | set(AUTOMATIC) if "Auto" in named else named
    means = [MEANS[name] for name in sorted(wanted & set(MEANS))]
    if any(not one.taints for one in means):
        written = any(not MEANS[name].taints for name in named & set(MEANS))
        optional = "" if written else _NO_STEERING
        yield Right("get", "configmaps", "", NAMESPACE, TABLE, optional=optional)
        yield Right("update", "configmaps", "", NAMESPACE, TABLE, optional=optional)
    if any(one.extends for one in means):
        yield Right("get", "leases", _LEASES, NAMESPACE, EXTENDER)
    if any(one.taints for one in means):
        yield Right("patch", "nodes")


def _restart_rights(policies: PolicySet) -> Iterator[Right]:
    if policies.limits.kueue == "Restart":
        yield Right("delete", "workloads", "kueue.x-k8s.io")
