"""The audit trail on the disk: a chain that survives crashes, full disks and rotation."""

import errno
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from rescheduler.actions import trail_writer as trail_module
from rescheduler.actions.trail_file import TrailFile, TrailStream
from rescheduler.actions.trail_writer import Trail
from rescheduler.model.errors import TrailUnwritable
from rescheduler.model.trails.trail import (
    AnswerRecord,
    AnyRecord,
    CycleEnd,
    CycleStart,
    FollowUpRecord,
    Guard,
    Intent,
    Repaired,
    read_record,
)
from rescheduler.model.trails.trail_chain import TrailChain
from rescheduler.model.trails.trail_line import MOST_BYTES
from rescheduler.sources.trail_reader import read_lines

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
INTENT = Intent(uid="u1", namespace="default", pod="web-1", source="n1", plan="p1", fence=3)
ANSWER = AnswerRecord(uid="u1", plan="p1", result="evicted", code="ACT001")
FOLLOWED = FollowUpRecord(
    uid="u1", plan="p1", result="evicted", code="ACT001", state="evicted", node="n2"
)
START, END = CycleStart(mode="Enforce"), CycleEnd(verdict="done", exit=0)


def trail(path: Path, at: datetime = NOW, **fields: Any) -> Trail:
    given: dict[str, Any] = {"most_bytes": 1 << 20, "keep": 5, **fields}
    return Trail(TrailFile(path, **given), now=lambda: at)


def check(path: Path) -> tuple[list[AnyRecord], TrailChain]:
    """The records at that path, and whether they follow on each other."""
    chain, records = TrailChain(), []
    for line in read_lines(str(path)):
        entry = chain.add(line.data, line.file, line.number)
        if entry is not None:
            record = read_record(entry)
            assert record is not None
            records.append(record)
    chain.finish()
    return records, chain


def cycle(made: Trail) -> None:
    for start in (START, INTENT, ANSWER, END):
        made.record(start)


def test_a_chain_goes_on_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "trail.jsonl"
    cycle(trail(path))
    cycle(trail(path))
    records, chain = check(path)
    assert records == [START, INTENT, ANSWER, END] * 2
    assert (chain.broken, chain.warnings, len(chain.begins)) == (0, [], 1)
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    assert [entry["seq"] for entry in entries] == list(range(1, 9))
    assert [entry["cycle"] for entry in entries] == [1] * 4 + [5] * 4
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_must_survive_is_on_the_disk_before_the_next_thing_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    real = os.fsync

    def fsync(file: int) -> None:
        synced.append(file)
        real(file)

    monkeypatch.setattr(os, "fsync", fsync)
    made = trail(tmp_path / "t")
    counts = []
    for start in (START, INTENT, ANSWER):
        made.record(start)
        counts.append(len(synced))
    assert counts == [0, 1, 2]


def test_a_full_file_is_rotated_and_the_chain_goes_on_in_the_next(tmp_path: Path) -> None:
    path = tmp_path / "trail.jsonl"
    made = trail(path, most_bytes=1500, keep=100)
    for _ in range(20):
        cycle(made)
    files = sorted(tmp_path.iterdir())
    assert len(files) > 5
    assert all(file.stat().st_size <= 1500 for file in files)
    records, chain = check(path)
    assert len(records) == 80
    assert (chain.broken, list(chain.begins.values())) == (0, [1])


def test_the_oldest_files_go_and_the_rest_is_a_chain_still(tmp_path: Path) -> None:
    path = tmp_path / "trail.jsonl"
    for _ in range(20):
        cycle(trail(path, most_bytes=1500, keep=3))
    assert len(list(tmp_path.iterdir())) == 3
    records, chain = check(path)
    assert chain.broken == 0
    (begin,) = chain.begins.values()
    assert begin == 80 - len(records) + 1 > 1


def test_a_folder_has_a_file_for_each_day(tmp_path: Path) -> None:
    path = tmp_path / "audit-trail.jsonl"
    for day in range(3):
        cycle(trail(path, NOW + timedelta(days=day), daily=True))
    names = sorted(file.name for file in tmp_path.iterdir())
    assert names == [
        "audit-trail-2026-11-21-000000000004.jsonl",
        "audit-trail-2026-11-22-000000000008.jsonl",
        "audit-trail.jsonl",
    ]
    records, chain = check(tmp_path)
    assert (len(records), chain.broken) == (12, 0)


