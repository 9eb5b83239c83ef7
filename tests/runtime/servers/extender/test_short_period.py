"""What the policies say is read again every period, however long the reading takes."""

import threading
import time
from datetime import timedelta

from rescheduler.planning.advice import Advice, advise
from rescheduler.runtime.servers.extender.advice_refresh import Refreshing
from rescheduler.runtime.servers.extender.extender_answers import LatestAdvice
from rescheduler.runtime.settings import Settings
from rescheduler.runtime.stopping import Stop
from tests.runtime.skewed import skewed, spread

PERIOD = timedelta(seconds=0.1)


def slowly(_settings: Settings) -> tuple[Advice, dict[str, str]]:
    """A reading that takes longer than three periods."""
    time.sleep(5 * PERIOD.total_seconds())
    return advise(skewed(), [spread()]), {}


def test_a_period_shorter_than_a_reading_gets_its_readings() -> None:
    stop = Stop()
    told: list[LatestAdvice | None] = []

    def tell(known: LatestAdvice | None) -> None:
        told.append(known)
        stop.request("enough was told")

    late = threading.Timer(50, stop.request, ["nothing was told"])
    late.start()
    Refreshing(Settings(), PERIOD, stop, tell, lambda: None, slowly).run()
    late.cancel()
    assert [known is not None for known in told] == [True], stop.reason()
