"""`history`: its options."""

from __future__ import annotations

from pathlib import Path

import click

from advisor.cli.exits import epilog
from advisor.cli.lazy import runs
from advisor.cli.options import DSN_VARIABLE, state_option
from advisor.cli.parameters import Since

_RESULTS = ("open", "kept", "missed", "unpromised", "not comparable")


@click.command(
    epilog=epilog(
        "history --state-dir /var/lib/innodb-advisor",
        "history --state-dir /var/lib/innodb-advisor --since 7d --result missed",
        "history --state-dir /var/lib/innodb-advisor --since 1h --fail-on harm || echo take it back",
        "history --recording shop.jsonl.gz --rule scan-exceeds-old-sublist --format markdown",
    )
)
@state_option("The directory that `serve` keeps its state in")
@click.option(
    "--dsn",
    metavar="URL",
    help=f"The server, where the directory has the history of several; also ${DSN_VARIABLE}. It is not connected to.",
)
@click.option(
    "--defaults-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The same, from an option file with a [client] section.",
)
@click.option(
    "--recording",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A recording made by `record --state-dir`, instead of a directory.",
)
@click.option("--rule", "rules", multiple=True, metavar="ID", help="Of this rule; may be repeated.")
@click.option("--fingerprint", "fingerprints", multiple=True, metavar="ID", help="Of this finding; may be repeated.")
@click.option("--setting", "settings", multiple=True, metavar="NAME", help="Of this setting; may be repeated.")
@click.option(
    "--result", "results", type=click.Choice(_RESULTS), multiple=True, help="With this result; may be repeated."
)
@click.option(
    "--since",
    type=Since(),
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
@click.option("--format", "style", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True)
@click.option(
    "--fail-on",
    type=click.Choice(["missed", "harm"]),
    default=None,
    help="Exit with 1 when a change that is shown did harm; with `missed` also when a promise was missed.",
)
@runs("advisor.cli.actions.history.history")
def history() -> None:
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
