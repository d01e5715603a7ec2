"""The journal: what was told is on the disk, and comes back after any end."""

from __future__ import annotations

import errno
import json
import logging
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from advisor.ledger import journal as journals
from advisor.ledger.entry import Entry, Found, Outcome
from advisor.ledger.journal import Journal, UnusableJournal
from advisor.ledger.ledger import MOST_FOUND, MOST_OUTCOMES, Ledger
from exporter.recording import folder as folders
from exporter.recording.history import State
from tests.advisor.building import REPOSITORY
from tests.advisor.ledger.entries import AT, baseline, closed, found, opened, unasked
from tests.waiting import DEADLINE

ADDRESS = "db:3306"


def kept(folder: Path, *entries: Entry, address: str = ADDRESS) -> Path:
    """A journal in which these entries were kept one by one."""
    made = Journal(folder, address)
    ledger = made.ledger
    for each in entries:
        ledger = ledger.with_entry(each)
        made.keep((each,), ledger)
        assert made.problem is None
    return journals.path_of(folder, address)


def test_the_next_sidecar_goes_on_with_findings_and_open_outcomes(tmp_path: Path) -> None:
    path = kept(tmp_path / "state", found(), opened(), baseline(), unasked())
    ledger = Journal(tmp_path / "state", ADDRESS).ledger
    assert ledger == Ledger().with_entry(found()).with_entry(opened()).with_entry(baseline()).with_entry(unasked())
    assert ledger.before[opened().id] == baseline().reading
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert not list(path.parent.glob(".part-*"))


def test_a_later_line_replaces_an_earlier_one(tmp_path: Path) -> None:
    path = kept(tmp_path, opened(), baseline(), closed())
    assert len(path.read_text().splitlines()) == 4
    ledger = Journal(tmp_path, ADDRESS).ledger
    assert list(ledger.outcomes.values()) == [closed()]
    assert not ledger.before


def test_each_server_has_its_own_and_a_new_one_is_empty(tmp_path: Path) -> None:
    first = kept(tmp_path, opened())
    assert Journal(tmp_path, "other:3306").ledger == Ledger()
    second = journals.path_of(tmp_path, "other:3306")
    assert journals.paths(tmp_path) == sorted((first, second))
    assert journals.read(second).entries == ()


def test_names_that_are_no_valid_text_are_kept(tmp_path: Path) -> None:
    odd = opened(subject={"schema": "shop", "table": "a\udcff\n\0"})
    kept(tmp_path, odd)
    assert Journal(tmp_path, ADDRESS).ledger.outcomes[odd.id] == odd


def test_an_entry_is_on_the_disk_before_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Journal(tmp_path, ADDRESS)
    synced: list[int] = []

    def fsync(descriptor: int) -> None:
        synced.append(os.fstat(descriptor).st_size)

    monkeypatch.setattr(os, "fsync", fsync)
    made.keep((opened(),), Ledger().with_entry(opened()))
    assert synced == [journals.path_of(tmp_path, ADDRESS).stat().st_size]


