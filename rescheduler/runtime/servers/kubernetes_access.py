"""Lets those see pages of the service whom Kubernetes' own rights let.

    /metrics             get on the nonresource URL /metrics, as scrapers have it
    /namespaces/NAME     get on the pods of that namespace: the section of a team
    all other pages      get on the nonresource URL /rescheduler-reports

A bearer token is reviewed by the API server (TokenReview), then the right (SubjectAccessReview).
Nothing else of a request counts. Answers are remembered for some seconds, and only so many; where
the API server does not answer, nobody is let in.
"""

import hashlib
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar

from rescheduler.documents.label_names import is_namespace_name
from rescheduler.model.errors import ActionError
from rescheduler.model.page_right import PageRight, Reader
from rescheduler.runtime.logs import logger
from rescheduler.runtime.servers.reader_check import shown_secret

REPORTS, METRICS, NAMESPACES = "/rescheduler-reports", "/metrics", "/namespaces/"
MOST_ANSWERS = 256
LASTS = 10.0
"""Seconds for which an answer counts: so long a right that is taken away may still be used."""
_LONGEST = 16 * 1024
"""Bytes of a token."""
_TOKEN = re.compile(rb"[!-~]+")
"""One word: kube-apiserver would leave out what follows a space."""


class Reviews(Protocol):
    """Asks the API server; `PageReviews` of actions is the real one. Both raise ActionError."""

    def find_reader(self, token: str) -> Reader | None:
        """Who shows this token; None where nobody is known by it."""
        ...

    def may_see(self, reader: Reader, right: PageRight) -> bool:
        """Whether they have the right."""
        ...


T = TypeVar("T")


class RecentAnswers(Generic[T]):
    """The newest answers, each for some seconds."""

    def __init__(self, steady: Callable[[], float]) -> None:
        self._steady = steady
        self._lock = threading.Lock()
        self._answers: OrderedDict[Hashable, tuple[float, T]] = OrderedDict()

    def get(self, key: Hashable, ask: Callable[[], T]) -> T:
        """The answer that is remembered, or a new one; an error of `ask` is not remembered."""
        with self._lock:
            until, *remembered = self._answers.get(key, (0.0,))
            if remembered and self._steady() < until:
                return remembered[0]
        answer = ask()
        with self._lock:
            self._answers[key] = (self._steady() + LASTS, answer)
            self._answers.move_to_end(key)
            while len(self._answers) > MOST_ANSWERS:
                self._answers.popitem(last=False)
        return answer


class KubernetesAccess:
    """Decides by reviews."""

    def __init__(self, reviews: Reviews, steady: Callable[[], float] = time.monotonic) -> None:
        """Nothing is asked yet."""
        self._reviews = reviews
        self._readers: RecentAnswers[Reader | None] = RecentAnswers(steady)
        self._rights: RecentAnswers[bool] = RecentAnswers(steady)

    def refuse(self, path: str, authorizations: list[str]) -> int:
        """The status that refuses a request for this path with these headers; 0: it is let in."""
        secret = shown_secret(authorizations)
        if secret is None or len(secret) > _LONGEST or not _TOKEN.fullmatch(secret):
            return 401
        token = secret.decode("ascii")
        # The token itself is not kept.
        digest, right = hashlib.sha256(secret).digest(), right_for(path)
        try:
            reader = self._readers.get(digest, lambda: self._reviews.find_reader(token))
            if reader is None:
                return 401
            allowed = self._rights.get(
                (digest, right), lambda: self._reviews.may_see(reader, right)
            )
        except ActionError as error:
            logger().error("nobody is let in", error=error.message, hint=error.hint)
            return 503
        return 0 if allowed else 403


def right_for(path: str) -> PageRight:
    """What one needs to see this page."""
    namespace = path.removeprefix(NAMESPACES)
    if path.startswith(NAMESPACES) and is_namespace_name(namespace):
        return PageRight(namespace=namespace)
    return PageRight(METRICS if path == METRICS else REPORTS)
