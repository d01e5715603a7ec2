"""The command line."""

from __future__ import annotations

import contextlib
import json
import logging
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from advisor.cli import model_commands, rules
from advisor.cli.alerting_options import Alerting, alerting_options
from advisor.cli.command import (
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
from advisor.cli.options import STATE_VARIABLE, Address, Duration, Interval, Where
from exporter import __version__

if TYPE_CHECKING:  # each command imports what it needs; --help needs next to nothing
    from collections.abc import Callable, Iterable

    from prometheus_client.core import Metric

    from advisor.contract.recommendation import Advice
    from advisor.rules.rulebook import Rulebook

_SEVERITIES = ("info", "warning", "critical")
_SWITCH_SECONDS = 0.001
"""A model that is asked lets a scrape go on after so long, at each of a scrape's dozen waits; Python's 5 ms add up."""


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
        "serve --defaults-file ~/.my.cnf --alertmanager http://alertmanager:9093",
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
@click.option(
    "--web-config",
    type=click.Path(path_type=Path),
    envvar="INNODB_ADVISOR_WEB_CONFIG",
    metavar="FILE",
    help="TLS and logins, in the format of Prometheus' exporter-toolkit; also $INNODB_ADVISOR_WEB_CONFIG.",
)
@click.option("--interval", type=Interval(), default="10s", show_default=True, help="Time between two collections.")
@click.option(
    "--statement-timeout",
    type=Duration(),
    default="5s",
    show_default=True,
    help="How long a statement may take; what takes longer is left alone for a while.",
)
@click.option(
    "--collect-lru-pages",
    is_flag=True,
    help="Also count each index's old and young pages, once in ten minutes: holds up a busy server for a moment.",
)
@click.option("--collect-lru-pages-anyway", is_flag=True, help="The same, even of a buffer pool of more than 10 GiB.")
@click.option(
    "--state-dir",
    type=click.Path(file_okay=False, path_type=Path),
    envvar=STATE_VARIABLE,
    metavar="DIR",
    help=f"Keep the history here, so that it outlives a restart of the sidecar; also ${STATE_VARIABLE}.",
)
@click.option(
    "--compat",
    type=click.Choice(["mysqld-exporter"]),
    help="Also expose what is InnoDB's under that exporter's names, for dashboards and alerts that use them.",
)
@alerting_options
@click.option("-v", "--verbose", is_flag=True, help="Log more.")
def serve(
    *,
    setup: Setup,
    alerting: Alerting,
    listen: tuple[str, int],
    web_config: Path | None,
    interval: float,
    statement_timeout: float,
    collect_lru_pages: bool,
    collect_lru_pages_anyway: bool,
    state_dir: Path | None,
    compat: str | None,
    verbose: bool,
    **options: Any,
) -> None:
    """Serve /metrics, /advise and a page, and keep watching.

    Lives on while the server is away or refuses the login, and says so in /readyz, innodb_up and its log.
    Rules and suppressions are loaded anew when their files change, and at SIGHUP or POST /-/reload; while a file is
    broken the old ones stay.
    SIGINT or SIGTERM ends it.
    """
    from advisor import footprint  # noqa: PLC0415 - as above
    from advisor.http import app as application  # noqa: PLC0415 - as above
    from advisor.http import server as http  # noqa: PLC0415
    from advisor.http.guard import Guard  # noqa: PLC0415
    from advisor.http.web_configuration_in_force import Web  # noqa: PLC0415
    from exporter import metrics  # noqa: PLC0415
    from exporter.collectors import COLLECTORS, lru_pages, metric_kinds  # noqa: PLC0415

    logging.basicConfig(
        level=logging.DEBUG if verbose else logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    web = None if web_config is None else Web(web_config)
    collectors = COLLECTORS
    if collect_lru_pages or collect_lru_pages_anyway:
        collectors += (lru_pages.ANYWAY if collect_lru_pages_anyway else lru_pages.COLLECTOR,)
    exposed = metrics.families
    if compat:
        from exporter import mysqld_exporter_names as peer  # noqa: PLC0415 - few want it

        collectors += (metric_kinds.COLLECTOR,)
        exposed = peer.families
    where = Where.of(**options)
    # The history is in no variable here: it would be kept for good.
    history, own = _history(state_dir, where)
    watched_by = {"statement_seconds": statement_timeout, "collectors": collectors}
    watching = source(where, interval, setup.machine, **watched_by, **history())
    # After all files that may be wrong: a port that another sidecar has hides no mistake in them.
    host, port = listen
    try:
        listener = click.get_current_context().with_resource(http.listen(host, port))
    except OSError as error:
        reason = str(error.strerror or error).partition(" (while")[0]  # Python appends the address again
        raise Unusable(f"cannot listen on {host or '*'}:{port}: {reason}") from error
    scheme, port = "https" if web and web.listening else "http", listener.getsockname()[1]
    notifier = alerting.notifier(where, scheme, port)
    app = application.create(watching, setup.book, own, exposed, notifier)
    shown = "127.0.0.1" if host in ("", "0.0.0.0") else f"[{host}]" if ":" in host else host  # noqa: S104
    _reload_on_hangup(setup.book)
    local = http.is_local(listener)
    if web and web.config.users and not (web.listening or local):
        log.warning("passwords go over the network in the clear: the web configuration has users, but no TLS")
    log.info("serving on %s://%s:%s/", scheme, shown, port)
    sys.setswitchinterval(_SWITCH_SECONDS)
    footprint.give_back()
    http.run(Guard(app, web, local=local), listener, web)


def _history(folder: Path | None, where: Where) -> tuple[Callable[[], dict[str, Any]], Callable[[], Iterable[Metric]]]:
    """What a sampler needs to keep its history in a folder, which is closed when the command ends, and its metrics."""
    if folder is None:
        return dict, tuple
    if where.recording:
        raise click.UsageError("--state-dir needs a server, not a recording")
    from exporter.recording import history_metrics  # noqa: PLC0415 - as above
    from exporter.recording.history import State  # noqa: PLC0415

    state = click.get_current_context().with_resource(State(folder, where.server().address))
    return lambda: {"keep": state, "past": state.take_past()}, lambda: history_metrics.families(state.report)


def _reload_on_hangup(book: Rulebook) -> None:
    from advisor.files.yaml_file import FileError  # noqa: PLC0415 - as above

    def reload() -> None:
        with contextlib.suppress(FileError):  # the log says it
            book.reload()

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
    type=click.Choice(_SEVERITIES),
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
    from advisor.advice import evaluation  # noqa: PLC0415 - as above
    from advisor.contract.recommendation import Severity  # noqa: PLC0415

    seen = watched(Where.of(**options), watch, interval, setup.machine)
    advice = evaluation.advise(setup.book.rules, seen, suppressions=setup.book.suppressions)
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
@click.option(
    "--anonymise",
    is_flag=True,
    help="Without a name of yours: schemas, tables, indexes, columns, accounts, hosts, paths, statements.",
)
def record(
    *,
    seconds: float,
    interval: float,
    output: Path,
    anonymise: bool,
    **options: Any,
) -> None:
    """Write what every query returns to a file that serve and advise can replay.

    With --anonymise, names are replaced by others that are drawn by lot, and what the parsers do not read is left out:
    the advice is the same, but for the names.

    Ctrl-C ends it early, with exit code 0: what was recorded until then is kept.
    """
    from advisor.observe import watching  # noqa: PLC0415 - as above
    from exporter.connection.errors import ServerError  # noqa: PLC0415
    from exporter.recording.anonymise import Anonymous  # noqa: PLC0415
    from exporter.recording.file import Recorder  # noqa: PLC0415

    with clear_errors():
        where = Where.of(**options)
        if where.recording:
            raise click.UsageError("record needs a server, not a recording")
        try:
            ended = watching.record(
                where.server,
                interval=interval,
                seconds=seconds,
                output=output,
                recorder=Anonymous if anonymise else Recorder,
            )
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
    from advisor.observe import watching  # noqa: PLC0415 - as above
    from advisor.render import text  # noqa: PLC0415 - as above
    from exporter.collectors import COLLECTORS, LIGHT  # noqa: PLC0415

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
    match style:
        case "json":
            click.echo(advice.model_dump_json(by_alias=True, indent=2))
        case "markdown":
            from advisor.render import markdown  # noqa: PLC0415 - as above

            click.echo(markdown.markdown(advice))
        case _:
            from advisor.render import text  # noqa: PLC0415 - with rich

            text.print_advice(text.console(), advice)


main.add_command(model_commands.whatif)
main.add_command(model_commands.lru)
main.add_command(rules.rules)

if __name__ == "__main__":
    main()
