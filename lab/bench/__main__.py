"""The benchmark's command line: `python -m lab.bench`, or `make bench`."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping

import click
from rich.console import Console

from lab.bench import report
from lab.bench.figures import Benchmark, Values
from lab.bench.registry import BENCHMARKS, SHORT
from lab.harness.campaign import Reporter
from lab.servers import StartError, UnavailableHere, interrupt_on_signals

BROKEN, UNAVAILABLE, INTERRUPTED = 1, 2, 130
WIDTH = 150


_EXAMPLES = """\b
Examples:
  make bench                                all of it, in about half an hour
  make bench ONLY=peer                      one figure
  .venv/bin/python -m lab.bench --short     what CI runs
"""


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}, epilog=_EXAMPLES)
@click.option("--only", "names", multiple=True, type=click.Choice(list(BENCHMARKS)), help="This one; may be repeated.")
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
    chosen = {name: BENCHMARKS[name] for name in BENCHMARKS if name in (names or (SHORT if short else BENCHMARKS))}
    if listing:
        _list(short=short)
        return
    interrupt_on_signals()
    console = Console(width=WIDTH, highlight=False)
    reporter = Reporter(sum(benchmark.seconds[short] for benchmark in chosen.values()))
    try:
        measured = _measure(chosen, reporter, short=short)
    except KeyboardInterrupt:
        reporter.note("\ninterrupted; nothing is left running")
        sys.exit(INTERRUPTED)
    console.print(report.terminal(measured, chosen))
    if short:
        worse = report.worse(measured, chosen)
        click.echo(f"worse than recorded by a quarter: {'; '.join(worse) or 'no ratio'}")
        return
    if measured:
        report.write(BENCHMARKS)
        reporter.note("recorded in lab/records; docs/performance.md is up to date")
    if any(chosen[name].broken(values) for name, values in measured.items()):
        sys.exit(BROKEN)
    sys.exit(0 if measured.keys() == chosen.keys() else UNAVAILABLE)


def _measure(chosen: Mapping[str, Benchmark], reporter: Reporter, *, short: bool) -> dict[str, dict[str, Values]]:
    """The values of what can be measured here. The long form records each benchmark at once."""
    measured: dict[str, dict[str, Values]] = {}
    with reporter:
        for name, benchmark in chosen.items():
            reporter.begin(name)
            began = time.monotonic()
            try:
                run = benchmark.run(reporter.say, reporter.note, short=short)
            except (UnavailableHere, StartError) as error:
                reporter.end(name, f"not measured: {error}")
                continue
            finally:
                reporter.advance(benchmark.seconds[short])
            measured[name] = run.values
            broken = benchmark.broken(run.values)
            verdict = f"BROKEN: {', '.join(broken)}" if broken else "kept"
            again = ", measured twice" if run.longer else ""
            reporter.end(name, f"{verdict}{again}, {time.monotonic() - began:.0f} s")
            if not short:
                report.save(name, run)
    return measured


def _list(*, short: bool) -> None:
    for name, benchmark in BENCHMARKS.items():
        click.echo(f"{name}: {benchmark.title}, about {benchmark.seconds[short]:.0f} s")
        for figure in benchmark.figures.values():
            beside = f" beside {figure.rival}" if figure.rival else ""
            click.echo(f"  {figure.what}{beside}{f': {figure.bound}' if figure.bound else ''}")


if __name__ == "__main__":
    main()
