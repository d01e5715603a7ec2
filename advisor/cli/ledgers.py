"""What `serve` remembers in its directory, the ledger of a recording, and --fail-on for its outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import TypeAdapter

from advisor.cli.output import Unusable, say
from advisor.files.stored import Item, TableName, stored_items
from advisor.ledger.entry import ENTRY, Outcome, Result
from advisor.ledger.ledger import Ledger
from advisor.ledger.recorded import recorded_ledger
from advisor.observe.source import Replay, SnapshotSource
from advisor.pool.hours import STORED_HOUR, Hour
from exporter import state_file
from exporter.state_file import StateError


def _stored(path: Path, table: TableName, adapter: TypeAdapter[Item]) -> list[Item] | None:
    """What a table of a state file holds, to which its sidecar may be writing; None where there is no file."""
    try:
        items, damage = stored_items(path, table, adapter)
    except FileNotFoundError:
        return None
    except StateError as error:
        raise Unusable(f"{path}: {error}") from None
    if damage is not None:
        say(f"{path}: not all of it can be read: {damage}", err=True)
    return items


def ledger_at(path: Path) -> Ledger | None:
    """The ledger of a state file; None where there is no file. Raises Unusable."""
    entries = _stored(path, "entries", ENTRY)
    return None if entries is None else Ledger.of(entries)


def ledger_in(folder: Path, address: str) -> Ledger | None:
    """The ledger of a server; None where the folder has none. Raises Unusable."""
    return ledger_at(state_file.path_of(folder, address))


def hours_in(folder: Path, address: str) -> Sequence[Hour]:
    """The hours of a server that the folder has. Raises Unusable."""
    return _stored(state_file.path_of(folder, address), "hours", STORED_HOUR) or ()


def ledger_of(source: SnapshotSource) -> Ledger | None:
    """The ledger of a recording; None where it has none, and for a server."""
    if not isinstance(source, Replay) or source.ledger is None:
        return None
    return recorded_ledger(source.ledger)


def fails(outcomes: Sequence[Outcome], fail_on: str | None) -> bool:
    """Whether --fail-on applies: at harm, and with ``missed`` also at a missed promise."""
    harm = any(outcome.harm for outcome in outcomes)
    missed = any(outcome.result is Result.MISSED for outcome in outcomes)
    return (fail_on is not None and harm) or (fail_on == "missed" and missed)
