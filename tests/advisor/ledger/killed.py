"""Journals that are killed: ``python killed.py FOLDER KILLS`` prints what was told and what was lost, as JSON.

Each child opens the journal, closes the outcomes that it finds open, and goes on to open and close new ones. It tells
each once it was kept, and is killed one step towards the disk later than the child before it. The parent looks for
everything that was told.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from advisor.ledger import journal as journals
from advisor.ledger.entry import Entry, Outcome, Result
from advisor.ledger.journal import Journal
from advisor.ledger.ledger import MOST_OUTCOMES
from tests.advisor.ledger.entries import baseline, closed, opened

ADDRESS = "db:3306"
LEAST_BYTES = 20_000
"""The file is written anew after some twenty entries, and later whenever it has doubled."""


def kill_at(last: int) -> None:
    """Kill this process at its step of this number: before or after a file is synced or renamed."""
    steps = itertools.count(1)

    def step() -> None:
        if next(steps) == last:
            os.kill(os.getpid(), signal.SIGKILL)

    def counted(function: Callable[..., None]) -> Callable[..., None]:
        def call(*arguments: object, **options: object) -> None:
            step()
            function(*arguments, **options)
            step()

        return call

    os.fsync, os.replace = counted(os.fsync), counted(os.replace)


def write(folder: Path, told: int) -> None:
    """Keep and tell outcomes without end."""
    made = Journal(folder, ADDRESS, least_bytes=LEAST_BYTES)
    ledger = made.ledger

    def tell(kind: str, outcome: Outcome, *more: Entry) -> None:
        nonlocal ledger
        for each in (outcome, *more):
            ledger = ledger.with_entry(each)
        made.keep((outcome, *more), ledger)
        if made.problem is not None:
            raise OSError(made.problem)
        os.write(told, f"{kind} {outcome.id} {outcome.result}\n".encode())

    for each in list(ledger.outcomes.values()):
        if each.result is Result.OPEN:
            assert each.id in ledger.before, "an open outcome without what was measured before it"
            tell("went-on", closed(each.id))
    for number in range(1 + max((int(name, 16) for name in ledger.outcomes), default=0), 1 << 30):
        name = f"{number:016x}"
        tell("told", opened(name), baseline(name))
        tell("told", closed(name))


def main(folder: Path, kills: int) -> None:
    """Kill so many children."""
    path = journals.path_of(folder, ADDRESS)
    results: dict[str, str] = {}
    lost: list[str] = []
    counts = {"told": 0, "went_on": 0}
    files: set[int] = set()
    for last in range(1, kills + 1):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            kill_at(last)
            try:
                write(folder, writing)
            finally:
                os._exit(1)
        os.close(writing)
        with os.fdopen(reading, "rb") as words:
            heard = words.read()
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), "a child ended by itself"
        for line in heard.decode().splitlines(keepends=True):
            if line.endswith("\n"):
                kind, name, result = line.split()
                results[name] = result
                counts["told"] += 1
                counts["went_on"] += kind == "went-on"
        if not path.exists():
            assert not results, "a journal is gone"
            continue
        content = journals.read(path)
        assert content.damage is None, content.damage
        outcomes = content.ledger.outcomes
        oldest = (
            max((int(name, 16) for name in outcomes), default=0) - MOST_OUTCOMES + 1
        )  # closed ones before it may be forgotten
        kept = {name: result for name, result in results.items() if int(name, 16) >= oldest}
        lost += [name for name, result in kept.items() if not _holds(outcomes.get(name), result)]
        files.add(path.stat().st_ino)
    print(json.dumps({"kills": kills, "lost": lost, "files": len(files), **counts}))


def _holds(outcome: Outcome | None, told: str) -> bool:
    """Whether the journal has an outcome as it was told, or as it became later."""
    return outcome is not None and told in (outcome.result, Result.OPEN)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
