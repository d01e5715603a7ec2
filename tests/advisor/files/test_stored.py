"""Stored items: what was shown is on the disk, and comes back after any end."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from advisor.files.stored import StoredItems, stored_items
from advisor.ledger.entry import ENTRY, Entry
from advisor.ledger.ledger import MOST_FINDINGS, MOST_OUTCOMES, Ledger
from exporter.state_file import StateFile, path_of
from tests.advisor.building import REPOSITORY
from tests.advisor.ledger.entries import baseline, closed, opened, remembered, unasked
from tests.waiting import DEADLINE

ADDRESS = "db:3306"


def load(folder: Path) -> Ledger:
    """The ledger that the next sidecar finds."""
    with StateFile(folder, ADDRESS) as state:
        return Ledger.of(StoredItems(state, "entries", ENTRY).load())


def keep(folder: Path, *entries: Entry) -> Ledger:
    """A ledger whose entries were stored one by one."""
    ledger = load(folder)
    with StateFile(folder, ADDRESS) as state:
        items = StoredItems(state, "entries", ENTRY)
        for entry in entries:
            ledger = ledger.with_entries([entry])
            items.keep(ledger.by_key)
            assert items.problem is None
    return ledger


def damage(folder: Path, key: str, content: object) -> None:
    connection = sqlite3.connect(path_of(folder, ADDRESS))
    with connection:
        assert connection.execute("UPDATE entries SET content = ? WHERE key LIKE ?", (content, key)).rowcount == 1
    connection.close()


def test_the_next_sidecar_goes_on_with_findings_and_open_outcomes(tmp_path: Path) -> None:
    ledger = keep(tmp_path, remembered(), opened(), baseline(), unasked())
    assert ledger.before[opened().id] == baseline().reading
    assert load(tmp_path) == ledger == Ledger.of([remembered(), opened(), baseline(), unasked()])


def test_a_later_entry_replaces_an_earlier_one_and_what_is_forgotten_is_deleted(tmp_path: Path) -> None:
    keep(tmp_path, opened(), baseline(), closed())
    entries, _ = stored_items(path_of(tmp_path, ADDRESS), "entries", ENTRY)
    assert entries == [closed()]


def test_only_what_is_new_is_written(tmp_path: Path) -> None:
    with StateFile(tmp_path, ADDRESS) as state:
        items, ledger = StoredItems(state, "entries", ENTRY), Ledger.of([remembered(), opened(), baseline()])
        items.keep(ledger.by_key)
        before = state.run(lambda connection: connection.total_changes)
        items.keep(Ledger.of([*ledger.by_key.values(), unasked()]).by_key)
        assert state.run(lambda connection: connection.total_changes) == before + 1


def test_what_became_known_together_is_stored_together(tmp_path: Path) -> None:
    with StateFile(tmp_path, ADDRESS) as state:
        items = StoredItems(state, "entries", ENTRY)
        items.keep(Ledger.of([remembered()]).by_key)
        state.run(lambda connection: connection.execute("PRAGMA max_page_count = 1"))
        more = [opened(f"{number:016x}") for number in range(500)]
        items.keep(Ledger.of([remembered(), *more]).by_key)
        problems = [items.problem]
        entries, _ = stored_items(state.path, "entries", ENTRY)
        assert entries == [remembered()]
        items.keep(Ledger.of([remembered(), *more, unasked()]).by_key)
        assert [*problems, items.problem] == ["database or disk is full", None]
    assert load(tmp_path) == Ledger.of([remembered(), *more, unasked()])


def test_names_that_are_no_valid_text_are_stored(tmp_path: Path) -> None:
    odd = opened(subject={"schema": "shop", "table": "a\udcff\n\0"})
    keep(tmp_path, odd)
    assert load(tmp_path).outcomes[odd.id] == odd


@pytest.mark.parametrize(
    "content",
    [
        b"\0" * 40,
        '{"kind": "outcome"}',
        "[" * 100_000,
        b"\xff",
        '{"kind": "omen"}',
        7,
        *(json.dumps(remembered().model_dump(mode="json") | {"first_seen": at}) for at in (-62135596800, 253370764800)),
        remembered().model_dump_json().replace(f"{remembered().first_seen}", "NaN"),
        remembered().model_dump_json().replace(f"{remembered().first_seen}", "1e999"),
    ],
    ids=str,
)
def test_an_entry_that_cannot_be_read_is_said_and_the_others_are_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: object
) -> None:
    keep(tmp_path, remembered(), opened(), unasked())
    damage(tmp_path, "found %", content)
    ledger = load(tmp_path)
    assert ledger == Ledger.of([opened(), unasked()])
    [warning] = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert f"{path_of(tmp_path, ADDRESS)}: not all entries can be read: found " in warning


def test_a_bomb_is_not_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    keep(tmp_path, remembered(), opened())
    damage(tmp_path, "outcome %", "[" + "[]," * (8 << 20) + "[]]")
    assert load(tmp_path) == Ledger.of([remembered()])
    assert "not all entries can be read: a line of more than 16 MiB" in caplog.text


def test_the_largest_ledger_is_read_again(tmp_path: Path) -> None:
    name = {"schema": "s" * 64, "table": "t" * 64}
    others = tuple(other.model_copy(update={"subject": name}) for other in unasked().others * 20)
    entries: list[Entry] = [
        remembered(fingerprint=f"{number:016x}", subject=name, summary="x" * 500, promises=remembered().promises * 4)
        for number in range(MOST_FINDINGS)
    ]
    entries += [closed(f"{number:016x}", subject=name, others=others) for number in range(MOST_OUTCOMES)]
    with StateFile(tmp_path, ADDRESS) as state:
        items = StoredItems(state, "entries", ENTRY)
        items.keep({entry.kind + str(number): entry for number, entry in enumerate(entries)})
        assert items.problem is None
    path = path_of(tmp_path, ADDRESS)
    assert 1 << 20 < path.stat().st_size < 16 << 20
    assert len(load(tmp_path).by_key) == MOST_FINDINGS + MOST_OUTCOMES


def test_nothing_is_lost_once_a_folder_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "state"
    with StateFile(folder, ADDRESS) as state:
        items = StoredItems(state, "entries", ENTRY)
        assert items.load() == []
        problems = [items.problem]
        items.keep(Ledger.of([remembered()]).by_key)
        problems.append(items.problem)
        (tmp_path / "file").unlink()
        items.keep(Ledger.of([remembered(), opened()]).by_key)
        assert [*problems, items.problem] == ["Not a directory", "Not a directory", None]
    assert load(folder) == Ledger.of([remembered(), opened()])


def test_a_file_that_was_deleted_is_written_anew(tmp_path: Path) -> None:
    with StateFile(tmp_path, ADDRESS) as state:
        items = StoredItems(state, "entries", ENTRY)
        items.keep(Ledger.of([remembered()]).by_key)
        state.path.unlink()
        items.keep(Ledger.of([remembered(), opened()]).by_key)
    assert load(tmp_path) == Ledger.of([remembered(), opened()])


def test_a_folder_that_does_not_answer_lacks_nothing_later(tmp_path: Path) -> None:
    go_on = threading.Event()
    with StateFile(tmp_path, ADDRESS, patience=0.05) as state:
        items = StoredItems(state, "entries", ENTRY)
        hanging = state.submit(lambda _: go_on.wait(DEADLINE))
        ledger = Ledger()
        for entry in (remembered(), opened(), baseline()):
            ledger = ledger.with_entries([entry])
            items.keep(ledger.by_key)
            assert items.problem == "the folder does not answer"
        go_on.set()
        assert hanging.result(DEADLINE)
        ledger = ledger.with_entries([unasked()])
        assert state.submit(lambda _: None).exception(DEADLINE) is None
    with StateFile(tmp_path, ADDRESS) as state:
        items = StoredItems(state, "entries", ENTRY)
        items.keep(ledger.by_key)
        assert items.problem is None
    assert load(tmp_path) == ledger


def test_no_outcome_that_was_told_is_lost_by_kill_9(tmp_path: Path) -> None:
    """A sidecar that stores and tells outcomes is killed at many steps, and goes on where it was."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, Path(__file__).with_name("killed.py"), tmp_path, "40"],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["lost"] == []
    assert result["kills"] == 40
    assert result["told"] > 50
    assert result["went_on"] > 0, "no kill left an outcome open"
