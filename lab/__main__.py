"""The lab's command line: `python -m lab`, or `make lab`."""

from __future__ import annotations

import click

from lab import curves, experiments, peers, plans, proofs, upgrades
from lab.harness.campaign import ATTEMPTS, Campaign
from lab.servers import NAMES, OWN

_MEASURED = (*experiments.studies(), *curves.studies(), upgrades.study(), plans.study(), peers.study())
OTHERS = {study.parts[0].subject: study for study in _MEASURED}
PROOFS = {study.parts[0].subject: study for study in proofs.studies()}


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--experiment", "names", multiple=True, type=click.Choice(list(OTHERS)), help="Only this one.")
@click.option("--proof", "rules", multiple=True, metavar="RULE", help="Only this rule's proofs.")
@click.option("--proofs", "proofs_only", is_flag=True, help="All proofs, no experiments.")
@click.option(
    "--server", "servers", multiple=True, type=click.Choice((*NAMES, *OWN)), help="Only on this server; no record."
)
@click.option(
    "--short", is_flag=True, help="A few proofs that count pages and an upgrade, tried once; no record. CI runs this."
)
@click.option("--fresh", is_flag=True, help="Discard the results of an interrupted run, and start over.")
@click.option("--list", "listing", is_flag=True, help="List the parts, and run none.")
def main(  # noqa: PLR0917 - one argument an option
    names: tuple[str, ...],
    rules: tuple[str, ...],
    proofs_only: bool,  # noqa: FBT001 - click's flags
    servers: tuple[str, ...],
    short: bool,  # noqa: FBT001
    fresh: bool,  # noqa: FBT001
    listing: bool,  # noqa: FBT001
) -> None:
    """Repeat published experiments, prove rules, and measure the rest, on real servers.

    The rest: curves, warm-ups, cold starts, upgrades, plans, and the advice of others (peers).

    Runs all parts, or the chosen ones. The records go to lab/records; `python -m tools.docs` makes docs/experiments.md,
    docs/proofs.md, docs/miss-curve.md, docs/cold-start.md, docs/upgrade.md, a part of docs/plan.md, and their pictures
    from them. Ctrl-C stops the servers and keeps the finished parts; the same command continues from there.

    Measurements of the curves, the cold starts and the upgrades stay in the cache: each run predicts anew from them.

    A part that needs idle cores is skipped, with a message, while they are busy.

    Exit status: 0 all results hold, 1 a result does not hold, 2 a server is unavailable here, 130 interrupted.
    """
    if unknown := set(rules) - set(PROOFS):
        raise click.UsageError(f"there is no proof of a rule {min(unknown)}; see --list")
    of_own_server = not set(OWN).isdisjoint(servers)
    if of_own_server and names:
        raise click.UsageError(f"{', '.join(OWN)} take proofs, and no experiments")
    proofs_only = proofs_only or of_own_server
    everything = not (names or rules or proofs_only)
    chosen = [study for name, study in OTHERS.items() if everything or name in names]
    chosen += [study for rule, study in PROOFS.items() if everything or proofs_only or rule in rules]

    if short:
        chosen = [study.only(lambda part: str(part) in (*proofs.SHORT, upgrades.SHORT)) for study in chosen]
    if servers:
        chosen = [study.on(server) for study in chosen for server in servers]
    campaign = Campaign(chosen, attempts=1 if short else ATTEMPTS, fresh=fresh and not listing)
    if listing:
        campaign.show()
        return
    campaign.run(record=not (short or servers))


if __name__ == "__main__":
    main()
