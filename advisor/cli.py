"""The command line."""

from __future__ import annotations

import json
import logging
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import click

from advisor import ask, engine, rules_command, watching
from advisor.command import (
    FINDINGS,
    Program,
    Setup,
    Unusable,
    clear_errors,
    ending,
    log,
    refuse_missing_privileges,
    setup_options,
    source,
    watch_options,
    watched,
    where_options,
)
from advisor.config import Address, Duration, Interval, Where
from advisor.recommendation import Advice, Severity
from advisor.rulebook import Rulebook, warn_of_unknown
from advisor.yamlfile import FileError
from exporter import __version__
from exporter.collectors import COLLECTORS, LIGHT
from exporter.mysql import ServerError


@click.group(
    cls=Program,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=ending(
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
    epilog=ending(
        "serve --dsn mysql://advisor@127.0.0.1:3306 --password-file pw",
        "serve --defaults-file ~/.my.cnf --listen :9747",
        "serve --defaults-file ~/.my.cnf --config advisor.yaml --rules ./my-rules",
        "serve --recording busy-hour.jsonl.gz",
    )
)
@where_options
@setup_options
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
    setup: Setup,
    listen: tuple[str, int],
    interval: float,
    verbose: bool,
    **options: Any,
) -> None:
    """Serve /metrics, /advise and a page, and keep watching.

    Lives on while the server is away or refuses the login, and says so in /readyz, innodb_up and its log.
    SIGHUP, as POST /-/reload, loads rules and suppressions anew; while one of their files is broken the old ones stay.
    SIGINT or SIGTERM ends it.
    """
    from advisor import api  # noqa: PLC0415 - FastAPI is only needed here, and not light
    from advisor import serve as http  # noqa: PLC0415

    logging.basicConfig(
        level=logging.DEBUG if verbose else logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    app = api.create(source(Where.of(**options), interval, setup.machine), setup.book)
    host, port = listen
    try:
        listener = http.listen(host, port)
    except OSError as error:
        reason = str(error.strerror or error).partition(" (while")[0]  # Python appends the address again
        raise Unusable(f"cannot listen on {host or '*'}:{port}: {reason}") from error
    shown = "127.0.0.1" if host in ("", "0.0.0.0") else f"[{host}]" if ":" in host else host  # noqa: S104
    _reload_on_hangup(setup.book)
    log.info("serving on http://%s:%s/", shown, listener.getsockname()[1])
    http.run(app, listener)


def _reload_on_hangup(book: Rulebook) -> None:
    def reload() -> None:
        try:
            book.reload()
        except FileError as error:
            log.error("not loaded, the old rules stay in force: %s", error)
        else:
            log.info("loaded %d rules and %d suppressions", len(book.rules), len(book.suppressions))
            warn_of_unknown(book)

    # In a thread of its own: checking rules takes a moment, in which scrapes go on.
    signal.signal(signal.SIGHUP, lambda *_: threading.Thread(target=reload, name="reload").start())


@main.command(
    epilog=ending(
        "advise --defaults-file ~/.my.cnf --watch 5m",
        "advise --recording busy-hour.jsonl.gz --format json",
        "advise --defaults-file ~/.my.cnf --fail-on warning || echo look at this",
        "advise --defaults-file ~/.my.cnf --rules ./my-rules --suppress warmup-disabled --memory 16G",
    )
)
@where_options
@setup_options
@watch_options
@click.option("--format", "style", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True)
@click.option(
    "--fail-on",
    type=click.Choice([severity.value for severity in Severity]),
    default=None,
    help="Exit with 1 when there is advice of this severity or worse.",
)
def advise(
    *,
    setup: Setup,
    watch: float,
    interval: float | None,
    style: str,
    fail_on: str | None,
    **options: Any,
) -> None:
    """Watch for a while, then say what to change.

    Rules look at what happens while they watch: let --watch span at least two runs of what you wonder about.
    """
    seen = watched(Where.of(**options), watch, interval, setup.machine)
    advice = engine.advise(setup.book.rules, seen, suppressions=setup.book.suppressions)
    _print_advice(advice, style)
    refuse_missing_privileges(seen.latest)
    if fail_on and any(found.severity.rank >= Severity(fail_on).rank for found in advice.recommendations):
        sys.exit(FINDINGS)


@main.command(epilog=ending("record --defaults-file ~/.my.cnf --for 10m -o busy-hour.jsonl.gz"))
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
    with clear_errors():
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
    epilog=ending(
        "check --dsn mysql://advisor@127.0.0.1:3306 --password-file pw",
        "check --defaults-file ~/.my.cnf --format json",
    )
)
@where_options
@setup_options
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
def check(*, setup: Setup, style: str, **options: Any) -> None:
    """Say what can be read, which rules are blind, and the GRANT that is missing."""
    from advisor import text  # noqa: PLC0415 - rich is only needed to show something to people

    snapshot = watching.run(watching.once(source(Where.of(**options), 10.0, setup.machine)))
    rules = [each for each in setup.book.rules if snapshot.server in each.file.applies]
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
    refuse_missing_privileges(snapshot)
    if any(each.ok is False for each in checks):
        sys.exit(FINDINGS)


def _print_advice(advice: Advice, style: str) -> None:
    from advisor import text  # noqa: PLC0415 - rich is only needed to show something to people

    match style:
        case "json":
            click.echo(advice.model_dump_json(by_alias=True, indent=2))
        case "markdown":
            click.echo(text.markdown(advice))
        case _:
            text.print_advice(text.console(), advice)


main.add_command(ask.whatif)
main.add_command(ask.lru)
main.add_command(rules_command.rules)

if __name__ == "__main__":
    main()
