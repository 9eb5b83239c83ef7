"""Asks the API server what an account may do. Reviews are answered and never stored."""

from dataclasses import dataclass
from typing import Any

from rescheduler.actions.api_call import Api, call
from rescheduler.model.errors import ActionError

_AUTHORIZATION = "/apis/authorization.k8s.io/v1"
_WHO_AM_I = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
_TIMEOUT = 5.0
_ALL = "system:serviceaccounts"


@dataclass(frozen=True, slots=True)
class Account:
    """Whose rights are asked for. user: "" for ourselves, in `groups` then nothing."""

    user: str = ""
    groups: tuple[str, ...] = ()


def service_account(namespace: str, name: str) -> Account:
    """A service account, with the groups that it is in."""
    user = f"system:serviceaccount:{namespace}:{name}"
    return Account(user, (_ALL, f"{_ALL}:{namespace}", "system:authenticated"))


class AccessReviews:
    """Asks about rights: our own, and those of others where we may ask about them."""

    def __init__(self, api: Api) -> None:
        """Nothing is sent yet."""
        self._api = api

    def own_name(self) -> str:
        """Our user name; "" where the API server does not tell it."""
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        answer = call(self._api, "POST", _WHO_AM_I, review, timeout=_TIMEOUT)
        status = answer.body.get("status") or {} if answer.ok else {}
        return str((status.get("userInfo") or {}).get("username") or "")

    def may(self, account: Account, attributes: dict[str, str]) -> bool:
        """Whether the account has this right. attributes: verb, group, resource and so on.

        Raises:
            ActionError: the API server does not say.
        """
        kind, spec = "SelfSubjectAccessReview", {"resourceAttributes": attributes}
        if account.user:
            kind = "SubjectAccessReview"
            spec |= {"user": account.user, "groups": list(account.groups)}  # type: ignore[dict-item]
        return self._review(kind, spec).get("allowed") is True

    def own_rules(self, namespace: str) -> list[dict[str, Any]]:
        """The rules that say what we may do in a namespace, those for the cluster among them.

        Raises:
            ActionError: the API server does not say.
        """
        status = self._review("SelfSubjectRulesReview", {"namespace": namespace})
        return list(status.get("resourceRules") or ())

    def _review(self, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
        path = f"{_AUTHORIZATION}/{kind.lower()}s"
        answer = call(self._api, "POST", path, {**review, "metadata": {}}, timeout=_TIMEOUT)
        if not answer.ok:
            raise ActionError(
                f"the API server does not answer a {kind}: {answer.message}",
                "ask an administrator which rights the account has.",
            )
        return answer.body.get("status") or {}
