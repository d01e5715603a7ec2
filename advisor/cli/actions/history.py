"""`history`: what became of changes, from the directory of `serve` or from a recording."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import click
from click.core import ParameterSource

from advisor.cli.actions.ledgers import carried_by, kept_at
from advisor.cli.actions.output import say, say_json
from advisor.cli.exits import FINDINGS, Unusable
from advisor.cli.options import DSN_VARIABLE, SourceOptions
from advisor.contract.settings import SETTINGS
from advisor.ledger import history as histories
from advisor.ledger.entry import Result
from advisor.ledger.history import History, Wanted
from advisor.ledger.ledger import Ledger
from advisor.observe.source import Replay
from advisor.render import history_markdown
from exporter import state_file


def history(
    *,
    state_dir: Path | None,
    dsn: str | None,
    defaults_file: Path | None,
    recording: Path | None,
    rules: tuple[str, ...],
    fingerprints: tuple[str, ...],
    settings: tuple[str, ...],
    results: tuple[str, ...],
    since: float | None,
    limit: int,
    style: str,
    fail_on: str | None,
) -> None:
    """Print the history; exit with 1 where --fail-on applies.

    Raises:
        click.UsageError: The options do not go together.
        Unusable: There is no history.
        RecordingError, TargetError: A file cannot be used.
    """
    for name in settings:
        if name not in SETTINGS:
            raise click.UsageError(f"no setting {name} is known; there are {', '.join(SETTINGS)}")
    if recording is not None:
        if dsn or defaults_file or _on_command_line("state_dir"):
            raise click.UsageError("--recording stands alone: it replaces the directory and the server")
        ledger = _carried(recording)
    elif state_dir is not None:
        ledger = _kept(state_dir, dsn or os.environ.get(DSN_VARIABLE) or None, defaults_file)
    else:
        raise click.UsageError(
            "name the directory of `serve` with --state-dir, or a file with --recording; "
            "a `serve` without --state-dir answers GET /history"
        )
    wanted = Wanted(rules, fingerprints, tuple(map(Result, results)), settings, _before(since), limit)
    found = histories.history(ledger, wanted, kept=recording is None)
    _print(found, style)
    harm = any(each.harm for each in found.outcomes)
    missed = fail_on == "missed" and any(each.result is Result.MISSED for each in found.outcomes)
    if fail_on is not None and (harm or missed):
        sys.exit(FINDINGS)


def _on_command_line(name: str) -> bool:
    """Whether an option was given; the environment may name a directory for other commands."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def _before(since: float | None) -> float | None:
    """Unix seconds; a negative number is so many seconds ago."""
    return since if since is None or since >= 0 else time.time() + since


def _carried(recording: Path) -> Ledger:
    found = carried_by(Replay(recording))
    if found is None:
        raise Unusable(f"{recording} carries no history: `record --state-dir` writes one that does")
    return found


def _kept(folder: Path, dsn: str | None, defaults_file: Path | None) -> Ledger:
    try:
        found = state_file.paths(folder)
    except OSError as error:
        raise Unusable(f"cannot read {folder}: {error.strerror or error}") from error
    if dsn or defaults_file:
        path = state_file.path_of(folder, SourceOptions.of(dsn, defaults_file, None, None).server().address)
        if path not in found:
            raise Unusable(f"{folder} has no history of this server; it has that of {len(found)} others")
    elif not found:
        raise Unusable(f"{folder} has no history: `serve --state-dir` keeps one there")
    elif len(found) > 1:
        raise click.UsageError(
            f"{folder} has the history of {len(found)} servers: name one with --dsn or --defaults-file"
        )
    else:
        [path] = found
    return kept_at(path) or Ledger()


def _print(found: History, style: str) -> None:
    match style:
        case "json":
            say_json(found)
        case "markdown":
            say(history_markdown.history(found))
        case _:
            from advisor.render import history_text, terminal  # noqa: PLC0415 - only text needs rich

            history_text.print_history(terminal.console(), found)
