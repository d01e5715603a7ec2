"""`advise`: the rules' advice on a recording, or on a server that is watched for a while."""

from __future__ import annotations

import asyncio
import math
import sys

import click

from advisor.advice.service import Service
from advisor.cli.actions.observation import observed_source, refuse_missing_privileges
from advisor.cli.actions.setup import load_setup
from advisor.cli.exits import FINDINGS
from advisor.cli.options import SetupOptions, SourceOptions
from advisor.contract.recommendation import Advice, Severity
from advisor.render import markdown


def advise(
    *, where: SourceOptions, setup: SetupOptions, watch: float, interval: float | None, style: str, fail_on: str | None
) -> None:
    """Print the advice; exit with 1 where --fail-on applies."""
    loaded = load_setup(setup)
    source = observed_source(where, watch, interval, loaded.machine)
    service = Service(source, loaded.book, longest=math.inf, evaluation_seconds=math.inf)
    assessment = asyncio.run(service.assessment())
    if assessment is None:
        raise source.problem or service.unseen
    _print(assessment.advice.model_copy(update={"next_at": None}), style)  # nobody goes on watching
    refuse_missing_privileges(assessment.snapshot)
    found = assessment.advice.recommendations
    if fail_on and any(each.severity.rank >= Severity(fail_on).rank for each in found):
        sys.exit(FINDINGS)


def _print(advice: Advice, style: str) -> None:
    match style:
        case "json":
            click.echo(advice.model_dump_json(by_alias=True, indent=2))
        case "markdown":
            click.echo(markdown.markdown(advice))
        case _:
            from advisor.render import terminal, text  # noqa: PLC0415 - only text needs rich

            text.print_advice(terminal.console(), advice)
