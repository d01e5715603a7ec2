"""`grade`: its options."""

from __future__ import annotations

from pathlib import Path

import click

from advisor.cli.exits import epilog
from advisor.cli.lazy import runs
from advisor.cli.options import setup_options
from advisor.cli.parameters import Duration


@click.command(
    epilog=epilog(
        "grade busy-hour.jsonl.gz",
        "grade benchmark.jsonl.gz --window 20s",
        "grade before.jsonl.gz after.jsonl.gz --format json",
        "grade canary.jsonl.gz --fail-on harm || echo take it back",
    )
)
@click.argument("recordings", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RECORDING...")
@setup_options
@click.option(
    "--window",
    type=Duration(),
    default="5m",
    show_default=True,
    help="A change is measured over three windows of this length before it and after it. Shorter ones do for short"
    " recordings of an even load.",
)
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write to this file instead of standard output.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["missed", "harm"]),
    default=None,
    help="Exit with 1 when a change did harm; with `missed` also when a promise was missed.",
)
@runs("advisor.cli.actions.grade.grade")
def grade() -> None:
    """Grade the advice of recordings: what it predicted, and what was measured.

    Replays recordings made by `record` as if the sidecar had watched the server then. The rules judge, and each change
    of a setting opens an outcome. Once the buffer pool has had time to settle, the quantity that a finding promised is
    measured again, and compared by the same work. An outcome is kept or missed; unpromised, where nobody advised the
    value; not comparable, where the work changed; or still open at the end. What got worse beside it is named, with
    the statement that takes the change back.

    A table at the end says for each rule how many promises were kept.

    Recordings that follow each other are one stretch. To grade a change, record before and after it, or all along: the
    pool needs minutes to settle.
    """
