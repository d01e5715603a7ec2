"""The command line of the captures: python -m lab.captures."""

import sys
import time

import click

from lab.captures import Capture, golden
from lab.captures.record import record
from lab.captures.redaction import Leak
from lab.captures.scenarios import CATALOG
from lab.captures.scenarios.base import CaptureRejected
from lab.servers import StartError, UnavailableHere, interrupt_on_signals


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, metavar="[SERVER/SCENARIO]...")
@click.option("--list", "listing", is_flag=True, help="List the captures, and record none.")
@click.option("--golden", "golden_only", is_flag=True, help="Rewrite all golden files from the existing captures.")
def main(names: tuple[str, ...], listing: bool, golden_only: bool) -> None:  # noqa: FBT001 - click's flags
    """Record the captures SERVER/SCENARIO, or all of them, from real servers.

    Each gets a note on its origin. Then the golden files are written. Exit status: 2 when a server is unavailable
    here, 1 when a capture does not show its scenario. The other captures are recorded all the same.
    """
    chosen = _chosen(names, [capture for capture, scenario in CATALOG.items() if scenario.options is not None])
    if listing:
        for capture in chosen:
            size = f"{capture.recording.stat().st_size:7,} bytes" if capture.recording.is_file() else "not recorded"
            click.echo(f"{capture!s:44} {size}")
        return
    if golden_only:
        click.echo(f"{len(golden.write())} golden files written")
        return
    interrupt_on_signals()
    try:
        status = max([_make(capture) for capture in chosen], default=0)
        golden.write()
        sys.exit(status)
    except KeyboardInterrupt:
        sys.exit(130)


def _chosen(names: tuple[str, ...], known: list[Capture]) -> list[Capture]:
    by_name = {str(capture): capture for capture in known}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise click.UsageError(f"there is no capture {unknown[0]}; see --list")
    return [by_name[name] for name in names] or known


def _make(capture: Capture) -> int:
    """Record a capture and print the outcome; the exit status."""
    began = time.monotonic()
    click.echo(f"{capture!s:44} ", nl=False)
    sys.stdout.flush()
    try:
        shown = record(capture, lambda failed: click.echo(f"{failed}\n{'':44} ", nl=False))
    except UnavailableHere as error:
        click.echo(f"not recorded: the server is unavailable here: {error}")
        return 2
    except (CaptureRejected, Leak, StartError) as error:
        click.echo(f"FAILED: {error}")
        return 1
    numbers = ", ".join(f"{name} {value}" for name, value in shown.items())
    size = capture.recording.stat().st_size
    click.echo(f"{time.monotonic() - began:4.1f} s, {size:6,} bytes: {numbers}")
    return 0


if __name__ == "__main__":
    main()
