"""The lab's command line: `python -m lab`, or `make lab`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from lab.curves import campaign as curves
from lab.experiments import EXPERIMENTS
from lab.harness import records
from lab.harness.campaign import ATTEMPTS, Campaign, Reporter, interruptible
from lab.harness.records import Part, PartResult
from lab.proofs import SHORT, parts
from lab.reports import criterion
from lab.servers import NAMES
from lab.warm_ups import judge as warm_up_judge
from lab.warm_ups import measure as warm_ups
from tools import docs

CHOICES = (*EXPERIMENTS, curves.GROUP, warm_ups.GROUP)


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--experiment", "experiments", multiple=True, type=click.Choice(CHOICES), help="Only this one.")
@click.option("--proof", "rules", multiple=True, metavar="RULE", help="Only this rule's proofs.")
@click.option("--proofs", "proofs_only", is_flag=True, help="All proofs, no experiments.")
@click.option("--server", "servers", multiple=True, type=click.Choice(NAMES), help="Only on this server; no record.")
@click.option("--short", is_flag=True, help="A few proofs that count pages, tried once; no record. CI runs this.")
@click.option("--fresh", is_flag=True, help="Discard the results of an interrupted run, and start over.")
@click.option("--list", "listing", is_flag=True, help="List the parts, and run none.")
def main(  # noqa: PLR0917 - one argument an option
    experiments: tuple[str, ...],
    rules: tuple[str, ...],
    proofs_only: bool,  # noqa: FBT001 - click's flags
    servers: tuple[str, ...],
    short: bool,  # noqa: FBT001
    fresh: bool,  # noqa: FBT001
    listing: bool,  # noqa: FBT001
) -> None:
    """Reproduce the published experiments, prove the rules, measure miss curves and warm-ups, on real servers.

    Runs all parts, or the chosen ones. The records go to lab/records; docs/experiments.md, docs/proofs.md,
    docs/miss-curve.md and their pictures are generated from them. Ctrl-C stops the servers and keeps the finished
    parts; the same command continues from there.

    Measurements of the curves stay in the cache: each run predicts anew from them.

    A part that needs idle cores is skipped, with a message, while they are busy.

    Exit status: 0 all results hold, 1 a result does not hold, 2 a server is unavailable here, 130 interrupted.
    """
    proofs_only = proofs_only or (short and not (rules or experiments))
    everything = not (experiments or rules or proofs_only)
    if unknown := set(rules) - {part.subject for part in parts()}:
        raise click.UsageError(f"there is no proof of a rule {min(unknown)}; see --list")
    chosen = [part for part in _others() if everything or part.subject in experiments]
    chosen += [part for part in parts() if everything or proofs_only or part.subject in rules]
    chosen = [part for part in chosen if not short or str(part) in SHORT]
    curve_parts = curves.parts() if everything or curves.GROUP in experiments else []
    if servers:
        chosen, curve_parts = ([part for part in some if part.server in servers] for some in (chosen, curve_parts))
    if listing:
        for part in (*chosen, *curve_parts):
            click.echo(f"{part.takes:5.0f} s  {part}")
        seconds = sum(part.takes for part in (*chosen, *curve_parts))
        click.echo(f"{len(chosen) + len(curve_parts)} parts, about {seconds / 60:.0f} minutes")
        return
    reporter = Reporter(sum(part.takes for part in (*chosen, *curve_parts)))
    campaign = Campaign(chosen, reporter, attempts=1 if short else ATTEMPTS)
    if fresh:
        campaign.forget()
    with interruptible(reporter):
        campaign.run()
        groups = _complete(chosen, campaign.done)
        measured = curves.run(curve_parts, reporter, fresh=fresh)
        if not (short or servers):
            _record(groups, measured, reporter)
        broken = _broken(groups)
    if campaign.complete:
        campaign.forget()
    campaign.parts += curve_parts
    campaign.done += measured.results
    campaign.failed |= measured.failed
    campaign.unavailable |= measured.unavailable
    campaign.exit(broken)


def _others() -> Iterator[Part]:
    """The parts of the experiments and the warm-ups."""
    for experiment in EXPERIMENTS.values():
        yield from experiment.parts
    yield from warm_ups.parts()


def _complete(chosen: list[Part], done: list[PartResult]) -> dict[str, list[PartResult]]:
    """The groups whose parts are all done."""
    results = {str(result.part): result for result in done}
    missing = {part.group for part in chosen if str(part) not in results}
    return {
        group: [results[str(part)] for part in chosen if part.group == group]
        for group in dict.fromkeys(part.group for part in chosen)
        if group not in missing
    }


def _record(groups: dict[str, list[PartResult]], measured: curves.CurvesRun, reporter: Reporter) -> None:
    """Write the records of complete groups, and the pages."""
    for group, results in groups.items():
        records.save(group, results)
    if measured.complete:
        measured.record()
        warm_up_judge.record()
    if groups or measured.complete:
        docs.write()
        reporter.note(f"{len(groups) + measured.complete} records in lab/records; the pages are up to date")


def _broken(groups: dict[str, list[PartResult]]) -> list[str]:
    """The criteria of the experiments and the warm-ups that do not hold."""
    broken = []
    for experiment in EXPERIMENTS.values():
        done = groups.get(f"experiments/{experiment.id}", ())
        if len(done) == len(experiment.parts):  # not with --server
            conclusion = experiment.conclude({result.part.name: result.data for result in done})
            broken += [f"{experiment.id}: {text}" for text in criterion.broken(conclusion.criteria)]
    pools = [
        pool
        for result in groups.get(warm_ups.GROUP, ())
        for pool in warm_up_judge.through_prometheus(result.part.server, result.part.name, result.data)
    ]
    return broken + [f"{warm_ups.GROUP}: {text}" for text in criterion.broken(warm_up_judge.criteria(pools))]


if __name__ == "__main__":
    main()