def test_a_crash_between_renaming_and_the_new_file_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "trail.jsonl"
    cycle(trail(path))
    path.rename(tmp_path / "trail-2026-11-21-000000000004.jsonl")
    cycle(trail(path))
    records, chain = check(path)
    assert (len(records), chain.broken, len(chain.begins)) == (8, 0, 1)


@pytest.mark.parametrize("cut", [2, 20, 150])
def test_a_torn_line_is_taken_away_and_noted(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "trail.jsonl"
    cycle(trail(path))
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    records, chain = check(path)
    assert len(records) == 3
    assert (chain.broken, len(chain.warnings)) == (0, 1)
    cycle(trail(path))
    records, chain = check(path)
    torn = whole.splitlines()[-1][: -cut + 1].decode()
    assert records[3] == Repaired(file="trail.jsonl", bytes=len(torn), text=torn)
    assert records[4:] == [START, INTENT, ANSWER, END]
    assert (chain.broken, chain.warnings) == (0, [])


def test_a_whole_line_that_only_lacks_its_line_break_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "trail.jsonl"
    cycle(trail(path))
    path.write_bytes(path.read_bytes()[:-1])
    cycle(trail(path))
    records, chain = check(path)
    assert records == [START, INTENT, ANSWER, END] * 2
    assert (chain.broken, chain.warnings) == (0, [])


def test_zeros_after_a_power_failure_are_taken_away(tmp_path: Path) -> None:
    path = tmp_path / "trail.jsonl"
    cycle(trail(path))
    with path.open("ab") as file:
        file.write(b"\0" * 300)
    cycle(trail(path))
    records, chain = check(path)
    assert (len(records), chain.broken) == (9, 0)


@pytest.mark.parametrize("text", ["apiVersion: v1\nkind: Config\n", "no line break", "x" * 500_000])
def test_a_file_that_is_no_trail_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(TrailUnwritable, match=r"no audit trail|no record of an audit trail"):
        trail(path).record(START)
    assert path.read_text() == text


def test_two_processes_do_not_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "t"
    first, second = trail(path), trail(path)
    first.record(START)
    with pytest.raises(TrailUnwritable, match="another process writes it"):
        second.record(START)
    first.record(END)
    second.record(START)  # the end of a cycle lets others write
    records, chain = check(path)
    assert (records[:2], chain.broken) == ([START, END], 0)


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Callable[[int | None], None]:
    """The disk has room for so many bytes; None is enough."""
    room: list[int | None] = [None]
    real = os.write

    def write(file: int, data: Any) -> int:
        if room[0] is None:
            return real(file, data)
        if room[0] <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = real(file, data[: room[0]])
        room[0] -= written
        return written

    monkeypatch.setattr(os, "write", write)

    def fill(left: int | None) -> None:
        room[0] = left

    return fill


@pytest.mark.parametrize("left", [0, 1, 100])
def test_a_full_disk_stops_what_has_yet_to_happen(
    tmp_path: Path, full: Callable[[int | None], None], left: int
) -> None:
    path = tmp_path / "t"
    made = trail(path)
    made.record(START)
    full(left)
    with pytest.raises(TrailUnwritable, match="No space left on device") as caught:
        made.record(INTENT)
    assert "nothing is evicted" in caught.value.hint
    assert caught.value.exit_code == 1


@pytest.mark.parametrize("left", [0, 100])
def test_an_answer_that_finds_the_disk_full_is_kept_and_nothing_follows_it(
    tmp_path: Path, full: Callable[[int | None], None], left: int
) -> None:
    path = tmp_path / "t"
    made = trail(path)
    made.record(START)
    made.record(INTENT)
    full(left)
    made.record(ANSWER)  # the pod is evicted already: nobody must trip over it
    made.record(FOLLOWED)
    with pytest.raises(TrailUnwritable, match=r"\([34] records not written\)"):
        made.record(INTENT)
    full(None)
    made.record(END)
    records, chain = check(path)
    kept = [record for record in records if not isinstance(record, Repaired)]
    assert [type(start) for start in kept] == [
        CycleStart,
        Intent,
        AnswerRecord,
        FollowUpRecord,
        Intent,
        CycleEnd,
    ]
    assert kept.count(ANSWER) == 1
    assert (chain.broken, chain.warnings) == (0, [])


def test_a_record_whose_sync_failed_is_in_the_trail_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = trail(tmp_path / "t")
    made.record(START)
    made.record(INTENT)

    def broken(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as context:
        context.setattr(os, "fsync", broken)
        made.record(ANSWER)
    made.record(END)
    records, chain = check(tmp_path / "t")
    assert records == [START, INTENT, ANSWER, END]
    assert chain.broken == 0


def test_a_line_is_ascii_and_short_whatever_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "t"
    made = trail(path)
    made.record(START)
    evil = '\x1b[2Jred\n{"trail":1}\u202e\u2028\x00\x9b' + "ü" * 200_000
    made.record(Guard(code="GRD001", message=evil))
    landing = {f"node-{number}-{'x' * 240}": 0.001 for number in range(5000)}
    made.record(structs.replace(INTENT, landing=landing))
    data = path.read_bytes()
    lines = data.splitlines(keepends=True)
    assert len(lines) == 3
    assert all(len(line) <= MOST_BYTES for line in lines)
    assert all(32 <= byte < 127 or byte == 10 for byte in data)
    guard, intent = json.loads(lines[1]), json.loads(lines[2])
    assert guard["record"]["message"].startswith(evil[:100])
    assert guard["cut"] == [
        f"message: {len(evil) - len(guard['record']['message'])} more characters"
    ]
    kept = len(intent["record"]["landing"])
    assert intent["cut"] == [f"landing: {5000 - kept} more"]
    assert check(path)[1].broken == 0


def test_text_and_numbers_that_json_does_not_have_stop_nothing(tmp_path: Path) -> None:
    path = tmp_path / "t"
    made = trail(path)
    made.record(START)
    made.record(Guard(code="GRD001", message="half a character: \ud800"))
    made.record(structs.replace(FOLLOWED, seconds=float("nan")))
    made.record(END)
    chain = TrailChain()
    found = [chain.add(line.data, line.file, line.number) for line in read_lines(str(path))]
    chain.finish()
    assert all(found)
    assert (chain.broken, chain.warnings) == (0, [])


def test_a_trail_goes_on_once_there_is_room_again(
    tmp_path: Path, full: Callable[[int | None], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trail_module, "MOST_WAITING", 3)
    made = trail(tmp_path / "t")
    full(0)
    for _ in range(5):
        with pytest.raises(TrailUnwritable, match="No space left"):
            made.record(START)
    full(None)
    cycle(made)
    records, chain = check(tmp_path / "t")
    assert records[-4:] == [START, INTENT, ANSWER, END]
    assert chain.broken == 0


def test_standard_output_gets_whole_lines(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    cycle(Trail(TrailStream(), now=lambda: NOW))
    lines = capsysbinary.readouterr().out.splitlines()
    chain = TrailChain()
    entries = [chain.add(line, "log", number) for number, line in enumerate(lines, 1)]
    assert [entry.seq for entry in entries if entry] == [1, 2, 3, 4]


def test_a_full_standard_output_stops_what_has_yet_to_happen() -> None:
    code = (
        "from rescheduler.actions.trail_writer import Trail\n"
        "from rescheduler.actions.trail_file import TrailStream\n"
        "from rescheduler.model.trails.trail import CycleStart\n"
        "from datetime import UTC, datetime\n"
        "Trail(TrailStream(), now=lambda: datetime.now(UTC)).record(CycleStart(mode='Audit'))\n"
    )
    with Path("/dev/full").open("wb") as nowhere:
        run = subprocess.run(
            [sys.executable, "-c", code], stdout=nowhere, stderr=subprocess.PIPE, check=False
        )
    assert b"TrailUnwritable" in run.stderr
    assert b"No space left" in run.stderr