def test_what_became_known_together_is_kept_together(tmp_path: Path) -> None:
    made = Journal(tmp_path, ADDRESS)
    made.keep((opened(), baseline()), Ledger.of([opened(), baseline()]))
    path = journals.path_of(tmp_path, ADDRESS)
    whole = path.read_bytes()
    head, both = whole.splitlines(keepends=True)
    for length in (len(head), len(head) + len(both) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        assert journals.read(path).entries == ()
    path.write_bytes(whole)
    assert journals.read(path).entries == (opened(), baseline())


@pytest.mark.parametrize("lost", [1, 2, 100])
def test_a_torn_last_line_is_dropped_and_the_next_entry_is_whole(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, lost: int
) -> None:
    path = kept(tmp_path, found(), opened())
    path.write_bytes(path.read_bytes()[:-lost])
    made = Journal(tmp_path, ADDRESS)
    assert made.ledger == Ledger().with_entry(found())
    made.keep((unasked(),), made.ledger.with_entry(unasked()))
    content = journals.read(path)
    assert content.entries == (found(), unasked())
    assert (content.torn, content.damage) == (False, None)
    assert not [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "wrong", [b"\0" * 40, b'[{"kind": "outcome"}]', b"[" * 100_000, b"\xff", b'[{"kind": "omen"}]', b"7"]
)
def test_a_damaged_line_is_set_aside_and_the_others_are_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, wrong: bytes
) -> None:
    path = kept(tmp_path, found(), opened(), unasked())
    lines = path.read_bytes().splitlines(keepends=True)
    damaged = b"".join([*lines[:2], wrong + b"\n", *lines[3:]])
    path.write_bytes(damaged)
    made = Journal(tmp_path, ADDRESS)
    assert made.ledger == Ledger().with_entry(found()).with_entry(unasked())
    [warning] = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    assert f"{path} is set aside" in warning
    assert "line 3" in warning
    assert path.with_name(f"{path.name}.damaged").read_bytes() == damaged
    assert journals.read(path).damage is None
    assert Journal(tmp_path, ADDRESS).ledger == made.ledger


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "no whole line"),
        (b'{"ledger": 1', "no whole line"),
        (b"[]\n", "does not begin"),
        (b'{"recording": 1}\n', "does not begin"),
        (b"\xff\xfe\n", "does not begin"),
        (b'{"ledger": 2}\n{"kind": "omen"}\n', "format 2"),
    ],
)
def test_a_file_that_is_not_ours_is_set_aside_with_the_reason(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes, reason: str
) -> None:
    path = journals.path_of(tmp_path, ADDRESS)
    path.write_bytes(content)
    with pytest.raises(UnusableJournal, match=reason):
        journals.read(path)
    assert Journal(tmp_path, ADDRESS).ledger == Ledger()
    [warning] = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    assert reason in warning
    assert path.with_name(f"{path.name}.damaged").read_bytes() == content
    assert journals.read(path).entries == ()


@pytest.mark.parametrize("place", ["a pipe", "a folder", "a link", "a bomb"])
def test_what_lies_in_its_place_is_set_aside_at_once(tmp_path: Path, place: str) -> None:
    path = journals.path_of(tmp_path, ADDRESS)
    victim = tmp_path / "victim"
    victim.write_text("mine")
    match place:
        case "a pipe":
            os.mkfifo(path)
        case "a folder":
            path.mkdir()
        case "a link":
            path.symlink_to(victim)
        case _:
            path.write_bytes(b'{"ledger": 1}\n[' + b"[]," * (8 << 20) + b"[]]\n")
    made = Journal(tmp_path, ADDRESS)
    assert made.ledger == Ledger()
    made.keep((found(),), Ledger.of([found()]))
    assert made.problem is None
    assert Journal(tmp_path, ADDRESS).ledger == Ledger.of([found()])
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("at", ["NaN", "1e999", "253370764800", "-62135596800"])
def test_an_entry_of_an_odd_time_is_damage(tmp_path: Path, at: str) -> None:
    path = kept(tmp_path, found(), unasked())
    head, first, second = path.read_text().splitlines(keepends=True)
    odd = {**json.loads(first)[0], "first_seen": "AT"}
    path.write_text(head + json.dumps([odd]).replace('"AT"', at) + "\n" + second)
    content = journals.read(path)
    assert content.entries == (unasked(),)
    assert (content.damage or "").startswith("line 2: ")


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    path = journals.path_of(tmp_path, ADDRESS)
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UnusableJournal, match="MiB"):
        journals.read(path)


def test_a_part_that_a_crash_left_is_no_journal_and_the_history_clears_it(tmp_path: Path) -> None:
    path = kept(tmp_path, opened())
    (tmp_path / f".part-{path.name}").write_text('{"ledger": 1, "b')
    assert len(Journal(tmp_path, ADDRESS).ledger.outcomes) == 1
    with State(tmp_path, ADDRESS):
        assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_the_file_stays_small_and_keeps_what_the_ledger_holds(tmp_path: Path) -> None:
    made = Journal(tmp_path, ADDRESS, least_bytes=10_000)
    path, ledger, largest = journals.path_of(tmp_path, ADDRESS), Ledger(), 0
    for number in range(300):
        each = found(last_seen=AT + number)
        ledger = ledger.with_entry(each)
        made.keep((each,), ledger)
        largest = max(largest, path.stat().st_size)
        assert journals.read(path).ledger == ledger
    assert 9_000 < largest <= 10_000


