"""What the commands share: how they end, where they look, by which rules, and the window they look at."""

from __future__ import annotations

import contextlib
import errno
import functools
import io
import logging
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from advisor.cli.options import CONFIG_VARIABLE, DSN_VARIABLE, RULES_VARIABLE, Duration, Interval, Size, Where

if TYPE_CHECKING:  # each command imports what it needs; --help needs next to nothing
    from advisor.observe.source import Replayed
    from advisor.observe.window import Window
    from advisor.rules.configuration import ServerMachine
    from advisor.rules.rulebook import Rulebook
    from advisor.rules.suppression import Suppression
    from exporter.sampling.sampler import Sampler
    from exporter.snapshot import Snapshot, Storage

Command = TypeVar("Command", bound=Callable[..., Any])

FINDINGS, UNUSABLE, INTERRUPTED = 1, 2, 130
_EXIT_CODES = """

\b
Exit codes:
  0    done
  1    --fail-on found something (advise), a source cannot be read (check), a case failed (rules test)
  2    the input cannot be used: the message says why
  130  interrupted
"""


log = logging.getLogger("innodb-advisor")


@dataclass(frozen=True, slots=True)
class Setup:
    """What the configuration file and the options say together: options win over the file.

    Attributes:
        book: The rules and what is suppressed.
        machine: The server's, as far as it was told.
    """

    book: Rulebook
    machine: ServerMachine


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


def rules_options(command: Command) -> Command:
    """--config and --rules; the command gets ``setup``."""
    return _with_setup(command, _RULES)


def setup_options(command: Command) -> Command:
    """--config, --rules, --suppress, --cores, --memory and --storage; the command gets ``setup``."""
    return _with_setup(command, (*_RULES, *_SETUP))


def _with_setup(command: Command, options: Sequence[Callable[[Command], Command]]) -> Command:
    @functools.wraps(command)
    def with_setup(
        *,
        config: Path | None,
        rules: Path | None,
        suppress: Sequence[str] = (),
        cores: float | None = None,
        memory: int | None = None,
        storage: Storage | None = None,
        **others: Any,
    ) -> Any:
        with clear_errors():
            told = {"cores": cores, "memory": memory, "storage": storage}
            return command(setup=_setup(config, rules, suppress, told), **others)

    for option in reversed(options):
        with_setup = option(with_setup)
    return with_setup  # type: ignore[return-value]


def _setup(config: Path | None, rules: Path | None, suppress: Sequence[str], told: dict[str, Any]) -> Setup:
    from advisor.rules import configuration  # noqa: PLC0415 - as above
    from advisor.rules.rulebook import Rulebook, builtin_directory, warn_of_unknown  # noqa: PLC0415

    found = configuration.Configuration() if config is None else configuration.load(config)
    if "" in suppress:
        raise click.UsageError("--suppress needs a rule or the fingerprint of a recommendation")
    if not math.isfinite(told["cores"] or 0.0):
        raise click.UsageError("--cores needs a number such as 8")
    given = tuple(configuration.suppression(each, "by --suppress") for each in suppress)

    def suppressions() -> Sequence[Suppression]:
        if config is None:
            return given
        now = configuration.load(config)
        if (now.server, now.rules) != (found.server, found.rules):
            log.warning("%s: server and rules take effect at the next start", config)
        return (*given, *now.suppress)

    book = Rulebook(builtin_directory(), rules or found.rules, suppressions, config)
    warn_of_unknown(book)
    known = {name: value for name, value in told.items() if value is not None}
    return Setup(book, found.server.model_copy(update=known))


_RULES = (
    click.option(
        "--config",
        type=click.Path(path_type=Path),
        envvar=CONFIG_VARIABLE,
        metavar="FILE",
        help=f"A configuration file (YAML: server, suppress, rules); also ${CONFIG_VARIABLE}. Options win over it.",
    ),
    click.option(
        "--rules",
        type=click.Path(path_type=Path),
        envvar=RULES_VARIABLE,
        metavar="DIR",
        help=f"Your own rules, over the built-in ones; also ${RULES_VARIABLE}.",
    ),
)
_SETUP = (
    click.option(
        "--suppress",
        multiple=True,
        metavar="ID",
        help="A rule, or the fingerprint of a recommendation, that is not wanted; may be repeated.",
    ),
    click.option(
        "--cores",
        type=click.FloatRange(min=0, min_open=True),
        metavar="NUMBER",
        help="Cores of the server's machine or container, where they cannot be seen from here.",
    ),
    click.option(
        "--memory",
        type=Size(),
        metavar="SIZE",
        help="Its memory, such as 16G.",
    ),
    click.option(
        "--storage",
        type=click.Choice(["ssd", "hdd"]),
        help="What its data folder lies on.",
    ),
)


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


def source(where: Where, interval: float, machine: ServerMachine, **options: Any) -> Replayed | Sampler:
    """Where snapshots come from: a recording, or a server that is looked at every ``interval`` seconds.

    Raises:
        RecordingError: The recording cannot be used.
    """
    if where.recording is None:
        from exporter.sampling.sampler import Sampler  # noqa: PLC0415 - as above

        return Sampler(where.server, interval=interval, machine=machine.configured, **options)
    from advisor.observe.source import Replayed  # noqa: PLC0415

    replayed = Replayed(where.recording)
    replayed.history = [machine.told(snapshot) for snapshot in replayed.history]
    return replayed


def watched(
    where: Where,
    watch: float,
    interval: float | None,
    machine: ServerMachine | None = None,
) -> Window:
    """What a recording holds, or what a server did while it was watched.

    Raises:
        ServerError, RecordingError: There is nothing to look at.
    """
    from advisor.observe import watching  # noqa: PLC0415 - as above
    from advisor.observe.source import window  # noqa: PLC0415
    from advisor.rules.configuration import ServerMachine  # noqa: PLC0415
    from exporter.connection.errors import ServerError  # noqa: PLC0415
    from exporter.sampling.sampler import Sampler  # noqa: PLC0415

    found = source(where, interval or min(watch / 6, 10.0), machine or ServerMachine(), history_seconds=2 * watch)
    if isinstance(found, Sampler):
        watching.run(watching.watch(found, watch, "watching"))
    seen = window(found, float("inf"))
    if seen is None:
        raise found.problem or ServerError("nothing was collected")
    return seen


@contextlib.contextmanager
def clear_errors() -> Iterator[None]:
    """What the input got wrong ends a command with one clear line."""
    try:
        yield
    except _of_the_input() as error:
        raise Unusable(str(error)) from error


def _of_the_input() -> tuple[type[Exception], ...]:
    from advisor.files.yaml_file import FileError  # noqa: PLC0415 - as above
    from exporter.connection.errors import ServerError  # noqa: PLC0415
    from exporter.connection.target import TargetError  # noqa: PLC0415
    from exporter.recording.file import RecordingError  # noqa: PLC0415

    return TargetError, ServerError, RecordingError, FileError


def refuse_missing_privileges(snapshot: Snapshot) -> None:
    """Exit with 2 and the GRANTs where the account may not read something."""
    cures = {o.cure for o in snapshot.outcomes.values() if o.failure == "privilege" and o.cure}
    if cures:
        raise Unusable(
            f"{snapshot.account} may not read everything; as an administrator run\n"
            + "\n".join(f"  {cure};" for cure in sorted(cures))
        )
