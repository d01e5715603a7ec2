"""`record`: a recording of a server."""

from __future__ import annotations

from pathlib import Path

from advisor.cli.actions.ledgers import known_of
from advisor.cli.actions.output import say
from advisor.cli.actions.progress import progress_bar
from advisor.cli.exits import Unusable
from advisor.cli.options import SourceOptions
from advisor.ledger.carried import CarriedLedger
from advisor.observe import observation
from advisor.rules.rulebook import builtin_ids
from exporter.connection.errors import ServerError
from exporter.recording.anonymise import AnonymousRecorder
from exporter.recording.file import Recorder


def record(
    *, where: SourceOptions, seconds: float, interval: float, output: Path, anonymise: bool, state_dir: Path | None
) -> None:
    """Record, and print the size of the file.

    Raises:
        ServerError: The server went away; the file holds what came before.
        Unusable: The file cannot be written.
    """
    address = where.server().address
    if state_dir is not None and known_of(state_dir, address) is None:
        say(f"{state_dir} has no history of this server: the recording carries none", err=True)
    try:
        with progress_bar("recording", seconds) as progress:
            end = observation.record(
                where.server,
                interval=interval,
                seconds=seconds,
                output=output,
                progress=progress,
                recorder=AnonymousRecorder if anonymise else Recorder,
                ledger=lambda: _carried(state_dir, address),
            )
    except OSError as error:
        raise Unusable(f"cannot write {output}: {error.strerror}") from error
    if end is not None:
        word = "interrupted" if isinstance(end, KeyboardInterrupt) else "ended early"
        say(f"{word}; {output} holds what was recorded until now", err=True)
    if isinstance(end, ServerError):
        raise end
    say(f"{output}: {output.stat().st_size:,} bytes", err=True)


def _carried(folder: Path | None, address: str) -> CarriedLedger | None:
    """What became of advice, as it is now. A journal that cannot be read by now spoils no recording."""
    try:
        found = known_of(folder, address)
    except Unusable as error:
        say(f"the recording carries no history: {error}", err=True)
        return None
    return None if found is None else CarriedLedger(found, builtin_ids())
