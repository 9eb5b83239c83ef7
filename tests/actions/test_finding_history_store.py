"""Finding histories outlive the process, survive faults of the store, and never claim too much."""

import base64
import gzip
from contextlib import suppress
from datetime import timedelta
from hashlib import blake2b
from typing import Any

import msgspec
import pytest

from rescheduler.actions.finding_history_store import REFRESH, FindingHistoryStore
from rescheduler.model.errors import ActionError
from rescheduler.model.finding_history import MOST_FINDINGS, Observation
from rescheduler.runtime.stored_history import memory_of
from rescheduler.sources.kubernetes.transport import Connection
from tests.fakes.apiserver import serving
from tests.fakes.stage import MAPS, START, Killed, Process, Stage

MINUTE = timedelta(minutes=1)
PATH = ("configmaps", "rescheduler", "rescheduler-finding-history")


def store(process: Process) -> FindingHistoryStore:
    return FindingHistoryStore(
        process._stored(MAPS, "rescheduler-finding-history"),
        where="rescheduler/rescheduler-finding-history",
    )


def observed(*findings: bytes, policy: str = "zones") -> Observation:
    return Observation(policy, "meaning", 10 * MINUTE, findings)


ONE, TWO = b"finding1", b"finding2"


def known(stage: Stage, policy: str = "zones") -> dict[bytes, timedelta]:
    watch = store(Process(stage, "reader")).read().watch_of(policy)
    return {} if watch is None else {key: at - START for key, at in watch.first_times().items()}


def writes(process: Process) -> int:
    return sum(method in ("PUT", "POST") for method, _ in process.sent)


def test_another_process_knows_what_the_first_has_found() -> None:
    stage = Stage()
    store(Process(stage, "one")).remember([observed(ONE)], START)
    store(Process(stage, "two")).remember([observed(ONE, TWO)], START + MINUTE)
    assert known(stage) == {ONE: timedelta(0), TWO: MINUTE}


def test_to_read_creates_nothing() -> None:
    stage, process = Stage(), Process(Stage(), "reader")
    assert store(process).read().watches == ()
    assert writes(process) == 0
    assert PATH not in stage.world.objects


def test_the_same_again_is_written_only_now_and_then() -> None:
    stage, process = Stage(), Process(Stage(), "one")
    process = Process(stage, "one")
    store(process).remember([observed(ONE)], START)
    before = writes(process)
    store(process).remember([observed(ONE)], START + REFRESH - MINUTE)
    assert writes(process) == before
    store(process).remember([observed(ONE)], START + REFRESH)
    assert writes(process) == before + 1
    store(process).remember([observed()], START + REFRESH + MINUTE)
    assert known(stage) == {}


@pytest.mark.parametrize("request_number", range(3))
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_crash_at_any_request_loses_at_most_that_cycle(request_number: int, when: str) -> None:
    stage = Stage()
    store(Process(stage, "one")).remember([observed(ONE)], START)

    def die(number: int, *_: str) -> None:
        if number == request_number:
            raise Killed

    crashing = Process(stage, "two")
    setattr(crashing, when, die)
    with suppress(Killed):
        store(crashing).remember([observed(ONE, TWO)], START + MINUTE)
    store(Process(stage, "three")).remember([observed(ONE, TWO)], START + 2 * MINUTE)
    assert known(stage)[ONE] == timedelta(0)
    assert known(stage)[TWO] in (MINUTE, 2 * MINUTE)


def test_of_two_writers_at_once_neither_observation_is_lost() -> None:
    stage = Stage()
    store(Process(stage, "first")).remember([observed(ONE)], START)
    other = Process(stage, "other")
    meanwhile = iter([True])

    def slip_in(_: int, method: str, __: str) -> None:
        if method == "PUT" and next(meanwhile, False):
            store(other).remember([observed(policy="else"), observed()], START + MINUTE)

    store(Process(stage, "slow", before=slip_in)).remember([observed(ONE, TWO)], START + MINUTE)
    assert known(stage) == {ONE: MINUTE, TWO: MINUTE}, "the other one did not find it"
    assert store(Process(stage, "reader")).read().watch_of("else") is not None


def test_a_reply_that_is_lost_is_no_fault() -> None:
    stage = Stage()
    lost = iter([True])

    def lose(_: int, method: str, __: str) -> str | None:
        return "lost" if method == "PUT" and next(lost, False) else None

    with pytest.raises(ActionError):
        store(Process(stage, "one", after=lose)).remember([observed(ONE)], START)
    store(Process(stage, "two")).remember([observed(ONE)], START + MINUTE)
    assert known(stage) == {ONE: timedelta(0)}


DEEP = base64.b64encode(gzip.compress(b"\x81\xa1x" + b"\x91" * 5000)).decode()
"""An object with a field that nobody knows, whose lists nest too deeply for a decoder."""


def spoil(stage: Stage, data: Any) -> None:
    stage.world.objects[PATH]["binaryData"] = data


@pytest.mark.parametrize("encoded", ["AAAA", "%%", DEEP], ids=["no gzip", "no base64", "deep"])
def test_what_is_damaged_is_reported_and_begun_anew(encoded: str) -> None:
    stage = Stage()
    store(Process(stage, "one")).remember([observed(ONE)], START)
    spoil(stage, {"finding_history": encoded})
    with pytest.raises(ActionError, match="cannot be decoded"):
        store(Process(stage, "two")).read()
    store(Process(stage, "two")).remember([observed(ONE)], START + MINUTE)
    assert known(stage) == {ONE: MINUTE}


def test_a_time_without_a_zone_is_damage_and_ends_no_cycle() -> None:
    stage = Stage()
    store(Process(stage, "one")).remember([observed(ONE)], START)
    watch = {"policy": "zones", "meaning": "meaning", "looked": "2026-11-21T12:00:00"}
    state = {"schemaVersion": 1, "finding_history": {"watches": [watch]}}
    packed = gzip.compress(msgspec.msgpack.encode(state))
    spoil(stage, {"finding_history": base64.b64encode(packed).decode()})
    with pytest.raises(ActionError, match="cannot be decoded"):
        store(Process(stage, "two")).read()
    store(Process(stage, "two")).remember([observed(ONE)], START + MINUTE)
    assert known(stage) == {ONE: MINUTE}


def test_a_cycle_that_may_be_in_audit_makes_no_namespace() -> None:
    with serving() as fake:
        memory = memory_of(Connection(fake.client(), "test"))
        with pytest.raises(ActionError, match="namespace rescheduler does not exist") as caught:
            memory.remember([observed(ONE)], START)
        assert "deploy/kustomize" in str(caught.value)
        assert ("namespaces", "", "rescheduler") not in fake.world.objects


def test_no_right_to_write_is_reported() -> None:
    stage = Stage()

    def forbid(_: int, method: str, __: str) -> int | None:
        return 403 if method != "GET" else None

    with pytest.raises(ActionError, match="may not create it"):
        store(Process(stage, "one", before=forbid)).remember([observed(ONE)], START)


def test_as_much_as_may_be_remembered_fits_into_a_config_map() -> None:
    stage = Stage()
    findings = [
        blake2b(str(index).encode(), digest_size=8).digest() for index in range(MOST_FINDINGS + 10)
    ]
    store(Process(stage, "one")).remember([observed(*findings)], START)
    assert len(known(stage)) == MOST_FINDINGS
    assert len(stage.world.objects[PATH]["binaryData"]["finding_history"]) < 800_000
