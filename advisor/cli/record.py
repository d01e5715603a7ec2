"""`record`: a recording of a server."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from advisor.cli import parameters
from advisor.cli.options import SourceOptions, recording_output_option, server_options, state_option
from advisor.cli.output import Unusable, epilog

if TYPE_CHECKING:
    from exporter.recording.file import LedgerLines


@click.command(
    epilog=epilog(
        "record --defaults-file ~/.my.cnf --for 10m -o busy-hour.jsonl.gz",
        "record --defaults-file ~/.my.cnf --for 10m --anonymise -o for-a-ticket.jsonl.gz",
        "record --defaults-file ~/.my.cnf --state-dir /var/lib/innodb-advisor -o with-history.jsonl.gz",
    )
)
@server_options
@click.option(
    "--for", "seconds", type=parameters.duration, default="60s", show_default=True, help="How long to record."
)
@click.option(
    "--interval", type=parameters.interval, default="5s", show_default=True, help="Time between two collections."
)
@recording_output_option
@state_option("Also record what became of advice, which `serve` keeps in this directory")
@click.option(
    "--anonymise",
    is_flag=True,
    help="Replace your names: schemas, tables, indexes, columns, accounts, hosts, paths, statements.",
)
def record(
    *, where: SourceOptions, seconds: float, interval: float, output: Path, anonymise: bool, state_dir: Path | None
) -> None:
    """Record a server into a file that serve and advise can replay.

    The file holds the result of every query. With --state-dir it also carries what became of advice until now, which
    `advise` and `history` show.

    --anonymise replaces names by random ones and leaves out what no parser reads. The advice stays the same, except
    for the names. What became of advice is then without its texts, and without what your own rules found. The command
    `anonymise` does the same to a recording that is there.

    Ctrl-C ends the recording early, with exit code 0: the file then holds what was recorded so far.
    """
    from advisor.cli import ledgers
    from advisor.cli.output import progress_bar, say
    from advisor.observe import observation
    from exporter.connection.errors import ServerError
    from exporter.recording.anonymise import AnonymousRecorder
    from exporter.recording.file import Recorder

    address = where.state_address
    if state_dir is not None and ledgers.ledger_in(state_dir, address) is None:
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
                ledger=lambda: None if state_dir is None else _ledger_lines(state_dir, address),
            )
    except OSError as error:
        raise Unusable(f"cannot write {output}: {error.strerror}") from error
    if end is not None:
        word = "interrupted" if isinstance(end, KeyboardInterrupt) else "ended early"
        say(f"{word}; {output} holds what was recorded until now", err=True)
    if isinstance(end, ServerError):
        raise end
    say(f"{output}: {output.stat().st_size:,} bytes", err=True)


def _ledger_lines(folder: Path, address: str) -> LedgerLines | None:
    """What became of advice, as it is now. A state file that cannot be read by now spoils no recording."""
    from advisor.cli import ledgers
    from advisor.cli.output import say
    from advisor.ledger.recorded import ledger_lines
    from advisor.rules.rulebook import builtin_ids

    try:
        ledger = ledgers.ledger_in(folder, address)
    except Unusable as error:
        say(f"the recording carries no history: {error}", err=True)
        return None
    return None if ledger is None else partial(ledger_lines, ledger, builtin_ids())
