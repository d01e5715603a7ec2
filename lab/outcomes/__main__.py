"""The command line of the outcomes: `python -m lab.outcomes`, or `make outcomes`."""

from __future__ import annotations

import sys

import click

from lab.campaign import records
from lab.campaign.campaign import Campaign, unfinished
from lab.campaign.progress import Reporter
from lab.outcomes.loads import SERVERS, WORKLOADS
from lab.outcomes.record import GROUP, OutcomeRecord
from lab.outcomes.trial import parts
from lab.servers import interrupt_on_signals

BROKEN, UNAVAILABLE, INTERRUPTED = 1, 2, 130


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--server", "servers", multiple=True, type=click.Choice(SERVERS), help="Only on this server; no record.")
@click.option("--fresh", is_flag=True, help="Discard the results of an interrupted run, and start over.")
def main(servers: tuple[str, ...], fresh: bool) -> None:  # noqa: FBT001 - click's flag
    """Follow advice by hand under load, and compare the ledger's outcome with the lab's own count.

    The record is lab/records/outcomes.json, and `python -m tools.docs` makes the section of docs/proofs.md from it.

    Exit status: 0 all bounds hold, 1 one does not, 2 a server is unavailable here, 130 interrupted.
    """
    chosen = [part for each in WORKLOADS for part in parts(each) if not servers or part.server in servers]
    interrupt_on_signals()
    reporter = Reporter(sum(each.takes for each in chosen))
    campaign = Campaign(chosen, reporter, unfinished(GROUP))
    if fresh:
        campaign.forget()
    try:
        done = campaign.run()
    except KeyboardInterrupt:
        reporter.note("\ninterrupted; no server is left behind. The same command continues with the rest.")
        sys.exit(INTERRUPTED)
    failures = [f"{name}: {why}" for name, why in (campaign.unavailable | campaign.failed).items()]
    for each in done:
        record = OutcomeRecord.model_validate(each.data)
        reporter.note(f"{each.part.name}: {record.outcome.result}, {record.outcome.why}, counted {record.counted}")
        failures += [f"{each.part.name}: {why}" for why in record.broken()]
    if len(done) == len(chosen):
        campaign.forget()
        if not (servers or failures):
            records.save(GROUP, done)
            reporter.note(
                "recorded in lab/records/outcomes.json; python -m tools.docs brings docs/proofs.md up to date"
            )
    for text in failures:
        reporter.note(f"BROKEN {text}")
    sys.exit(UNAVAILABLE if campaign.unavailable else BROKEN if failures else 0)


if __name__ == "__main__":
    main()
