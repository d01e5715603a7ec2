"""The gauntlet's command line: `python -m lab.gauntlet`, or `make gauntlet`."""

from __future__ import annotations

import click

from lab.gauntlet.trial import study
from lab.gauntlet.workload import SERVERS
from lab.gauntlet.workloads import MIXES, SEED, workloads
from lab.harness.campaign import ATTEMPTS, Campaign
from lab.servers import OWN, stand_in


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--workload", "names", multiple=True, metavar="NAME", help="Only this one; no record.")
@click.option(
    "--server", "servers", multiple=True, type=click.Choice((*SERVERS, *OWN)), help="Only on this server; no record."
)
@click.option("--short", is_flag=True, help="A few workloads, tried once; no record. CI runs this.")
@click.option("--seed", default=SEED, show_default=True, help="Of the random mixes; no record unless the default.")
@click.option("--random", "number", default=MIXES, show_default=True, help="Number of random mixes.")
@click.option("--lane", type=int, help="Only every n-th workload, from this one on; a run without it collects them.")
@click.option("--lanes", default=1, show_default=True, help="n, the number of lanes side by side.")
@click.option("--fresh", is_flag=True, help="Discard the results of an interrupted run, and start over.")
@click.option("--list", "listing", is_flag=True, help="List the workloads, and run none.")
def main(  # noqa: PLR0917 - one argument an option
    names: tuple[str, ...],
    servers: tuple[str, ...],
    short: bool,  # noqa: FBT001 - click's flags
    seed: int,
    number: int,
    lane: int | None,
    lanes: int,
    fresh: bool,  # noqa: FBT001
    listing: bool,  # noqa: FBT001
) -> None:
    """Follow everything that is advised on workloads that no rule was made for, and measure it.

    Each workload runs on a real server, watched by the sidecar's sampler. All rules judge it. Every finding and every
    alternative is followed alone under the same load, measured, and taken back. The bounds: the advice is as the
    workload expects, none harms, none is in vain, and 90 % of the predictions are within their own stated error.

    The records go to lab/records/gauntlet, and `python -m tools.docs` makes the table of docs/proofs.md from them.
    Ctrl-C stops the servers and keeps the finished workloads; the same command continues from there.

    Exit status: 0 every bound is kept, 1 a bound is broken, 2 a server is unavailable here, 130 interrupted.
    """
    chosen = workloads(seed, number)
    if unknown := set(names) - {workload.name for workload in chosen}:
        raise click.UsageError(f"there is no workload {min(unknown)}; see --list")
    named = [workload for workload in chosen if not names or workload.name in names]
    studies = [
        study(server, [workload for workload in named if not short or workload.short == stand_in(server)])
        for server in servers or SERVERS
    ]
    if lane is not None:
        lane_parts = [part for study in studies for part in study.parts][lane - 1 :: lanes]
        studies = [study.only(lambda part: part in lane_parts) for study in studies]
    campaign = Campaign(studies, attempts=1 if short else ATTEMPTS, fresh=fresh and not listing)
    if listing:
        campaign.show()
        return
    whole = not (names or servers or short or (seed, number) != (SEED, MIXES))
    campaign.run(record=whole, share=lane is not None)


if __name__ == "__main__":
    main()
