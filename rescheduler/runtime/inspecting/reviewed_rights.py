"""The rights of the account that runs here, or would: asked of the API server one by one."""

import time
from collections.abc import Iterable, Iterator

from rescheduler.actions.access_reviews import AccessReviews, Account, service_account
from rescheduler.actions.api_call import ServerClock
from rescheduler.actions.stored_object import StoredObject
from rescheduler.model.checkup import Diagnosis
from rescheduler.model.errors import ActionError, ClusterUnavailable
from rescheduler.model.moves.plan import Mode
from rescheduler.policies.files.policy_set import PolicySet
from rescheduler.reporting.doctor.rights_rules import (
    EVERYTHING,
    RIGHTS,
    GrantedRule,
    Right,
    check_rights,
    check_spare,
    spare_rights,
)
from rescheduler.runtime.inspecting.expected_rights import expected_rights
from rescheduler.runtime.live_actor import NAMESPACE
from rescheduler.sources.kubernetes.client import Connection
from rescheduler.sources.kubernetes.discovery import Discovery

ACCOUNTS: dict[Mode, str] = {"Audit": "rescheduler-audit", "Enforce": "rescheduler"}
"""The service accounts of deploy/kustomize by mode."""
_SERVICE_ACCOUNT = "system:serviceaccount:"
_DISCOVERY_TIME = 30.0
_DANGEROUS = (
    Right("delete", "pods"),
    Right("create", "pods"),
    Right("patch", "pods"),
    Right("create", "pods/exec"),
    Right("patch", "nodes"),
    Right("update", "deployments", "apps"),
    Right("list", "secrets"),
    Right("create", "rolebindings", "rbac.authorization.k8s.io"),
)
"""What another account is asked for beside its own rights, of which no list can be had."""


class RightsReview:
    """Asks for the rights of one account. name: as people call it."""

    def __init__(self, connection: Connection, mode: Mode) -> None:
        """Finds out whose rights they are. Raises: ActionError."""
        self._connection = connection
        self._mode = mode
        self._reviews = AccessReviews(connection.api)
        self._account = self._find_account()
        own = self._reviews.own_name() or "this account"
        self.name = self._account.user or own
        self.of_person = not self._account.user and not own.startswith(_SERVICE_ACCOUNT)
        """Whether they are those of a person, who may do much and runs nothing in the cluster."""

    def diagnoses(self, policies: PolicySet) -> Iterator[Diagnosis]:
        """What is missing and what is spare. Raises: ActionError."""
        expected = expected_rights(self._mode, policies)
        missing = [right for right in expected if not self._may(right)]
        yield from check_rights(self.name, self._mode, expected, self._needed_here(missing))
        if self.of_person:
            yield Diagnosis(
                area=RIGHTS,
                severity="note",
                message=f"These are your own rights. Service account {NAMESPACE}/"
                f"{ACCOUNTS[self._mode]}, which a run in the cluster has, is not there, or you "
                "may not ask about it.",
            )
            return
        yield from check_spare(self.name, self._mode, self._spare(expected))

    def _find_account(self) -> Account:
        """The service account of this mode where we may ask about it; else ourselves."""
        if self._connection.name == "in-cluster":
            return Account()
        asking = Right("create", "subjectaccessreviews", "authorization.k8s.io")
        looking = Right("get", "serviceaccounts", "", NAMESPACE, ACCOUNTS[self._mode])
        if not all(self._reviews.may(Account(), _attributes(right)) for right in (asking, looking)):
            return Account()
        path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
        store = StoredObject(self._connection.api, path, ACCOUNTS[self._mode], clock=ServerClock())
        return Account() if store.read() is None else service_account(NAMESPACE, store.name)

    def _may(self, right: Right) -> bool:
        return self._reviews.may(self._account, _attributes(right))

    def _needed_here(self, missing: Iterable[Right]) -> Iterator[Right]:
        """Without the rights to kinds that this cluster does not serve."""
        discovery = Discovery(self._connection, time.monotonic() + _DISCOVERY_TIME)
        for right in missing:
            try:
                if not right.served or discovery.serves(right.served):
                    yield right
            except ClusterUnavailable as error:
                raise ActionError(error.message, error.hint) from error

    def _spare(self, expected: list[Right]) -> list[str]:
        if not self._account.user:
            rules = [_rule_of(rule) for rule in self._reviews.own_rules(NAMESPACE)]
            return spare_rights(rules, expected)
        everything = Right(EVERYTHING, EVERYTHING, EVERYTHING)
        if self._may(everything):
            return [EVERYTHING]
        expected_kinds = {right[:3] for right in expected}
        return [
            str(right)
            for right in _DANGEROUS
            if right[:3] not in expected_kinds and self._may(right)
        ]


def review_fault(error: ActionError) -> Diagnosis:
    """That the rights are not known."""
    text = f"The rights are not known: {error.message}."
    return Diagnosis(area=RIGHTS, severity="warning", message=text, advice=error.hint)


def _attributes(right: Right) -> dict[str, str]:
    resource, _, subresource = right.resource.partition("/")
    attributes = {"verb": right.verb, "group": right.group, "resource": resource}
    more = {"subresource": subresource, "namespace": right.namespace, "name": right.name}
    return attributes | {key: value for key, value in more.items() if value}


def _rule_of(rule: dict[str, list[str]]) -> GrantedRule:
    return GrantedRule(
        verbs=tuple(rule.get("verbs") or ()),
        groups=tuple(rule.get("apiGroups") or ()),
        resources=tuple(rule.get("resources") or ()),
        names=tuple(rule.get("resourceNames") or ()),
    )
