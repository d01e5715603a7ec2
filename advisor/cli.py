"""The command line."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click

from advisor import engine, rule, watching
from advisor.config import DSN_VARIABLE, Address, Duration, Interval, Where
from advisor.recommendation import Advice, Severity
from advisor.source import Replayed, Source, window
from exporter import __version__
from exporter.collectors import COLLECTORS, LIGHT
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


def _ending(*examples: str) -> str:
    """What ends a command's help. Without the marks click would fill the lines up."""
    lines = "\n".join(f"  innodb-advisor {example}" for example in examples)
    return f"\b\nExamples:\n{lines}\n{_EXIT_CODES}"


class Unusable(click.ClickException):
    """Bad input: one clear line, and exit code 2."""

    exit_code = UNUSABLE


class _Program(click.Group):
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


def rules_directory() -> Path:
    """The rules that came with this installation: inside the wheel, or beside the sources."""
    installed = Path(__file__).parent / "builtin_rules"
    return installed if installed.is_dir() else Path(__file__).parent.parent / "rules"


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


@click.group(
    cls=_Program,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=_ending(
        "check  --dsn mysql://advisor@127.0.0.1:3306 --password-file pw",
        "advise --defaults-file ~/.my.cnf --watch 5m",
        "serve  --defaults-file ~/.my.cnf",
    ),
)
@click.version_option(__version__, prog_name="innodb-advisor")
def main() -> None:
    """Shows what InnoDB is doing, and says which setting to change.

    Reads a MySQL or MariaDB server, never changes it. The account needs PROCESS, and SELECT on
    performance_schema and on mysql.innodb_index_stats; `check` says what is missing.
    """


