"""Who shows a token and what they may see: what is not answered with a clear yes is a no."""

from typing import Any

import pytest

from rescheduler.actions import page_reviews
from rescheduler.actions.api_call import ApiResponse
from rescheduler.actions.page_reviews import PageReviews
from rescheduler.model.errors import ActionError
from rescheduler.model.page_right import PageRight, Reader
from tests.cases import every

USER = {"username": "ann", "uid": "u1", "groups": ["team"], "extra": {"scopes": ["few"]}}
REPORTS = PageRight("/rescheduler-reports")


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    return []


def reviews(
    monkeypatch: pytest.MonkeyPatch, answer: ApiResponse, sent: list[dict[str, Any]]
) -> PageReviews:
    def call(_api: Any, method: str, path: str, body: dict[str, Any], *, timeout: float) -> Any:
        assert (method, timeout <= 5.0) == ("POST", True)
        sent.append({"path": path, **body})
        return answer

    monkeypatch.setattr(page_reviews, "call", call)
    api: Any = None
    return PageReviews(api)


def said(**status: Any) -> ApiResponse:
    return ApiResponse(201, {"status": status})


def test_who_shows_a_token_is_asked_of_the_api_server(
    monkeypatch: pytest.MonkeyPatch, sent: list[dict[str, Any]]
) -> None:
    asked = reviews(monkeypatch, said(authenticated=True, user=USER), sent)
    assert asked.find_reader("secret") == Reader(USER)
    (review,) = sent
    assert review["path"] == "/apis/authentication.k8s.io/v1/tokenreviews"
    assert (review["kind"], review["spec"]) == ("TokenReview", {"token": "secret"})


@every(
    [
        {},
        {"authenticated": False, "user": USER},
        {"authenticated": "true", "user": USER},
        {"authenticated": True},
        {"authenticated": True, "user": {}},
        {"authenticated": True, "user": {"username": ""}},
        {"authenticated": True, "user": {"username": ["ann"]}},
        {"user": USER},
    ]
)
def test_a_token_without_a_clear_answer_is_nobodys(status: dict[str, Any]) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        assert reviews(monkeypatch, said(**status), []).find_reader("secret") is None


def test_a_right_is_asked_for_with_all_that_limits_the_token(
    monkeypatch: pytest.MonkeyPatch, sent: list[dict[str, Any]]
) -> None:
    asked = reviews(monkeypatch, said(allowed=True), sent)
    assert asked.may_see(Reader(USER), REPORTS)
    assert asked.may_see(Reader(USER), PageRight(namespace="shop"))
    common = {"user": "ann", "uid": "u1", "groups": ["team"], "extra": {"scopes": ["few"]}}
    path = {"verb": "get", "path": "/rescheduler-reports"}
    pods = {"verb": "get", "resource": "pods", "namespace": "shop"}
    assert [review["spec"] for review in sent] == [
        {**common, "nonResourceAttributes": path},
        {**common, "resourceAttributes": pods},
    ]
    assert {review["path"] for review in sent} == {
        "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    }


@every([{}, {"allowed": False}, {"allowed": "yes"}, {"allowed": True, "denied": True}])
def test_a_right_without_a_clear_yes_is_none(status: dict[str, Any]) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        assert not reviews(monkeypatch, said(**status), []).may_see(Reader(USER), REPORTS)


@every(
    [
        ApiResponse(0, message="no answer"),
        ApiResponse(403, {"status": "Failure"}, message="403 Forbidden"),
        ApiResponse(500, {"status": {"authenticated": True, "user": USER, "allowed": True}}),
        ApiResponse(200, {"status": "Success"}),
        ApiResponse(200, {}),
    ]
)
def test_an_api_server_that_does_not_answer_is_an_error(answer: ApiResponse) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        asked = reviews(monkeypatch, answer, [])
        with pytest.raises(ActionError):
            asked.find_reader("secret")
        with pytest.raises(ActionError):
            asked.may_see(Reader(USER), REPORTS)
