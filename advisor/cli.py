"""The command line."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click

from advisor import engine, rule
from advisor.config import DSN_VARIABLE, Address, Duration, Where
from advisor.recommendation import Advice, Severity
from advisor.source import Replayed, Source, window
from exporter import __version__
from exporter.collectors import COLLECTORS, LIGHT
from exporter.mysql import ServerError
from exporter.recording import Recorder, RecordingError
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


class Unusable(click.ClickException):
    """Bad input: one clear line, and exit code 2."""

    exit_code = UNUSABLE


def rules_directory() -> Path:
    """The rules that came with this installation: inside the wheel, or beside the sources."""
    installed = Path(__file__).parent / "builtin_rules"
    return installed if installed.is_dir() else Path(__file__).parent.parent / "rules"


def where_options(command: Command) -> Command:
    """--dsn, --defaults-file, --password-file, --recording."""
    options = (
        click.option(
            "--dsn", envvar=DSN_VARIABLE, metavar="URL", help="mysql://user@host:port, or mysql://user@/?socket=/path."
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
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=_EXIT_CODES,
)
@click.version_option(__version__, prog_name="innodb-advisor")
def main() -> None:
    r"""Shows what InnoDB is doing, and says which setting to change.

    Reads a MySQL or MariaDB server, never changes it. The account needs PROCESS, and SELECT on
    performance_schema and on mysql.innodb_index_stats; `check` says what is missing.

    \b
    Examples:
      innodb-advisor check  --dsn mysql://advisor@127.0.0.1:3306 --password-file pw
      innodb-advisor advise --defaults-file ~/.my.cnf --watch 5m
      innodb-advisor serve  --defaults-file ~/.my.cnf
    """


@main.command(epilog=_EXIT_CODES)
@where_options
@click.option("--listen", type=Address(), default="127.0.0.1:9747", show_default=True, metavar="HOST:PORT")
@click.option("--interval", type=Duration(), default="10s", show_default=True, help="Time between two collections.")
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
    """
    from advisor import api  # noqa: PLC0415 - FastAPI is only needed here, and not light
    from advisor import serve as http  # noqa: PLC0415

    logging.basicConfig(
        level=logging.DEBUG if verbose else logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    with _clear_errors():
        where = Where.of(**options)
        source: Source = Replayed(where.recording) if where.recording else _sampler(where, interval)
        app = api.create(source, rule.load(rules_directory()))
    host, port = listen
    try:
        listener = http.listen(host, port)
    except OSError as error:
        raise Unusable(f"cannot listen on {host or '*'}:{port}: {error.strerror}") from error
    shown = "127.0.0.1" if host in ("", "0.0.0.0") else f"[{host}]" if ":" in host else host  # noqa: S104
    logging.getLogger("innodb-advisor").info("serving on http://%s:%s/", shown, listener.getsockname()[1])
    http.run(app, listener)


@main.command(epilog=_EXIT_CODES)
@where_options
@click.option("--watch", type=Duration(), default="60s", show_default=True, help="How long to watch a server.")
@click.option("--interval", type=Duration(), default=None, help="Time between two collections; a sixth of --watch.")
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
            source = _sampler(where, min(interval or watch / 6, 10.0))
            _run(_watch(source, watch, "watching"))
        seen = window(source, float("inf"))
        if seen is None:
            raise source.problem or ServerError("nothing was collected")
        advice = engine.advise(rules, seen)
    _print_advice(advice, style)
    _refuse_missing_privileges(seen.latest)
    if fail_on and any(found.severity.rank >= Severity(fail_on).rank for found in advice.recommendations):
        sys.exit(FINDINGS)


@main.command(epilog=_EXIT_CODES)
@where_options
@click.option("--for", "seconds", type=Duration(), default="60s", show_default=True, help="How long to record.")
@click.option("--interval", type=Duration(), default="5s", show_default=True, help="Time between two collections.")
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

    Ctrl-C ends it early; what was recorded until then is kept.
    """
    with _clear_errors():
        where = Where.of(**options)
        if where.recording:
            raise click.UsageError("record needs a server, not a recording")
        try:
            recorder = Recorder(output)
        except OSError as error:
            raise Unusable(f"cannot write {output}: {error.strerror}") from error
        with recorder:
            try:
                _run(_watch(_sampler(where, interval, recorder), seconds, "recording"))
            except KeyboardInterrupt:
                click.echo(f"interrupted; {output} holds what was recorded until now", err=True)
    click.echo(f"{output}: {output.stat().st_size:,} bytes", err=True)


@main.command(epilog=_EXIT_CODES)
@where_options
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
def check(*, style: str, **options: Any) -> None:
    """Say which sources can be read, which rules are blind, and the GRANT that is missing."""
    from advisor import text  # noqa: PLC0415 - rich is only needed to show something to people

    with _clear_errors():
        where = Where.of(**options)
        source: Source = Replayed(where.recording) if where.recording else _sampler(where, 10.0)
        snapshot = _run(_once(source))
        rules = [each for each in rule.load(rules_directory()) if snapshot.server in each.file.applies]
    checks = [
        text.Check(
            source=collector.name,
            ok=None if outcome is None or outcome.failure == "absent" else outcome.failure is None,
            reason=outcome.reason if outcome else "not collected",
            cure=outcome.cure if outcome else None,
            needed_by=tuple(
                r.id for r in rules if collector.name in r.file.needs and snapshot.server in r.file.applies
            ),
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


def _sampler(where: Where, interval: float, keep: Recorder | None = None) -> Sampler:
    assert where.target is not None  # noqa: S101 - Where holds a target or a recording
    return Sampler(where.target, interval=interval, keep=keep)


async def _once(source: Source) -> Snapshot:
    async with _closing(source):
        await source.collect()
        await asyncio.sleep(0.5)  # the light session needs a moment for its first look
        return await source.collect()


async def _watch(source: Source, seconds: float, word: str) -> None:
    """Collect for a while with a progress bar on a terminal. A server that is not there at first is an error."""
    from rich.console import Console  # noqa: PLC0415 - only for people
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    assert isinstance(source, Sampler)  # noqa: S101 - recordings are not watched
    columns = (TextColumn(word), BarColumn(), TimeRemainingColumn())
    progress = Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
    with progress:
        bar = progress.add_task(word, total=seconds)
        async with _closing(source):
            began = time.monotonic()
            await source.collect()
            running = asyncio.create_task(source.run())
            try:
                while (elapsed := time.monotonic() - began) < seconds:
                    progress.update(bar, completed=elapsed)
                    await asyncio.sleep(min(0.25, seconds - elapsed))
                await source.collect()  # what happened since the last one counts
            finally:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)


@contextlib.asynccontextmanager
async def _closing(source: Source) -> AsyncIterator[None]:
    try:
        yield
    finally:
        if isinstance(source, Sampler):
            await source.close()


Returned = TypeVar("Returned")


def _run(work: Coroutine[Any, Any, Returned]) -> Returned:
    """asyncio.run, with SIGTERM meaning the same as Ctrl-C."""

    async def interruptible() -> Returned:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine runs in one
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await work

    try:
        return asyncio.run(interruptible())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


@contextlib.contextmanager
def _clear_errors() -> Iterator[None]:
    try:
        yield
    except (TargetError, ServerError, RecordingError, rule.RuleError) as error:
        raise Unusable(str(error)) from error
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        sys.exit(INTERRUPTED)


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