@main.command(
    epilog=_ending(
        "serve --dsn mysql://advisor@127.0.0.1:3306 --password-file pw",
        "serve --defaults-file ~/.my.cnf --listen :9747",
        "serve --recording busy-hour.jsonl.gz",
    )
)
@where_options
@click.option(
    "--listen",
    type=Address(),
    default="127.0.0.1:9747",
    show_default=True,
    metavar="HOST:PORT",
    help="Where to listen; :9747 is every address of this machine.",
)
@click.option("--interval", type=Interval(), default="10s", show_default=True, help="Time between two collections.")
@click.option("-v", "--verbose", is_flag=True, help="Log more.")
def serve(
    *,
    listen: tuple[str, int],
    interval: float,
    verbose: bool,
    **options: Any,
) -> None:
    """Serve /metrics, /advise and a page, and keep watching.

    Lives on while the server is away or refuses the login, and says so in /readyz, innodb_up and its log.
    SIGINT or SIGTERM ends it.
    """
    from advisor import api  # noqa: PLC0415 - FastAPI is only needed here, and not light
    from advisor import serve as http  # noqa: PLC0415

    logging.basicConfig(
        level=logging.DEBUG if verbose else logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    with _clear_errors():
        where = Where.of(**options)
        app = api.create(_source(where, interval), rule.load(rules_directory()))
    host, port = listen
    try:
        listener = http.listen(host, port)
    except OSError as error:
        reason = str(error.strerror or error).partition(" (while")[0]  # Python appends the address again
        raise Unusable(f"cannot listen on {host or '*'}:{port}: {reason}") from error
    shown = "127.0.0.1" if host in ("", "0.0.0.0") else f"[{host}]" if ":" in host else host  # noqa: S104
    logging.getLogger("innodb-advisor").info("serving on http://%s:%s/", shown, listener.getsockname()[1])
    http.run(app, listener)


@main.command(
    epilog=_ending(
        "advise --defaults-file ~/.my.cnf --watch 5m",
        "advise --recording busy-hour.jsonl.gz --format json",
        "advise --defaults-file ~/.my.cnf --fail-on warning || echo look at this",
    )
)
@where_options
@click.option("--watch", type=Duration(), default="60s", show_default=True, help="How long to watch a server.")
@click.option(
    "--interval",
    type=Interval(),
    default=None,
    help="Time between two collections; by default a sixth of --watch, 10s at most.",
)
@click.option("--format", "style", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True)
@click.option(
    "--fail-on",
    type=click.Choice([severity.value for severity in Severity]),
    default=None,
    help="Exit with 1 when there is advice of this severity or worse.",
)
def advise(
    *,
    watch: float,
    interval: float | None,
    style: str,
    fail_on: str | None,
    **options: Any,
) -> None:
    """Watch for a while, then say what to change.

    Rules look at what happens while they watch: let --watch span at least two runs of what you wonder about.
    """
    with _clear_errors():
        where = Where.of(**options)
        rules = rule.load(rules_directory())
        if where.recording:
            source: Source = Replayed(where.recording)
        else:
            every = interval or min(watch / 6, 10.0)
            source = sampler = Sampler(where.server, interval=every, history_seconds=2 * watch)
            watching.run(watching.watch(sampler, watch, "watching"))
        seen = window(source, float("inf"))
        if seen is None:
            raise source.problem or ServerError("nothing was collected")
        advice = engine.advise(rules, seen)
    _print_advice(advice, style)
    _refuse_missing_privileges(seen.latest)
    if fail_on and any(found.severity.rank >= Severity(fail_on).rank for found in advice.recommendations):
        sys.exit(FINDINGS)


@main.command(epilog=_ending("record --defaults-file ~/.my.cnf --for 10m -o busy-hour.jsonl.gz"))
@where_options
@click.option("--for", "seconds", type=Duration(), default="60s", show_default=True, help="How long to record.")
@click.option("--interval", type=Interval(), default="5s", show_default=True, help="Time between two collections.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="JSON lines; compressed where the name ends in .gz.",
)
def record(
    *,
    seconds: float,
    interval: float,
    output: Path,
    **options: Any,
) -> None:
    """Write what every query returns to a file that serve and advise can replay.

    Ctrl-C ends it early, with exit code 0: what was recorded until then is kept.
    """
    with _clear_errors():
        where = Where.of(**options)
        if where.recording:
            raise click.UsageError("record needs a server, not a recording")
        try:
            ended = watching.record(where.server, interval=interval, seconds=seconds, output=output)
        except OSError as error:
            raise Unusable(f"cannot write {output}: {error.strerror}") from error
        if ended is not None:
            word = "interrupted" if isinstance(ended, KeyboardInterrupt) else "ended early"
            click.echo(f"{word}; {output} holds what was recorded until now", err=True)
        if isinstance(ended, ServerError):
            raise ended
    click.echo(f"{output}: {output.stat().st_size:,} bytes", err=True)


@main.command(
    epilog=_ending(
        "check --dsn mysql://advisor@127.0.0.1:3306 --password-file pw",
        "check --defaults-file ~/.my.cnf --format json",
    )
)
@where_options
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
def check(*, style: str, **options: Any) -> None:
    """Say what can be read, which rules are blind, and the GRANT that is missing."""
    from advisor import text  # noqa: PLC0415 - rich is only needed to show something to people

    with _clear_errors():
        where = Where.of(**options)
        snapshot = watching.run(watching.once(_source(where, 10.0)))
        rules = [each for each in rule.load(rules_directory()) if snapshot.server in each.file.applies]
    checks = [
        text.Check(
            source=collector.name,
            ok=None if outcome is None or outcome.failure == "absent" else outcome.failure is None,
            reason=outcome.reason if outcome else "not collected",
            cure=outcome.cure if outcome else None,
            needed_by=tuple(each.id for each in rules if collector.name in each.file.needs),
        )
        for collector in (*COLLECTORS, LIGHT)
        for outcome in [snapshot.outcomes.get(collector.name)]
    ]
    if style == "json":
        server = f"{snapshot.server.flavour} {snapshot.server.version_text}"
        sources = [{name: getattr(each, name) for name in text.Check.__slots__} for each in checks]
        click.echo(json.dumps({"server": server, "account": snapshot.account, "sources": sources}, indent=2))
    else:
        click.echo(f"{snapshot.server.flavour} {snapshot.server.version_text}, as {snapshot.account}")
        text.print_checks(text.console(), checks)
    _refuse_missing_privileges(snapshot)
    if any(each.ok is False for each in checks):
        sys.exit(FINDINGS)


def _source(where: Where, interval: float) -> Source:
    return Replayed(where.recording) if where.recording else Sampler(where.server, interval=interval)


@contextlib.contextmanager
def _clear_errors() -> Iterator[None]:
    try:
        yield
    except (TargetError, ServerError, RecordingError, rule.RuleError) as error:
        raise Unusable(str(error)) from error


def _print_advice(advice: Advice, style: str) -> None:
    from advisor import text  # noqa: PLC0415 - rich is only needed to show something to people

    match style:
        case "json":
            click.echo(advice.model_dump_json(by_alias=True, indent=2))
        case "markdown":
            click.echo(text.markdown(advice))
        case _:
            text.print_advice(text.console(), advice)


def _refuse_missing_privileges(snapshot: Snapshot) -> None:
    """Exit with 2 and the GRANTs where the account may not read something."""
    cures = {o.cure for o in snapshot.outcomes.values() if o.failure == "privilege" and o.cure}
    if cures:
        raise Unusable(
            f"{snapshot.account} may not read everything; as an administrator run\n"
            + "\n".join(f"  {cure};" for cure in sorted(cures))
        )


if __name__ == "__main__":
    main()
