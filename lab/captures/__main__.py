"""The command line of the captures: python -m lab.captures."""

from __future__ import annotations

import click

from lab.captures import forecasts, golden, plans
from lab.captures.record import study
from lab.captures.scenarios import CATALOG
from lab.harness.campaign import Campaign
from lab.servers import OWN

ATTEMPTS = 3
"""Some checks depend on chance."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, metavar="[SERVER/SCENARIO]...")
@click.option("--list", "listing", is_flag=True, help="List the captures, and record none.")
@click.option("--golden", "golden_only", is_flag=True, help="Rewrite all golden files from the existing captures.")
def main(names: tuple[str, ...], listing: bool, golden_only: bool) -> None:  # noqa: FBT001 - click's flags
    """Record the captures SERVER/SCENARIO, or those of all servers that a registry has, from real servers.

    Each gets a note on its origin. Then the golden files are written. Exit status: 2 when a server is unavailable
    here, 1 when a capture does not show its scenario. The other captures are recorded all the same.
    """
    captures = {str(capture): capture for capture in CATALOG}
    if unknown := [name for name in names if name not in captures]:
        raise click.UsageError(f"there is no capture {unknown[0]}; see --list")
    chosen = [captures[name] for name in names] or [capture for capture in CATALOG if capture.server not in OWN]
    if listing:
        for capture in CATALOG:
            size = f"{capture.recording.stat().st_size:7,} bytes" if capture.recording.is_file() else "not recorded"
            click.echo(f"{capture!s:44} {size}")
    elif golden_only:
        forecasts.write()
        plans.write()
        click.echo(f"{len(golden.write()) + len(forecasts.UPGRADES) + len(plans.PLANNED)} golden files written")
    else:
        Campaign([study(chosen)], attempts=ATTEMPTS).run(record=False)


if __name__ == "__main__":
    main()
