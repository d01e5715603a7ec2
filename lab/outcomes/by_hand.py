"""Settings that are changed by hand, without advice: harm is told of in time, and ordinary work tells of none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from advisor.ledger import words
from lab.harness.records import NotShown, Part
from lab.outcomes import ordinary
from lab.outcomes.loads import OPTIONS, SERVERS
from lab.outcomes.trial import WINDOW
from lab.proofs.harm import AFTER, BEFORE, OLD_SUBLIST, PERIOD, UNBUFFERED, Harmful, graded, watch
from lab.proofs.insert_load import BUFFERED, PREPARING, RARELY_MERGED
from lab.proofs.scans import POOL
from lab.servers import Server
from lab.servers.sql import execute

GROUP = "changes"
"""lab/records/changes.json."""
IN_TIME = 3.0 + 2 * PERIOD / WINDOW
"""Windows within which harm has to be told of: three, and the collections at both ends."""
LEAST_COMPARED = 10
"""Changes without effect whose both sides have to be compared on each server: a silence that was never tried is none"""

Say = Callable[[str], None]


class ChangesRecord(BaseModel):
    """Changes under a load, and what the ledger told of them.

    Attributes:
        about: The load in words.
        changed: The change, in words or as the statement.
        windows: How long the load was watched.
        changes: How many changes there were.
        compared: Those whose both sides could be compared.
        told_after: Windows after a change that did harm until that was told of; None where there is no harm.
        harm: What was told of as harm.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    about: str
    changed: str
    windows: int
    changes: int
    compared: int
    told_after: float | None
    harm: tuple[str, ...]

    def broken(self) -> Iterator[str]:
        """Bounds that do not hold, in words."""
        if self.told_after is not None:
            if not self.harm:
                yield "no harm is told of"
            if self.told_after > IN_TIME:
                yield f"harm is told of after {self.told_after:.1f} windows"
        elif self.harm:
            yield f"harm is told of, though the changes have no effect: {self.harm}"
        elif self.compared < LEAST_COMPARED:
            yield f"only {self.compared} of {self.changes} changes could be compared"


@dataclass(frozen=True)
class Case:
    """Changes by hand on a server.

    Attributes:
        name: In the record.
        server, options: Where.
        run: The work.
        takes: Approximate seconds.
    """

    name: str
    server: str
    options: Mapping[str, str]
    run: Callable[[Server, Say], ChangesRecord]
    takes: float

    def part(self) -> Part:
        """Its part."""
        return Part(
            GROUP,
            f"{self.name}, {self.server}",
            self.server,
            self.options,
            lambda server, say: self.run(server, say).model_dump(mode="json"),
            self.takes,
        )


def _harmful(change: Harmful) -> Callable[[Server, Say], ChangesRecord]:
    def run(server: Server, say: Say) -> ChangesRecord:
        statement = f"SET GLOBAL {change.setting} = {change.after}"
        with change.load(server) as load:
            load.settle()
            say("before the change")
            before = watch(server, change.table, BEFORE)
            say(statement)
            execute(server, statement)
            after = watch(server, change.table, AFTER)
        outcome, certain = graded((*before.history, *after.history))
        if certain is None:
            raise NotShown(f"no harm was told of: {outcome.result}, {outcome.why}")
        return ChangesRecord(
            about=f"{change.condition}.",
            changed=statement,
            windows=BEFORE + AFTER,
            changes=1,
            compared=1,
            told_after=round(certain, 2),
            harm=tuple(map(words.rise, outcome.harm)),
        )

    return run


def _ordinary(server: Server, say: Say) -> ChangesRecord:
    say("hours of ordinary work")
    history = ordinary.record(server)
    say("changes without effect")
    found = ordinary.replayed(history)
    return ChangesRecord(
        about=ordinary.ABOUT,
        changed=f"{ordinary.PLACEBO} in the recording, not on the server",
        windows=ordinary.WINDOWS,
        changes=found.changes,
        compared=found.compared,
        told_after=None,
        harm=found.told,
    )


_INSERTIONS = PREPARING | RARELY_MERGED | BUFFERED
CASES = (
    *(Case("innodb_old_blocks_pct", name, POOL, _harmful(OLD_SUBLIST), 110.0) for name in SERVERS),
    Case("innodb_change_buffering", "mysql-9.7", _INSERTIONS, _harmful(UNBUFFERED), 110.0),
    *(Case("ordinary work", name, OPTIONS[name], _ordinary, 60.0 + ordinary.WINDOWS * WINDOW) for name in SERVERS),
)
