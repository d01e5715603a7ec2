"""The benchmark's command line: `python -m lab.bench`, or `make bench`."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping

import click
from rich.console import Console

from lab.bench import figures, record, report
from lab.bench.figures import Figure, Measurement
from lab.bench.registry import FIGURES, SHORT
from lab.harness.campaign import Reporter
from lab.servers import StartError, Unavailable, interrupt_on_signals

BROKEN, UNAVAILABLE, INTERRUPTED = 1, 2, 130
WIDTH = 150


_EXAMPLES = """\b
Examples:
  make bench                                all of it, in about half an hour
  make bench ONLY=peer                      one figure
  .venv/bin/python -m lab.bench --short     what CI runs
"""


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}, epilog=_EXAMPLES)
@click.option("--only", "names", multiple=True, type=click.Choice(list(FIGURES)), help="This figure; may be repeated.")
@click.option(
    "--short", is_flag=True, help="A few figures with fewer rounds, beside their records. Fails nobody; what CI runs."
)
@click.option("--list", "listing", is_flag=True, help="List the figures with their bounds, and measure none.")
def main(names: tuple[str, ...], short: bool, listing: bool) -> None:  # noqa: FBT001 - click's flags
    """Measure what a scrape costs, and compare it with the bounds.

    A real `innodb-advisor serve` watches real servers. Some figures compare it with Debian's mysqld_exporter. The
    figures: latency, CPU and server time of a scrape; the same with a large pool and with 10,000 tables; several
    clients at once; a load beside the scrapes; memory; the model; advice for thousands of
    servers. Values are medians, with the middle half in brackets. A figure that breaks a bound is measured again, three
    times as long. Only then does it count as broken.

    The records go to lab/records, and docs/performance.md is generated from them. Keep the machine idle meanwhile:
    other work shows in the latencies. Ctrl-C stops every server and exporter. The short form breaks no bound: its last
    line names the ratios that are worse than their record by a quarter.

    Exit status: 0 every bound is kept, 1 a bound is broken, 2 a server or mysqld_exporter is unavailable here, 130
    interrupted.
    """
    wanted = names or (SHORT if short else tuple(FIGURES))
    chosen = {name: figure for name, figure in FIGURES.items() if name in wanted}
    if listing:
        _list(short=short)
        return
    interrupt_on_signals()
    console = Console(width=WIDTH, highlight=False)
    reporter = Reporter(sum(figure.seconds[short] for figure in chosen.values()))
    try:
        found, unavailable = _measure(chosen, reporter, short=short)
    except KeyboardInterrupt:
        reporter.note("\ninterrupted; nothing is left running")
        sys.exit(INTERRUPTED)
    measured = {name: measurement.values for name, measurement in found.items()}
    recorded = {name: kept for name in chosen if (kept := record.load(name)) is not None}
    console.print(report.terminal(measured, chosen, recorded))
    for measurement in found.values():
        for detail in measurement.details:
            console.print(detail)
    if short:
        worse = report.worse(measured, chosen, recorded)
        click.echo(f"worse than recorded by a quarter: {'; '.join(worse) or 'no ratio'}")
        return
    if found:
        report.write(FIGURES)
        reporter.note("recorded in lab/records; docs/performance.md is up to date")
    broken = [name for name, measurement in found.items() if chosen[name].broken(measurement)]
    sys.exit(BROKEN if broken else UNAVAILABLE if unavailable else 0)


def _measure(
    chosen: Mapping[str, Figure], reporter: Reporter, *, short: bool
) -> tuple[dict[str, Measurement], dict[str, str]]:
    """The figures that can be measured here, and why the others cannot, by name. The long form records each at once."""
    measured: dict[str, Measurement] = {}
    unavailable: dict[str, str] = {}
    with reporter:
        for name, figure in chosen.items():
            reporter.begin(name)
            began = time.monotonic()
            try:
                measured[name], times = figures.measure(figure, reporter.say, short=short)
            except (Unavailable, StartError) as error:
                unavailable[name] = str(error)
                reporter.end(name, f"not measured: {error}")
                continue
            finally:
                reporter.advance(figure.seconds[short])
            broken = figure.broken(measured[name])
            verdict = f"BROKEN: {', '.join(broken)}" if broken else "kept"
            again = ", measured twice" if times > 1 else ""
            reporter.end(name, f"{verdict}{again}, {time.monotonic() - began:.0f} s")
            if not short:
                record.save(name, measured[name], times)
    return measured, unavailable


def _list(*, short: bool) -> None:
    for name, figure in FIGURES.items():
        click.echo(f"{name}: {figure.title}, about {figure.seconds[short]:.0f} s")
        for line in figure.lines.values():
            beside = f" beside {line.beside}" if line.beside else ""
            click.echo(f"  {line.what}{beside}{f': {report.bound(line.bound, line.unit)}' if line.bound else ''}")


if __name__ == "__main__":
    main()
