"""Whether steering is set up, as Audit and `check` can see it without acting.

A person with the rights of an administrator sees all of it. For other people, what they may not
read is left out without an error, as their rights are checked first. In Enforce it is checked
again, with the rights of the service account that acts.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from rescheduler.acting import effective_policies
from rescheduler.acting.automatic_steering import choose_automatic_steering
from rescheduler.actions.api_call import ServerClock
from rescheduler.actions.steering.extender_lease import NAME as EXTENDER
from rescheduler.actions.steering.extender_lease import ExtenderLease
from rescheduler.actions.steering.soft_taints import PATCHING, REVIEWS, SoftTaints, is_allowed
from rescheduler.actions.steering.steering_table import TABLE, SteeringTable
from rescheduler.actions.stored_object import StoredObject
from rescheduler.kube.nesting import decode_json
from rescheduler.model.errors import ActionError
from rescheduler.model.moves.steering_entry import ExtenderStatus
from rescheduler.model.problem import Problem
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.runtime.live_actor import NAMESPACE
from rescheduler.sources.kubernetes.client import Connection
from rescheduler.steering.port import Port
from rescheduler.steering.steering import Steering

ACTING = "rescheduler"
"""The service account with which deploy/ acts."""
_OF_OTHERS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_CORE = f"/api/v1/namespaces/{NAMESPACE}"
_LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
_Stored = Callable[[str, str], StoredObject]
"""The object of that collection and name."""


def not_set_up(connection: Connection, policies: PolicySet) -> list[Problem]:
    """What the policies ask to be steered by and is seen not to be set up, one note for each."""
    return effective_policies.not_set_up(policies, _seen_steering(connection))


def choose_seen_steering(
    connection: Connection, policies: PolicySet
) -> tuple[PolicySet, list[Problem]]:
    """The policies with what we see steering instead of Auto; what we may not see does not.

    That we cannot find out is no fault of what steers: the note on what is unsteered has it.
    """
    steering = _seen_steering(connection)
    chosen, notes = choose_automatic_steering(policies, steering, lambda: read_version(connection))
    return chosen, [note for note in notes if note.code != "STR001"]


def read_version(connection: Connection) -> str:
    """The version of kube-apiserver. Raises: ClusterUnavailable."""
    try:
        return str(decode_json(connection.get("/version"), dict[str, Any]).get("gitVersion", ""))
    except msgspec.DecodeError:
        return ""


def _seen_steering(connection: Connection) -> Steering:
    clock = ServerClock()

    def stored_object(collection: str, name: str) -> StoredObject:
        return StoredObject(connection.api, collection, name, clock=clock, makes_namespace=False)

    port = Port(
        clock=clock.now,
        table=_SeenTable(stored_object),
        taints=_SeenTaints(stored_object),
        account=f"service account {NAMESPACE}/{ACTING}",
        extender=_SeenExtender(stored_object, clock),
    )
    return Steering(port)


class _SeenTable(SteeringTable):
    """The table, as far as we may see it."""

    def __init__(self, stored: _Stored) -> None:
        super().__init__(stored(f"{_CORE}/configmaps", TABLE), where=f"{NAMESPACE}/{TABLE}")
        self._stored = stored

    def exists(self) -> bool:
        """Whether there is one; also where we may not look. Raises: as `SteeringTable`."""
        return not _may(self._stored, "get", "configmaps", TABLE) or super().exists()


class _SeenExtender(ExtenderLease):
    """What the extender shows, as far as we may see it."""

    def __init__(self, stored: _Stored, clock: ServerClock) -> None:
        super().__init__(stored(_LEASES, EXTENDER), clock)
        self._stored = stored

    def read(self) -> ExtenderStatus | None:
        """What it shows. Raises: ActionError, also where we may not look."""
        if not _may(self._stored, "get", "leases", EXTENDER, "coordination.k8s.io"):
            raise ActionError(f"Lease {EXTENDER} may not be read", "ask who may read it.")
        return super().read()


class _SeenTaints(SoftTaints):
    """The right of the account that acts, as far as we may see it: ours says nothing about it."""

    def __init__(self, stored: _Stored) -> None:
        super().__init__(stored)
        self._of = stored

    def may_taint(self) -> bool:
        """Whether it may taint nodes; also where there is no such account, or we may not look.

        Raises:
            ActionError: the API server does not answer, or refuses.
        """
        if not _may(self._of, "get", "serviceaccounts", ACTING):
            return True
        if self._of(f"{_CORE}/serviceaccounts", ACTING).read() is None:
            return True
        reviews = "subjectaccessreviews"
        if not _may(self._of, "create", reviews, "", "authorization.k8s.io", namespace=""):
            return True
        accounts = "system:serviceaccounts"
        who = {
            "user": f"system:serviceaccount:{NAMESPACE}:{ACTING}",
            "groups": [accounts, f"{accounts}:{NAMESPACE}", "system:authenticated"],
        }
        return is_allowed(self._of(_OF_OTHERS, ""), "SubjectAccessReview", PATCHING, **who)


def _may(
    stored: _Stored,
    verb: str,
    resource: str,
    name: str,
    group: str = "",
    *,
    namespace: str = NAMESPACE,
) -> bool:
    """Whether we ourselves have this right. Raises: ActionError."""
    attributes = {"verb": verb, "group": group, "resource": resource, "name": name}
    attributes["namespace"] = namespace
    return is_allowed(stored(REVIEWS, ""), "SelfSubjectAccessReview", attributes)
