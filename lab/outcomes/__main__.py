"""The command line of the outcomes: `python -m lab.outcomes`, or `make outcomes`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from lab.harness import records
from lab.harness.campaign import Campaign, Reporter, unfinished
from lab.harness.records import Data, PartResult
from lab.outcomes import by_hand
from lab.outcomes.loads import SERVERS, WORKLOADS
from lab.outcomes.record import GROUP, OutcomeRecord
from lab.outcomes.trial import parts
from lab.servers import interrupt_on_signals

BROKEN, UNAVAILABLE, INTERRUPTED = 1, 2, 130
GROUPS = (GROUP, by_hand.GROUP)


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
    all_parts = [*(part for each in WORKLOADS for part in parts(each)), *(each.part() for each in by_hand.CASES)]
    chosen = [part for part in all_parts if not servers or part.server in servers]
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
        said, broken = _judged(each.part.group, each.data)
        reporter.note(f"{each.part.name}: {said}")
        failures += [f"{each.part.name}: {why}" for why in broken]
    if len(done) == len(chosen) and not servers:
        campaign.forget()
        if not failures:
            _save(done)
            reporter.note("recorded in lab/records; python -m tools.docs brings docs/proofs.md up to date")
    for text in failures:
        reporter.note(f"BROKEN {text}")
    sys.exit(UNAVAILABLE if campaign.unavailable else BROKEN if failures else 0)


def _judged(group: str, data: Data) -> tuple[str, list[str]]:
    """What was seen, and the bounds that do not hold."""
    if group == GROUP:
        followed = OutcomeRecord.model_validate(data)
        said = f"{followed.outcome.result}, {followed.outcome.why}, counted {followed.counted}"
        return said, list(followed.broken())
    changed = by_hand.ChangesRecord.model_validate(data)
    told = "no harm" if changed.told_after is None else f"harm told after {changed.told_after} windows"
    return f"{told} of {changed.changes} changes, {changed.compared} compared", list(changed.broken())


def _save(done: Sequence[PartResult]) -> None:
    for group in GROUPS:
        records.save(group, [each for each in done if each.part.group == group])


if __name__ == "__main__":
    main()
