"""The command line of the outcomes: `python -m lab.outcomes`, or `make outcomes`."""

from __future__ import annotations

import click

from lab.harness import records
from lab.harness.campaign import Campaign, Reporter, interruptible, unfinished
from lab.harness.records import PartResult
from lab.outcomes import changed
from lab.outcomes.followed import LOADS, SERVERS
from lab.outcomes.record import CHANGES, OUTCOMES, ChangesRecord, OutcomeRecord


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--server", "servers", multiple=True, type=click.Choice(SERVERS), help="Only on this server; its results are kept."
)
@click.option("--fresh", is_flag=True, help="Discard the results of an interrupted run, and start over.")
def main(servers: tuple[str, ...], fresh: bool) -> None:  # noqa: FBT001 - click's flag
    """Follow advice by hand under load, and change settings without advice, while the ledger watches.

    What the ledger says is compared with the lab's own count. Harm has to be told of within three windows, and hours of
    ordinary work have to tell of none.

    With --server, two runs can measure side by side; a run without it collects both, and records them.

    The records are lab/records/outcomes.json and changes.json; `python -m tools.docs` makes the sections of
    docs/proofs.md from them.

    Exit status: 0 all bounds hold, 1 one does not, 2 a server is unavailable here, 130 interrupted.
    """
    parts = [*(part for load in LOADS for part in load.parts()), *changed.parts()]
    chosen = [part for part in parts if not servers or part.server in servers]
    reporter = Reporter(sum(part.takes for part in chosen))
    campaign = Campaign(chosen, reporter, unfinished(OUTCOMES))
    if fresh:
        campaign.forget()
    with interruptible(reporter):
        done = campaign.run()
    broken: list[str] = []
    for result in done:
        record = _record(result)
        reporter.note(f"{result.part.name}: {record}")
        broken += [f"{result.part.name}: {why}" for why in record.broken()]
    if campaign.complete and not servers:
        campaign.forget()
        if not broken:
            for group in (OUTCOMES, CHANGES):
                records.save(group, [result for result in done if result.part.group == group])
            reporter.note("recorded in lab/records; python -m tools.docs brings docs/proofs.md up to date")
    campaign.exit(broken)


def _record(result: PartResult) -> OutcomeRecord | ChangesRecord:
    kind = OutcomeRecord if result.part.group == OUTCOMES else ChangesRecord
    return kind.model_validate(result.data)


if __name__ == "__main__":
    main()
