"""What the commands share: how they end, where they look, and the window they look at."""

from __future__ import annotations

import contextlib
import errno
import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click

from advisor import watching
from advisor.config import DSN_VARIABLE, Duration, Interval, Where
from advisor.source import Replayed, Source, window
from advisor.window import Window
from advisor.yamlfile import FileError
from exporter.mysql import ServerError
from exporter.recording import RecordingError
from exporter.sampler import Sampler
from exporter.snapshot import Snapshot
from exporter.target import TargetError

Command = TypeVar("Command", bound=Callable[..., Any])

FINDINGS, UNUSABLE, INTERRUPTED = 1, 2, 130
_EXIT_CODES = """

\b
Exit codes:
  0    done
  1    --fail-on found something (advise), or a source cannot be read (check)
  2    the input cannot be used: the message says why
  130  interrupted
"""


def ending(*examples: str) -> str:
    """What ends a command's help. Without the marks click would fill the lines up."""
    lines = "\n".join(f"  innodb-advisor {example}" for example in examples)
    return f"\b\nExamples:\n{lines}\n{_EXIT_CODES}"


class Unusable(click.ClickException):
    """Bad input: one clear line, and exit code 2."""

    exit_code = UNUSABLE


class Program(click.Group):
    """The commands, and what may happen in any of them."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")  # a terminal of another character set is no reason to fail
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            sys.exit(INTERRUPTED)
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # whoever read the output has seen enough; click ends quietly
            raise Unusable(f"cannot write the output: {error.strerror or error}") from error


def where_options(command: Command) -> Command:
    """--dsn, --defaults-file, --password-file, --recording."""
    options = (
        click.option(
            "--dsn",
            metavar="URL",
            help=f"mysql://user@host:port, or mysql://user@/?socket=/path. It may also stand in ${DSN_VARIABLE}.",
        ),
        click.option(
            "--defaults-file",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="An option file with a [client] section, the one that mysqld_exporter reads.",
        ),
        click.option(
            "--password-file",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="A file that holds the password. It may also stand in $INNODB_ADVISOR_PASSWORD or the defaults file.",
        ),
        click.option(
            "--recording",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Look at a recording made by `record` instead of a server.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def watch_options(command: Command) -> Command:
    """--watch and --interval, for commands that watch a server for a while."""
    options = (
        click.option("--watch", type=Duration(), default="60s", show_default=True, help="How long to watch a server."),
        click.option(
            "--interval",
            type=Interval(),
            default=None,
            help="Time between two collections; by default a sixth of --watch, 10s at most.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def watched(where: Where, watch: float, interval: float | None) -> Window:
    """What a recording holds, or what a server did while it was watched.

    Raises:
        ServerError, RecordingError: There is nothing to look at.
    """
    if where.recording:
        source: Source = Replayed(where.recording)
    else:
        every = interval or min(watch / 6, 10.0)
        source = sampler = Sampler(where.server, interval=every, history_seconds=2 * watch)
        watching.run(watching.watch(sampler, watch, "watching"))
    seen = window(source, float("inf"))
    if seen is None:
        raise source.problem or ServerError("nothing was collected")
    return seen


@contextlib.contextmanager
def clear_errors() -> Iterator[None]:
    """What the input got wrong ends a command with one clear line."""
    try:
        yield
    except (TargetError, ServerError, RecordingError, FileError) as error:
        raise Unusable(str(error)) from error


def refuse_missing_privileges(snapshot: Snapshot) -> None:
    """Exit with 2 and the GRANTs where the account may not read something."""
    cures = {o.cure for o in snapshot.outcomes.values() if o.failure == "privilege" and o.cure}
    if cures:
        raise Unusable(
            f"{snapshot.account} may not read everything; as an administrator run\n"
            + "\n".join(f"  {cure};" for cure in sorted(cures))
        )
