"""`history`: outcomes of changes, from the directory of `serve` or from a recording."""

from __future__ import annotations

import sys
from datetime import datetime

import click

from advisor.cli import parameters
from advisor.cli.options import FAILURES, fail_on_option, format_option
from advisor.cli.output import FINDINGS, epilog
from advisor.cli.remembered import LedgerOptions, ledger_options

_RESULTS = ("open", "kept", "missed", "unpromised", "not comparable")


@click.command(
    epilog=epilog(
        "history --state-dir /var/lib/innodb-advisor",
        "history --state-dir /var/lib/innodb-advisor --since 7d --result missed",
        "history --state-dir /var/lib/innodb-advisor --since 1h --fail-on harm || echo take it back",
        "history --recording shop.jsonl.gz --rule scan-exceeds-old-sublist --format markdown",
    )
)
@ledger_options
@click.option("--rule", "rules", multiple=True, metavar="ID", help="Of this rule; may be repeated.")
@click.option("--fingerprint", "fingerprints", multiple=True, metavar="ID", help="Of this finding; may be repeated.")
@click.option("--setting", "settings", multiple=True, metavar="NAME", help="Of this setting; may be repeated.")
@click.option(
    "--result", "results", type=click.Choice(_RESULTS), multiple=True, help="With this result; may be repeated."
)
@click.option(
    "--since",
    type=parameters.since,
    metavar="TIME",
    help="Changed, graded or seen since then: 90m, 12h or 7d ago, or a time in UTC such as 2026-11-23T08:00.",
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Outcomes at most, and findings; the newest first.",
)
@format_option("text", "json", "markdown")
@fail_on_option(FAILURES, "a change that is shown did harm; with `missed` also when a promise was missed")
def history(
    *,
    remembered: LedgerOptions,
    rules: tuple[str, ...],
    fingerprints: tuple[str, ...],
    settings: tuple[str, ...],
    results: tuple[str, ...],
    since: datetime | None,
    limit: int,
    style: str,
    fail_on: str | None,
) -> None:
    """Show what became of advice, and of every other change of a setting.

    `serve` remembers each finding that stood, with what it predicted. When a setting that the project knows takes
    another value, advised or not, it measures the same quantities again once the buffer pool has settled:

    \b
      open            the pool settles, or the work is not there yet to compare
      kept            measured as predicted, within the error that the finding stated
      missed          measured, and not as predicted
      unpromised      nobody predicted anything; what got worse is shown all the same
      not comparable  the work changed, or another setting did: nothing can be said

    What got worse after a change is listed with it, and the statements that take it back.

    The directory may be read while `serve` writes to it. Without --state-dir, `serve` remembers in memory, and answers
    with the same at GET /history.
    """  # noqa: D301 - click's mark for lines that stay as they are
    from advisor.cli.ledgers import fails
    from advisor.cli.output import put_answer
    from advisor.contract.settings import SETTINGS
    from advisor.ledger import history as histories
    from advisor.ledger.entry import Result
    from advisor.ledger.ledger import MOST_OUTCOMES
    from advisor.render import outcomes

    for name in settings:
        if name not in SETTINGS:
            raise click.UsageError(f"no setting {name} is known; there are {', '.join(SETTINGS)}")
    ledger = remembered.load("a `serve` without --state-dir answers GET /history")
    history_filter = histories.HistoryFilter(
        rule=list(rules),
        fingerprint=list(fingerprints),
        setting=list(settings),
        result=list(map(Result, results)),
        since=since,
        limit=min(limit, MOST_OUTCOMES),
    )
    answer = histories.history(ledger, history_filter, kept=remembered.recording is None)
    put_answer(answer, style, outcomes.history)
    if fails(answer.outcomes, fail_on):
        sys.exit(FINDINGS)
