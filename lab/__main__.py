"""The lab's command line: `python -m lab`, or `make lab`."""

from __future__ import annotations

import sys

import click

from lab.curves import campaign as curves
from lab.experiments import EXPERIMENTS
from lab.harness import records
from lab.harness.campaign import ATTEMPTS, Campaign, Reporter
from lab.harness.records import Part, PartResult
from lab.proofs import parts, short_form
from lab.reports import criterion
from lab.servers import NAMES, interrupt_on_signals
from lab.warm_ups import judge as warm_up_judge
from lab.warm_ups import measure as warm_ups
from tools import docs

FAILED, UNAVAILABLE, INTERRUPTED = 1, 2, 130
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

    What was measured for the curves stays in the cache: each run predicts anew from it.

    A part that needs idle cores is skipped, with a message, while they are busy.

    Exit status: 0 all results hold, 1 a result does not hold, 2 a server is unavailable here, 130 interrupted.
    """
    groups = _groups(experiments, rules, proofs_only=proofs_only or (short and not (rules or experiments)))
    wanted = {str(part) for part in short_form()} if short else None
    flat = [
        part
        for group in groups.values()
        for part in group
        if (wanted is None or str(part) in wanted) and (not servers or part.server in servers)
    ]
    curve_parts = [
        part
        for part in curves.parts()
        if (curves.GROUP in experiments or not (experiments or rules or proofs_only or short))
        and (not servers or part.server in servers)
    ]
    everything = [*flat, *curve_parts]
    if listing:
        for part in everything:
            click.echo(f"{part.takes:5.0f} s  {part}")
        click.echo(f"{len(everything)} parts, about {sum(part.takes for part in everything) / 60:.0f} minutes")
        return
    interrupt_on_signals()
    reporter = Reporter(sum(part.takes for part in everything))
    campaign = Campaign(flat, reporter, attempts=1 if short else ATTEMPTS)
    if fresh:
        campaign.forget()
    try:
        done = campaign.run()
        complete = _complete(groups, done)
        measured = curves.run(curve_parts, reporter, fresh=fresh)
        if not (short or servers):
            _record(complete, measured, reporter)
        broken = _broken(complete)
    except KeyboardInterrupt:
        reporter.note("\ninterrupted; no server is left behind. The same command continues with the remaining parts.")
        sys.exit(INTERRUPTED)
    if flat and len(done) == len(flat):
        campaign.forget()
    unavailable = {**campaign.unavailable, **measured.unavailable}
    failed = {**campaign.failed, **broken, **measured.failed}
    for name, why in (unavailable | failed).items():
        reporter.note(f"FAILED {name}: {why}")
    for name, why in campaign.not_now.items():
        reporter.note(f"not now {name}: {why}")
    reporter.note(f"{len(done) + len(measured.results)} of {len(everything)} parts done, {len(failed)} failed")
    sys.exit(FAILED if failed else UNAVAILABLE if unavailable else 0)


def _groups(experiments: tuple[str, ...], rules: tuple[str, ...], *, proofs_only: bool) -> dict[str, list[Part]]:
    """The chosen parts, or all, by group."""
    found: dict[str, list[Part]] = {}
    everything = not (experiments or rules or proofs_only)
    for part in (part for each in EXPERIMENTS.values() for part in each.parts):
        if everything or part.subject in experiments:
            found.setdefault(part.group, []).append(part)
    if everything or warm_ups.GROUP in experiments:
        found[warm_ups.GROUP] = warm_ups.parts()
    for part in parts():
        if everything or proofs_only or part.subject in rules:
            found.setdefault(part.group, []).append(part)
    if unknown := set(rules) - {part.subject for part in parts()}:
        raise click.UsageError(f"there is no proof of a rule {min(unknown)}; see --list")
    return found


def _complete(groups: dict[str, list[Part]], done: list[PartResult]) -> dict[str, list[PartResult]]:
    """The groups whose parts are all done."""
    by_part = {str(each.part): each for each in done}
    return {
        name: [by_part[str(part)] for part in group]
        for name, group in groups.items()
        if all(str(part) in by_part for part in group)
    }


def _record(complete: dict[str, list[PartResult]], measured: curves.CurvesRun, reporter: Reporter) -> None:
    """Write the records of complete groups, and the pages."""
    for name, results in complete.items():
        records.save(name, results)
    if measured.complete:
        measured.record()
        warm_up_judge.record()
    if complete or measured.complete:
        docs.write()
        reporter.note(f"{len(complete) + measured.complete} records in lab/records; the pages are up to date")


def _broken(complete: dict[str, list[PartResult]]) -> dict[str, str]:
    """The experiments' criteria that do not hold, and the warm-ups' bounds."""
    failures: dict[str, str] = {}
    for experiment in EXPERIMENTS.values():
        if (results := complete.get(f"experiments/{experiment.id}")) is not None:
            conclusion = experiment.conclude({result.part.name: result.data for result in results})
            failures[experiment.id] = "; ".join(criterion.broken(conclusion.criteria))
    pools = [
        pool
        for result in complete.get(warm_ups.GROUP, ())
        for pool in warm_up_judge.through_prometheus(result.part.server, result.part.name, result.data)
    ]
    failures[warm_ups.GROUP] = "; ".join(criterion.broken(warm_up_judge.criteria(pools)))
    return {name: text for name, text in failures.items() if text}


if __name__ == "__main__":
    main()
