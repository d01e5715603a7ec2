"""`grade`: the replay of recordings, and what became of their advice."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from advisor.cli import parameters
from advisor.cli.options import FAILURES, SetupOptions, fail_on_option, format_option, output_option, setup_options
from advisor.cli.output import FINDINGS, epilog

if TYPE_CHECKING:
    from advisor.ledger.grades import GradedStretch


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
    type=parameters.duration,
    default="5m",
    show_default=True,
    help="A change is measured over three windows of this length before it and after it. Shorter ones do for short"
    " recordings of an even load.",
)
@format_option("text", "json")
@output_option
@fail_on_option(FAILURES, "a change did harm; with `missed` also when a promise was missed")
def grade(
    *,
    recordings: tuple[Path, ...],
    setup: SetupOptions,
    window: float,
    style: str,
    output: Path | None,
    fail_on: str | None,
) -> None:
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
    from advisor.cli.ledgers import fails
    from advisor.cli.output import put_answer, writable
    from advisor.ledger.grades import grades
    from advisor.render import outcomes as documents

    writable(output)
    graded = grades(_stretches(recordings, setup, window))
    put_answer(graded, style, documents.grades, output)
    if fails(graded.outcomes, fail_on):
        sys.exit(FINDINGS)


def _stretches(recordings: Sequence[Path], setup: SetupOptions, window: float) -> Iterator[GradedStretch]:
    """The recordings in the order of their time; one that goes on where the last one ended belongs to its stretch."""
    from advisor.advice.replay import Replaying
    from advisor.cli.output import progress_bar
    from advisor.ledger.ledger import Ledger
    from advisor.observe.source import Replay
    from exporter.collectors.machine import configure

    rules, machine = setup.load()
    replaying, names = None, list[str]()
    for path in sorted(recordings, key=_begin):
        history = [configure(snapshot, machine.configured) for snapshot in Replay(path).history]
        if replaying is not None and not replaying.continues(history[0]):
            yield replaying.stretch(names)
            replaying, names = None, []
        replaying = replaying or Replaying(rules.rule_set, Ledger(window_seconds=window), setup.may_read)
        names.append(path.name)
        with progress_bar(path.name, history[-1].at - history[0].at) as progress:
            for at in replaying.replay(history):
                progress(at - history[0].at)
    if replaying is not None:
        yield replaying.stretch(names)


def _begin(recording: Path) -> float:
    """Time of its first collection, Unix seconds; infinite where it has none."""
    from exporter.recording.file import replay

    first = next(replay(recording), None)
    return float("inf") if first is None else first.at
