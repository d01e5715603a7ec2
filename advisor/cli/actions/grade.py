"""`grade`: the replay of recordings, and what became of their advice."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from advisor.advice.replay import Replaying
from advisor.cli.actions.output import writable, write
from advisor.cli.actions.progress import progress_bar
from advisor.cli.actions.setup import Setup, load_setup
from advisor.cli.exits import FINDINGS
from advisor.cli.options import SetupOptions
from advisor.contract.json_text import json_of
from advisor.ledger.entry import Result
from advisor.ledger.grades import Grades, Stretch, grades
from advisor.ledger.ledger import Ledger
from advisor.observe.source import Replay
from exporter.collectors.machine import configure
from exporter.recording.file import replay


def grade(
    *,
    recordings: tuple[Path, ...],
    setup: SetupOptions,
    window: float,
    style: str,
    output: Path | None,
    fail_on: str | None,
) -> None:
    """Print the outcomes and the promises by rule; exit with 1 where --fail-on applies.

    Raises:
        Unusable: The file cannot be written.
        RecordingError, FileError: A file cannot be used.
    """
    writable(output)
    loaded = load_setup(setup)
    found = grades(_stretches(recordings, loaded, setup.may_read, window))
    if output is not None:
        write(output, _written(found, style))
    elif style == "text":
        from advisor.render import grades_text, terminal  # noqa: PLC0415 - only text needs rich

        grades_text.print_grades(terminal.console(), found)
    else:
        click.echo(_written(found, style), nl=False)
    if fails(found, fail_on):
        sys.exit(FINDINGS)


def _stretches(recordings: Sequence[Path], setup: Setup, may_read: float, window: float) -> Iterator[Stretch]:
    """The recordings in the order of their time; one that goes on where the last one ended belongs to its stretch."""
    replaying, names = None, list[str]()
    for path in sorted(recordings, key=_begin):
        history = [configure(each, setup.machine.configured) for each in Replay(path).history]
        if replaying is not None and not replaying.continues(history[0]):
            yield replaying.stretch(names)
            replaying, names = None, []
        replaying = replaying or Replaying(setup.book.rule_set, Ledger(window_seconds=window), may_read)
        names.append(path.name)
        with progress_bar(path.name, history[-1].at - history[0].at) as progress:
            for at in replaying.replay(history):
                progress(at - history[0].at)
    if replaying is not None:
        yield replaying.stretch(names)


def _begin(recording: Path) -> float:
    """Time of its first collection, Unix seconds; infinite where it has none."""
    first = next(replay(recording), None)
    return math.inf if first is None else first.at


def _written(found: Grades, style: str) -> str:
    if style == "json":
        return json_of(found, indent=2) + "\n"
    from advisor.render import grades_text  # noqa: PLC0415 - as above

    return grades_text.plain(found)


def fails(found: Grades, fail_on: str | None) -> bool:
    """Whether --fail-on applies."""
    harm = any(each.harm for each in found.outcomes)
    missed = any(each.result is Result.MISSED for each in found.outcomes)
    return (fail_on is not None and harm) or (fail_on == "missed" and missed)
