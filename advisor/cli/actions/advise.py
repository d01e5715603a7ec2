"""`advise`: the rules' advice on a recording, or on a server that is watched for a while."""

from __future__ import annotations

import asyncio
import math
import sys
from pathlib import Path

import click

from advisor.advice.ledger_recorder import LedgerRecorder
from advisor.advice.remembered import Remembered
from advisor.advice.service import Service
from advisor.cli.actions.ledgers import carried_by, known_of
from advisor.cli.actions.observation import observed_source, refuse_missing_privileges
from advisor.cli.actions.output import say, say_json
from advisor.cli.actions.setup import load_setup
from advisor.cli.exits import FINDINGS, Unusable
from advisor.cli.options import SetupOptions, SourceOptions
from advisor.contract.recommendation import Severity
from advisor.ledger.history import GradedAdvice, newest
from advisor.ledger.ledger import Ledger
from advisor.pool import stored_hours
from advisor.pool.memory import Memory
from advisor.render import history_markdown
from exporter import state_file
from exporter.state_file import StateError


def advise(
    *,
    where: SourceOptions,
    setup: SetupOptions,
    watch: float,
    interval: float | None,
    state_dir: Path | None,
    style: str,
    fail_on: str | None,
) -> None:
    """Print the advice; exit with 1 where --fail-on applies."""
    loaded = load_setup(setup)
    remembered = Remembered(_memory(state_dir, where), setup.may_read)
    kept = None if where.recording else known_of(state_dir, where.server().address)
    source = observed_source(where, watch, interval, loaded.machine)
    ledger = kept or carried_by(source) or Ledger()
    service = Service(
        source,
        loaded.book,
        longest=math.inf,
        evaluation_seconds=math.inf,
        remembered=lambda: remembered,
        books=LedgerRecorder(ledger),
    )
    assessment = asyncio.run(service.assessment())
    if assessment is None:
        raise source.problem or service.unseen
    advice = assessment.advice.model_copy(update={"next_at": None})  # nobody goes on watching
    _print(GradedAdvice.model_construct(**dict(advice), outcomes=tuple(newest(ledger.outcomes.values()))), style)
    refuse_missing_privileges(assessment.snapshot)
    found = assessment.advice.recommendations
    if fail_on and any(each.severity.rank >= Severity(fail_on).rank for each in found):
        sys.exit(FINDINGS)


def _memory(folder: Path | None, where: SourceOptions) -> Memory | None:
    """What `serve` remembers of the server, where there is a folder for it.

    Raises:
        click.UsageError: It is no server.
        Unusable: The file cannot be used.
    """
    if folder is None:
        return None
    if where.recording:
        raise click.UsageError("--state-dir needs a server, not a recording")
    path = state_file.path_of(folder, where.server().address)
    try:
        memory, damage = stored_hours.read(path)
    except FileNotFoundError:
        return Memory()
    except StateError as error:
        raise Unusable(f"{path}: {error}") from None
    if damage is not None:
        say(f"{path}: not all of it can be read: {damage}", err=True)
    return memory


def _print(advice: GradedAdvice, style: str) -> None:
    match style:
        case "json":
            none = None if advice.outcomes else {"outcomes"}  # then it is what GET /advise answers
            say_json(advice, by_alias=True, exclude=none)
        case "markdown":
            say(history_markdown.advice(advice))
        case _:
            from advisor.render import history_text, terminal  # noqa: PLC0415 - only text needs rich

            history_text.print_advice(terminal.console(), advice)