def test_the_largest_ledger_is_read_again(tmp_path: Path) -> None:
    name = {"schema": "s" * 64, "table": "t" * 64}
    others = tuple(each.model_copy(update={"subject": name}) for each in unasked().others * 20)
    entries: list[Entry] = [
        found(fingerprint=f"{number:016x}", subject=name, summary="x" * 500, promises=found().promises * 4)
        for number in range(MOST_FOUND)
    ]
    entries += [closed(f"{number:016x}", subject=name, others=others) for number in range(MOST_OUTCOMES)]
    ledger = Ledger({each.fingerprint: each for each in entries if isinstance(each, Found)})
    outcomes = {each.id: each for each in entries if isinstance(each, Outcome)}
    ledger = Ledger(ledger.found, outcomes)
    made = Journal(tmp_path, ADDRESS)
    made.keep(entries, ledger)
    path = journals.path_of(tmp_path, ADDRESS)
    assert 1 << 20 < path.stat().st_size < journals.LARGEST_BYTES / 4
    assert Journal(tmp_path, ADDRESS).ledger == ledger


def test_a_folder_that_cannot_be_written_is_said_once_and_nothing_is_lost_once_it_can(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "state"
    made = Journal(folder, ADDRESS)
    ledger = Ledger().with_entry(found())
    made.keep((found(),), ledger)
    assert isinstance(made.problem, str)
    said = [each.getMessage() for each in caplog.records if "cannot keep the ledger" in each.getMessage()]
    assert len(said) == 1
    (tmp_path / "file").unlink()
    made.keep((opened(),), ledger.with_entry(opened()))
    assert journals.read(journals.path_of(folder, ADDRESS)).entries == (found(), opened())


def test_a_file_that_was_deleted_is_written_anew(tmp_path: Path) -> None:
    path = kept(tmp_path, found())
    made = Journal(tmp_path, ADDRESS)
    path.unlink()
    made.keep((opened(),), made.ledger.with_entry(opened()))
    assert made.problem is None
    assert journals.read(path).entries == (found(), opened())


def test_a_line_that_was_written_in_part_is_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = kept(tmp_path, found())
    made = Journal(tmp_path, ADDRESS)

    def full(path: Path, content: bytes) -> None:
        with path.open("ab") as file:
            file.write(content[:100])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(folders, "append", full)
    made.keep((opened(),), made.ledger.with_entry(opened()))
    assert made.problem is None
    assert journals.read(path).entries == (found(), opened())
    assert journals.read(path).torn is False


def test_a_folder_that_does_not_answer_holds_nobody_up_and_lacks_nothing_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Journal(tmp_path, ADDRESS, patience=0.05)
    answers, fsync = threading.Event(), os.fsync

    def hanging(descriptor: int) -> None:
        answers.wait()
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", hanging)
    ledger = Ledger()
    for each in (found(), opened(), baseline()):
        ledger = ledger.with_entry(each)
        made.keep((each,), ledger)
        assert made.problem == "the folder does not answer"
    answers.set()
    writing = made._writing  # noqa: SLF001 - the hung write ends by itself
    assert writing is not None
    writing.join()
    monkeypatch.setattr(made, "_patience", DEADLINE)
    made.keep((unasked(),), ledger.with_entry(unasked()))
    assert made.problem is None
    assert Journal(tmp_path, ADDRESS).ledger == ledger.with_entry(unasked())


def test_no_outcome_that_was_told_is_lost_by_kill_9_at_any_step_towards_the_disk(tmp_path: Path) -> None:
    """A sidecar that keeps and tells outcomes is killed at each step towards the disk, and goes on where it was."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, Path(__file__).with_name("killed.py"), tmp_path, "50"],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["lost"] == []
    assert result["kills"] == 50
    assert result["told"] > 50
    assert result["went_on"] > 0, "no kill left an outcome open"
    assert result["files"] > 1, "the file was never written anew"
