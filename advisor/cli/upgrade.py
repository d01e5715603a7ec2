"""`upgrade`: what another version of the server does to the workload that was watched."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

import click

from advisor.cli.options import (
    SetupOptions,
    SourceOptions,
    format_option,
    optional_where_options,
    rules_and_machine_options,
    watch_options,
)
from advisor.cli.output import Unusable, epilog
from advisor.cli.reading import optional_reading_options, read_once

if TYPE_CHECKING:
    from advisor.contract.upgrade import FleetUpgrade, UpgradeForecast
    from advisor.fleet.reading import ReadingOptions


@click.command(
    epilog=epilog(
        "upgrade --to 8.4 --defaults-file ~/.my.cnf --watch 15m",
        "upgrade --to 8.0.37 --recording busy-hour.jsonl.gz --option-file /etc/mysql/my.cnf",
        "upgrade --to 11.8 --recording busy-hour.jsonl.gz --format markdown > ticket.md",
        "upgrade --to 8.4 --prometheus http://prometheus:9090 --selector 'cluster=\"eu\"'",
        "upgrade --to 8.4 --prometheus http://prometheus:9090 --server eu/shop/db-1",
    )
)
@click.option(
    "--to",
    required=True,
    metavar="VERSION",
    help="The new version, such as 8.4.6 or 11.8; a series alone stands for the newest of its releases that is known.",
)
@optional_where_options
@click.option(
    "--option-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The server's my.cnf: what it sets, where the server itself does not tell, or the file has more.",
)
@watch_options
@rules_and_machine_options
@optional_reading_options
@format_option("text", "markdown", "json")
def upgrade(
    *,
    to: str,
    where: functools.partial[SourceOptions],
    option_file: Path | None,
    watch: float,
    interval: float | None,
    setup: SetupOptions,
    reading: ReadingOptions | None,
    style: str,
) -> None:
    """Say what an upgrade will do to this server, before it is done.

    Watches for a while, or reads a recording. Then it says what would not start; what changes for this workload, with
    the pages that a model predicts, and the option lines that keep what is better; what gets better by itself, and the
    advice that falls away; an option file fragment, and SQL to run before and after; and what cannot be said, with what
    to record so that it can. Nothing is changed on the server.

    It works upward, within MySQL and within MariaDB. Let --watch span the work in question: what was not seen is not
    foretold. With --prometheus it is a table of the servers there, those that the upgrade changes most first; with
    --server the whole forecast for one of them.
    """
    from advisor.cli.output import put_answer
    from advisor.render import upgrade as documents

    if reading is None:
        answer = _forecast(to, where(), setup, option_file=option_file, watch=watch, interval=interval)
        put_answer(answer, style, documents.forecast)
        return
    if any(where.keywords.values()) or option_file:
        raise click.UsageError("--prometheus stands alone: it replaces the server, and its option file")
    put_answer(_fleet(to, reading, setup), style, documents.fleet)


def _forecast(
    to: str,
    where: SourceOptions,
    setup: SetupOptions,
    *,
    option_file: Path | None,
    watch: float,
    interval: float | None,
) -> UpgradeForecast:
    """The forecast for one server.

    Raises:
        UpgradeRefused: There is no forecast for this version.
        Unusable: The option file cannot be read.
    """
    from advisor.advice.judgement import assess, judge
    from advisor.cli import sources
    from advisor.observe import observation
    from advisor.pool.fitting import Loads
    from advisor.upgrade.forecast import forecast
    from advisor.upgrade.target import target

    text = None if option_file is None else _text(option_file)
    rules, machine = setup.load()
    if where.recording is None:  # before the server is watched for long
        target(observation.run(observation.single_snapshot(sources.snapshot_source(where, watch, machine))).server, to)
    seen = sources.observed_window(where, watch, interval, machine)
    loads = Loads()
    judgements = {judgement.rule: judgement for judgement in judge(rules.rules, seen, loads=loads)}
    findings = assess(judgements, seen, rules.rule_set).advice.recommendations
    return forecast(seen, to, option_file=text, findings=findings, rules=rules.rules, loads=loads)


def _text(path: Path) -> str:
    """The text of an option file. Raises Unusable where it is none."""
    from exporter import files, option_file

    try:
        text = files.text(path)
        option_file.read(text)
    except OSError as error:
        raise Unusable(f"cannot read {path}: {error.strerror}") from error
    except option_file.OptionFileError as error:
        raise Unusable(f"{path}: {error}") from error
    return text


def _fleet(to: str, reading: ReadingOptions, setup: SetupOptions) -> FleetUpgrade:
    """The forecasts for a fleet.

    Raises:
        UpgradeRefused: No server can be upgraded to this version.
        Unusable: There is no answer, or no server.
    """
    from advisor.fleet.upgrades import read_upgrades

    rules, _ = setup.load()
    report = read_once(lambda progress: read_upgrades(reading, to, rules.rule_set, progress), reading.url)
    if not report.servers and not report.not_asked and reading.shard is None:
        raise Unusable(f"{reading.url}: {'; '.join(report.warnings)}")
    return report
