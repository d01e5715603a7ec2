"""Sidecars that are killed: ``python killed.py FOLDER KILLS`` prints what was told and what was lost, as JSON.

Each child reads the ledger, closes the outcomes that it finds open, and goes on to open and close new ones. It tells
each once it was stored. Every other child is killed some steps of SQLite's machine further than the one before it. The
others are killed by their parent after so many words. The parent looks for everything that was told.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import sqlite3
import sys
from functools import partial
from pathlib import Path

from advisor.files.stored import StoredItems, stored_items
from advisor.ledger.entry import ENTRY, Entry, Outcome, Result
from advisor.ledger.ledger import MOST_OUTCOMES, Ledger
from exporter.state_file import StateFile, path_of
from tests.advisor.ledger.entries import baseline, closed, opened

ADDRESS = "db:3306"


def prepare(last: int | None, connection: sqlite3.Connection) -> None:
    """Kill this process when SQLite's machine does its step of this number."""
    connection.execute("PRAGMA wal_autocheckpoint = 8")  # pages: the log is often copied into the file
    steps = itertools.count(1)

    def step() -> int:
        if next(steps) == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return 0

    if last is not None:
        connection.set_progress_handler(step, 1)


def write(folder: Path, told: int, last: int | None) -> None:
    """Store and tell outcomes without end."""
    state = StateFile(folder, ADDRESS)
    state.run(partial(prepare, last))
    items = StoredItems(state, "entries", ENTRY)
    ledger = Ledger.of(items.load())

    def tell(kind: str, outcome: Outcome, *more: Entry) -> None:
        nonlocal ledger
        for entry in (outcome, *more):
            ledger = ledger.with_entries([entry])
        items.keep(ledger.by_key)
        if items.problem is not None:
            raise OSError(items.problem)
        os.write(told, f"{kind} {outcome.id} {outcome.result}\n".encode())

    for outcome in list(ledger.outcomes.values()):
        if outcome.result is Result.OPEN:
            assert outcome.id in ledger.before, "an open outcome without what was measured before it"
            tell("went-on", closed(outcome.id))
    for number in range(1 + max((int(name, 16) for name in ledger.outcomes), default=0), 1 << 30):
        name = f"{number:016x}"
        tell("told", opened(name), baseline(name))
        tell("told", closed(name))


def killed(folder: Path, number: int) -> list[str]:
    """What a child told before it was killed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            write(folder, writing, 60 * number if number % 2 else None)
        finally:
            os._exit(1)
    os.close(writing)
    words = []
    with os.fdopen(reading, "r") as lines:
        for line in lines:
            words.append(line)
            if number % 2 == 0 and len(words) == number:
                os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "a child ended by itself"
    return [line for line in words if line.endswith("\n")]


def main(folder: Path, kills: int) -> None:
    """Kill so many children."""
    path = path_of(folder, ADDRESS)
    results: dict[str, str] = {}
    lost: list[str] = []
    counts = {"told": 0, "went_on": 0}
    for number in range(1, kills + 1):
        for line in killed(folder, number):
            kind, name, result = line.split()
            results[name] = result
            counts["told"] += 1
            counts["went_on"] += kind == "went-on"
        entries, damage = stored_items(path, "entries", ENTRY) if path.exists() else ([], None)
        assert damage is None, damage
        outcomes = Ledger.of(entries).outcomes
        oldest = max((int(name, 16) for name in outcomes), default=0) - MOST_OUTCOMES + 1  # others may be forgotten
        lost += [
            name
            for name, result in results.items()
            if int(name, 16) >= oldest and not _holds(outcomes.get(name), result)
        ]
    print(json.dumps({"kills": kills, "lost": lost, **counts}))


def _holds(outcome: Outcome | None, told: str) -> bool:
    """Whether the ledger has an outcome as it was told, or as it became later."""
    return outcome is not None and told in (outcome.result, Result.OPEN)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
