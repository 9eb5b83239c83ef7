"""Asks the API server who shows a bearer token, and what they may see of the service's pages."""

from dataclasses import dataclass
from typing import Any

from rescheduler.actions.api_call import Api, call
from rescheduler.model.errors import ActionError
from rescheduler.model.page_right import PageRight, Reader

_TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews"
_ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_TIMEOUT = 5.0


@dataclass(frozen=True, slots=True)
class PageReviews:
    """TokenReview and SubjectAccessReview; what is not answered is an error, never a yes."""

    api: Api

    def find_reader(self, token: str) -> Reader | None:
        """Who shows this token; None where the API server does not know it.

        Raises:
            ActionError: the API server does not say.
        """
        status = self._review(_TOKENS, "authentication.k8s.io/v1", "TokenReview", {"token": token})
        user = status.get("user")
        if status.get("authenticated") is not True or not isinstance(user, dict):
            return None
        # Without a name the review of rights would be about nobody.
        return Reader(user) if isinstance(user.get("username"), str) and user["username"] else None

    def may_see(self, reader: Reader, right: PageRight) -> bool:
        """Whether they have this right.

        Raises:
            ActionError: the API server does not say.
        """
        attributes: dict[str, Any] = {
            "nonResourceAttributes": {"verb": "get", "path": right.path},
        }
        if right.namespace:
            pods = {"verb": "get", "resource": "pods", "namespace": right.namespace}
            attributes = {"resourceAttributes": pods}
        user = reader.user
        spec = {
            "user": user["username"],
            "groups": user.get("groups") or [],
            "uid": user.get("uid") or "",
            "extra": user.get("extra") or {},  # a token may be good for less than its user may
            **attributes,
        }
        status = self._review(_ACCESS, "authorization.k8s.io/v1", "SubjectAccessReview", spec)
        return status.get("allowed") is True and not status.get("denied")

    def _review(self, path: str, version: str, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
        review = {"apiVersion": version, "kind": kind, "metadata": {}, "spec": spec}
        answer = call(self.api, "POST", path, review, timeout=_TIMEOUT)
        status = answer.body.get("status")
        if not answer.ok or not isinstance(status, dict):
            raise ActionError(
                f"the API server does not answer a {kind}: {answer.message}",
                "apply the component `page-access` of deploy/, which grants the right to ask.",
            )
        return status
