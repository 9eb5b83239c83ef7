"""Whether what steers is set up, as far as those see it who do not act: in Audit, and in `check`.

A person with the rights of an administrator sees all of it. Whoever may not see something is told
nothing of it, and is not refused either, as the rights are asked for first: in Enforce it is asked
again, with the rights of who acts.
"""

from rescheduler.actions.extender_lease import NAME as EXTENDER
from rescheduler.actions.soft_taints import PATCHING, REVIEWS, allowed
from rescheduler.actions.steering_table import TABLE
from rescheduler.actions.stored import StoredObject
from rescheduler.actions.transport import Api, ServerClock
from rescheduler.model.errors import ActionError
from rescheduler.model.problem import Problem
from rescheduler.model.steering import Means
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.runtime.live_actor import NAMESPACE, extender_lease
from rescheduler.sources.kubernetes.client import Connection
from rescheduler.steering.confirming import out_of_use
from rescheduler.steering.readiness import noted

ACTING = "rescheduler"
"""The service account with which deploy/ acts."""
_OF_OTHERS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_CORE = f"/api/v1/namespaces/{NAMESPACE}"


def not_set_up(connection: Connection, policies: PolicySet) -> list[Problem]:
    """What the policies ask to be steered by and is seen not to be set up, one note for each."""
    asked = {policies.limits.steering_of(each).by for each in policies.policies} - {"None"}
    seer = _Seer(connection.api)
    notes = []
    for means in sorted(asked):
        try:
            why = seer.lacks(means)
        except ActionError:
            continue  # it cannot be seen
        if why is not None:
            notes.append(noted(means, why))
    return notes


class _Seer:
    """Looks at what we may see, and asks first whether we may."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._clock = ServerClock()

    def lacks(self, means: Means) -> Problem | None:
        """What is seen to be missing; None where nothing is, or where we may not look.

        Raises:
            ActionError: the API server does not answer, or refuses.
        """
        if means == "SoftTaint":
            return self._account()
        table = self._stored(f"{_CORE}/configmaps", TABLE)
        if self._may("get", "configmaps", TABLE) and table.read() is None:
            return Problem(code="STR001", message="the ConfigMap of the table does not exist")
        if means == "Extender" and self._may("get", "leases", EXTENDER, "coordination.k8s.io"):
            return out_of_use(extender_lease(self._api, self._clock).read(), self._clock.now())
        return None

    def _account(self) -> Problem | None:
        """Of the account that acts, where there is one: our own rights say nothing about it."""
        if not self._may("get", "serviceaccounts", ACTING):
            return None
        if self._stored(f"{_CORE}/serviceaccounts", ACTING).read() is None:
            return None
        reviews = "subjectaccessreviews"
        if not self._may("create", reviews, "", "authorization.k8s.io", namespace=""):
            return None
        accounts = "system:serviceaccounts"
        who = {
            "user": f"system:serviceaccount:{NAMESPACE}:{ACTING}",
            "groups": [accounts, f"{accounts}:{NAMESPACE}", "system:authenticated"],
        }
        if allowed(self._stored(_OF_OTHERS, ""), "SubjectAccessReview", PATCHING, **who):
            return None
        said = f"service account {NAMESPACE}/{ACTING} may not patch nodes"
        return Problem(code="STR001", message=said)

    def _may(
        self, verb: str, resource: str, name: str, group: str = "", *, namespace: str = NAMESPACE
    ) -> bool:
        asked = {"verb": verb, "group": group, "resource": resource, "name": name}
        asked["namespace"] = namespace
        return allowed(self._stored(REVIEWS, ""), "SelfSubjectAccessReview", asked)

    def _stored(self, collection: str, name: str) -> StoredObject:
        return StoredObject(self._api, collection, name, clock=self._clock, makes_namespace=False)
