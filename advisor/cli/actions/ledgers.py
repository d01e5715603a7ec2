"""Where commands find the ledger: in the directory of `serve`, or in a recording."""

from __future__ import annotations

from pathlib import Path

from advisor.cli.actions.output import say
from advisor.cli.exits import Unusable
from advisor.files.stored import stored_items
from advisor.ledger.carried import ledger_of
from advisor.ledger.entry import ENTRY
from advisor.ledger.ledger import Ledger
from advisor.observe.source import Replay, SnapshotSource
from exporter import state_file
from exporter.state_file import StateError


def kept_at(path: Path) -> Ledger | None:
    """The ledger of a state file, which its sidecar may be writing to; None where there is none.

    Raises:
        Unusable: It cannot be used.
    """
    try:
        entries, damage = stored_items(path, "entries", ENTRY)
    except FileNotFoundError:
        return None
    except StateError as error:
        raise Unusable(f"{path}: {error}") from None
    if damage is not None:
        say(f"{path}: not all of it can be read: {damage}", err=True)
    return Ledger.of(entries)


def known_of(folder: Path | None, address: str) -> Ledger | None:
    """The ledger of a server; None where there is no folder, or none of this server in it. Raises Unusable."""
    return None if folder is None else kept_at(state_file.path_of(folder, address))


def carried_by(source: SnapshotSource) -> Ledger | None:
    """The ledger that a recording carries; None where it carries none, and for a server."""
    return ledger_of(source.ledger) if isinstance(source, Replay) else None
