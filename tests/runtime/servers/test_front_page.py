"""What people see of a service before it has a report, and on an instance that stands by."""

from datetime import timedelta

import pytest
from msgspec import structs

from rescheduler.model.errors import ActionError
from rescheduler.model.kept_cycles import CycleLog, CycleRecord, KeptCycles
from rescheduler.model.moves.plan import Report
from rescheduler.runtime.ended_cycle import failed_cycle
from rescheduler.runtime.servers.front_page import FrontPage, KeptReports, Standing
from tests.reporting import samples

HOSTILE = "<script>alert(1)</script>\x1b[31m"
FAILURE = CycleRecord(
    cycle=failed_cycle("Prometheus did not answer", samples.TAKEN, 3.0, mode="Enforce"),
    instance="pod-b",
)


class Stored:
    """A store that counts how often it is read."""

    def __init__(self, kept: KeptCycles | None, fault: str = "") -> None:
        self.kept, self.fault, self.reads, self.seconds = kept, fault, 0, 0.0

    def read(self) -> KeptCycles | None:
        self.reads += 1
        if self.fault:
            raise ActionError(self.fault, "ask again.")
        return self.kept

    def reports(self) -> KeptReports:
        return KeptReports(self.read, lambda: self.seconds)


def page(standing: Standing, own: Report | None = None, stored: Stored | None = None) -> str:
    kept = None if stored is None else stored.reports()
    return FrontPage(lambda: standing, lambda: own, kept).render().decode()


LEADS = Standing(leads=True, sentences=("This instance runs cycles in mode Audit.",))
STANDS_BY = Standing(leads=False, sentences=("This instance stands by: pod-b holds the lock.",))


def test_before_the_first_report_the_page_says_what_is_waited_for() -> None:
    text = page(LEADS)
    assert "This instance runs cycles in mode Audit." in text
    assert "There is no report yet." in text
    assert "There is no cycle yet." in text


def test_an_instance_that_leads_shows_its_own_report_and_no_note() -> None:
    text = page(LEADS, samples.plan(), Stored(KeptCycles(report=samples.outcome())))
    assert samples.plan().id in text
    assert "This instance" not in text


def test_a_standby_shows_the_report_that_is_kept_in_the_cluster() -> None:
    plan = structs.replace(samples.plan(), id="feedc0ffee12", taken=samples.TAKEN)
    text = page(STANDS_BY, samples.plan(), Stored(KeptCycles(report=plan)))
    assert "pod-b holds the lock" in text
    assert (
        "Below is the last report that is kept in the cluster, of 2026-11-21 14:02:07 UTC." in text
    )
    assert "feedc0ffee12" in text


def test_a_standby_without_a_kept_report_shows_its_own_with_its_time() -> None:
    text = page(STANDS_BY, samples.plan(), Stored(None))
    assert "Below is the last report of this instance, of 2026-11-21 14:02:07 UTC." in text


def test_without_a_report_the_kept_cycles_are_listed() -> None:
    text = page(STANDS_BY, None, Stored(KeptCycles(log=CycleLog(records=[FAILURE]))))
    assert "Prometheus did not answer" in text
    assert "There is no report yet." in text


def test_what_cannot_be_read_is_said_and_no_error_of_the_page() -> None:
    text = page(STANDS_BY, None, Stored(None, fault="403 Forbidden"))
    assert "The report that is kept in the cluster cannot be read: 403 Forbidden." in text


@pytest.mark.parametrize("own", [None, samples.plan()])
def test_text_from_the_cluster_is_inert_on_the_page(own: Report | None) -> None:
    text = page(Standing(leads=False, sentences=(HOSTILE,)), own)
    assert "<script>alert" not in text
    assert "\x1b" not in text


def test_who_reloads_the_page_does_not_ask_the_api_server_each_time() -> None:
    stored = Stored(None)
    reports = stored.reports()
    for _ in range(20):
        reports.read()
    assert stored.reads == 1
    stored.seconds += timedelta(seconds=11).total_seconds()
    reports.read()
    assert stored.reads == 2
