"""Computes the extender's advice again every period, in a process of its own.

Reading a large cluster holds the interpreter for seconds, and an extender that answers late holds
up the scheduler; so the process that answers does nothing else.
"""

import time
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from datetime import timedelta
from multiprocessing import get_context

from rescheduler.kube.pods.steered_affinity import HOSTNAME
from rescheduler.model.errors import ReschedulerError
from rescheduler.planning.advice import Advice, advise
from rescheduler.runtime.logs import logger
from rescheduler.runtime.observing import observer
from rescheduler.runtime.parts import policies_of
from rescheduler.runtime.servers.extender.extender_answers import LatestAdvice, known_of
from rescheduler.runtime.settings import Settings
from rescheduler.runtime.stopping import Stop
from rescheduler.sources.kubernetes.client import connect

MOST_AGE = 3
"""After so many periods without news, the last answers are not given any more."""
LEAST_PATIENCE = 60.0
"""Seconds without news, and for one reading, that are allowed however short the period is: starting
the process and reading a cluster take longer than three periods of two seconds."""


def observe_advice(settings: Settings) -> tuple[Advice, dict[str, str]]:
    """What the policies say of the cluster now, and the hostname label of each node.

    Raises:
        ReschedulerError: the policies, the cluster or its metrics cannot be read.
    """
    policies = policies_of(settings)
    observe = observer(settings, connect(settings.kubeconfig, settings.context))
    snapshot = observe([request for one in policies.policies for request in one.requests()])
    labels = {n.metadata.name: (n.metadata.labels or {}).get(HOSTNAME, "") for n in snapshot.nodes}
    return advise(snapshot, policies.policies), labels


class Refreshing:
    """Asks again every period, until stopped; `tell` gets what is known, or None once it is old."""

    def __init__(
        self,
        settings: Settings,
        period: timedelta,
        stop: Stop,
        tell: Callable[[LatestAdvice | None], None],
        on_period: Callable[[], None],
        observe: Callable[[Settings], tuple[Advice, dict[str, str]]] = observe_advice,
    ) -> None:
        """on_period: called once a period, whether or not the cluster can be read then."""
        self._settings = settings
        self._period = period.total_seconds()
        self._patience = max(MOST_AGE * self._period, LEAST_PATIENCE)
        self._stop = stop
        self._tell = tell
        self._each = on_period
        self._observe = observe
        self._last = 0.0

    def run(self) -> None:
        """Refresh until stopped."""
        while not self._stop.reason():
            began = time.monotonic()
            self._each()
            self._refresh()
            self._forget_old()
            self._stop.wait(max(self._period - (time.monotonic() - began), 1.0))

    def _forget_old(self) -> None:
        if self._last and time.monotonic() - self._last > self._patience:
            self._tell(None)
            self._last = 0.0

    def _refresh(self) -> None:
        # A new process each time gives the memory of the reading back.
        pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
        try:
            advice, hostnames = self._await_result(pool.submit(self._observe, self._settings))
        except (ReschedulerError, BrokenProcessPool, TimeoutError) as error:
            logger().error("the cluster was not read", error=f"{type(error).__name__}: {error}")
        else:
            self._tell(known_of(advice, hostnames))
            self._last = time.monotonic()
            logger().info("refreshed", nodes=len(advice.nodes), controllers=len(advice.rows))
        finally:
            for process in list((pool._processes or {}).values()):  # noqa: SLF001 - no public way
                process.terminate()
            pool.shutdown(wait=False, cancel_futures=True)

    def _await_result(
        self, future: "Future[tuple[Advice, dict[str, str]]]"
    ) -> tuple[Advice, dict[str, str]]:
        until = time.monotonic() + self._patience
        while not future.done():
            self._forget_old()  # a reading may hang for as long as news last
            if self._stop.wait(0.2):
                raise TimeoutError("stopped meanwhile")
            if time.monotonic() > until:
                raise TimeoutError(f"not read within {self._patience:g} s")
        return future.result()
