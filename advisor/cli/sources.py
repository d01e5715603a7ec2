"""What a command reads: a recording or a server, and the ledger of earlier advice."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from advisor.cli.exits import Unusable
from advisor.cli.options import SourceOptions
from advisor.cli.output import progress_bar, say
from advisor.files.stored import stored_items
from advisor.ledger.entry import ENTRY, Outcome, Result
from advisor.ledger.ledger import Ledger
from advisor.ledger.recorded import recorded_ledger
from advisor.observe import observation
from advisor.observe.source import Replay, SnapshotSource, window
from advisor.observe.window import Window
from advisor.rules.configuration import ServerMachine
from exporter import state_file
from exporter.collectors.machine import configure
from exporter.connection.errors import ServerError
from exporter.sampling.sampler import Sampler
from exporter.snapshot import Snapshot
from exporter.state_file import StateError


def snapshot_source(where: SourceOptions, interval: float, machine: ServerMachine, **options: Any) -> Replay | Sampler:
    """A recording, or a server that is read every ``interval`` seconds.

    Args:
        where: Which of them.
        interval: Seconds.
        machine: The server's machine, as far as it is configured.
        options: More of the sampler's arguments.

    Raises:
        RecordingError: The recording cannot be used.
    """
    if where.recording is None:
        return Sampler(where.server, interval=interval, machine=machine.configured, **options)
    replay = Replay(where.recording)
    replay.history = [configure(snapshot, machine.configured) for snapshot in replay.history]
    return replay


def observed_source(
    where: SourceOptions, watch: float, interval: float | None, machine: ServerMachine | None = None
) -> Replay | Sampler:
    """A recording, or a server that was watched for ``watch`` seconds.

    Raises:
        ServerError, RecordingError: There is nothing to look at.
    """
    source = snapshot_source(
        where, interval or min(watch / 6, 10.0), machine or ServerMachine(), history_seconds=2 * watch
    )
    if isinstance(source, Sampler):
        with progress_bar("watching", watch) as progress:
            observation.run(observation.observe(source, watch, progress))
    return source


def observed_window(where: SourceOptions, watch: float, interval: float | None) -> Window:
    """The window of ``observed_source``. Raises as it does."""
    source = observed_source(where, watch, interval)
    observed = window(source, float("inf"))
    if observed is None:
        raise source.problem or ServerError("nothing was collected")
    return observed


def refuse_missing_privileges(snapshot: Snapshot) -> None:
    """Exit with 2 and the GRANTs where the account may not read something."""
    cures = {outcome.cure for outcome in snapshot.outcomes.values() if outcome.failure == "privilege" and outcome.cure}
    if cures:
        raise Unusable(
            f"{snapshot.account} may not read everything; as an administrator run\n"
            + "\n".join(f"  {cure};" for cure in sorted(cures))
        )


def ledger_at(path: Path) -> Ledger | None:
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


def ledger_in(folder: Path | None, address: str) -> Ledger | None:
    """The ledger of a server; None where there is no folder, or none of this server in it. Raises Unusable."""
    return None if folder is None else ledger_at(state_file.path_of(folder, address))


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
