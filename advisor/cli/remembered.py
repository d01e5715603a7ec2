"""Options that name a ledger: the directory of `serve`, or a recording that carries one."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from advisor.cli import options
from advisor.cli.options import DSN_VARIABLE, on_command_line, option_group, state_option
from advisor.cli.output import Unusable

if TYPE_CHECKING:
    from advisor.ledger.ledger import Ledger


@dataclass(frozen=True, slots=True)
class LedgerOptions:
    """Where a ledger is.

    Attributes:
        state_dir: The directory of `serve`.
        dsn, defaults_file: The server, where the directory has the history of several.
        recording: A recording in place of the directory.
    """

    state_dir: Path | None
    dsn: str | None
    defaults_file: Path | None
    recording: Path | None

    @property
    def is_named(self) -> bool:
        """Whether the command line names one; the environment may name a directory for other commands."""
        return any((self.recording, self.dsn, self.defaults_file, on_command_line("state_dir")))

    def load(self, otherwise: str) -> Ledger:
        """The ledger.

        Args:
            otherwise: What to do where none is named, as the end of a message.

        Raises:
            click.UsageError: The options name none, or two.
            Unusable: It cannot be read.
        """
        if self.recording is not None:
            if self.dsn or self.defaults_file or on_command_line("state_dir"):
                raise click.UsageError("--recording stands alone: it replaces the directory and the server")
            return _recorded_ledger(self.recording)
        if self.state_dir is None:
            raise click.UsageError(
                f"name the directory of `serve` with --state-dir, or a file with --recording; {otherwise}"
            )
        return _stored_ledger(self.state_dir, self.dsn or os.environ.get(DSN_VARIABLE) or None, self.defaults_file)


ledger_options = option_group(
    "remembered",
    LedgerOptions,
    state_option("The directory that `serve` keeps its state in"),
    click.option(
        "--dsn",
        metavar="URL",
        help="The server, where the directory has the history of several; "
        f"also ${DSN_VARIABLE}. It is not connected to.",
    ),
    click.option(
        "--defaults-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="The same, from an option file with a [client] section.",
    ),
    click.option(
        "--recording",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="A recording made by `record --state-dir`, instead of a directory.",
    ),
)


def _recorded_ledger(recording: Path) -> Ledger:
    from advisor.cli.ledgers import ledger_of
    from advisor.observe.source import Replay

    ledger = ledger_of(Replay(recording))
    if ledger is None:
        raise Unusable(f"{recording} carries no history: `record --state-dir` writes one that does")
    return ledger


def _stored_ledger(folder: Path, dsn: str | None, defaults_file: Path | None) -> Ledger:
    from advisor.cli.ledgers import ledger_at
    from advisor.ledger.ledger import Ledger
    from exporter import state_file

    try:
        paths = state_file.paths(folder)
    except OSError as error:
        raise Unusable(f"cannot read {folder}: {error.strerror or error}") from error
    if dsn or defaults_file:
        path = state_file.path_of(folder, options.named_server(dsn, defaults_file, None).server().address)
        if path not in paths:
            raise Unusable(f"{folder} has no history of this server; it has that of {len(paths)} others")
    elif not paths:
        raise Unusable(f"{folder} has no history: `serve --state-dir` keeps one there")
    elif len(paths) > 1:
        raise click.UsageError(
            f"{folder} has the history of {len(paths)} servers: name one with --dsn or --defaults-file"
        )
    else:
        [path] = paths
    return ledger_at(path) or Ledger()
