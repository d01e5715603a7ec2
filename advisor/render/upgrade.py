"""The forecast of an upgrade, as a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import urlencode

from advisor.contract.settings import setting_text
from advisor.contract.templates import duration, value_text
from advisor.contract.upgrade import (
    Blocker,
    Cause,
    FleetUpgrade,
    NotForetold,
    OptionLine,
    ServerUpgrade,
    SettledAdvice,
    UpgradeEffect,
    UpgradeForecast,
    UpgradeStatement,
)
from advisor.contract.visible import visible
from advisor.render import blocks
from advisor.render.advice import evidence_table
from advisor.render.fleet import SOURCES, first_names, name_of, noted
from advisor.render.phrases import counted, moment, statement
from exporter.server import Server

_NO_STOP = "Nothing that is set here stops the start, as far as it is known."
_NOTHING = "Nothing is known that changes this workload for the worse."
_CAUSES = {Cause.DEFAULT: "default", Cause.BEHAVIOUR: "behaviour", Cause.REMOVAL: "removed"}


def forecast(forecast: UpgradeForecast) -> blocks.TextDocument:
    """What stops the start, what changes, what gets better, the lines and SQL, and what cannot be said."""
    shown: list[blocks.Block] = [blocks.Paragraph(_origin(forecast), "quiet")]
    shown += [blocks.Paragraph(f"{warning}.") for warning in forecast.warnings]
    shown += [blocks.Heading("What would not start")]
    shown += [*map(_blocker, forecast.blockers)] or [blocks.Paragraph(_NO_STOP)]
    shown += [blocks.Heading("What changes for this workload")]
    shown += [*map(_effect, forecast.effects)] or [blocks.Paragraph(_NOTHING)]
    shown += _others(forecast)
    for title, section in _sections(forecast):
        shown += [blocks.Heading(title), *section] if section else []
    return blocks.TextDocument(f"innodb-advisor: {forecast.server} to {forecast.to}", tuple(shown))


def _origin(forecast: UpgradeForecast) -> str:
    like = f", taken to behave like {forecast.assumed}" if forecast.assumed else ""
    return f"{forecast.server} to {forecast.to}{like}; watched {duration(forecast.watched_seconds)}"


def _sections(forecast: UpgradeForecast) -> Iterator[tuple[str, Sequence[blocks.Block]]]:
    """Titles and blocks of what follows the effects; those without a block have nothing to say."""
    yield "What gets better by itself", [*map(_effect, forecast.improvements)]
    yield "Advice that falls away", [_settled(forecast.settled)] if forecast.settled else []
    yield "Lines for the new server's option file", [*_option_file(forecast.option_file)]
    yield "SQL to run before", [*_sql(forecast.before)]
    yield "SQL to run after", [*_sql(forecast.after)]
    yield "What cannot be said", [_unknown(forecast.not_foretold)] if forecast.not_foretold else []


def _blocker(blocker: Blocker) -> blocks.Card:
    value = "" if blocker.value is None else f" = {blocker.value}"
    todo = [] if blocker.replacement is None else [("option file", blocker.replacement.line)]
    facts = [("set in", blocker.source), ("gone since", blocker.since)]
    facts += [] if blocker.replacement is None else [("instead", blocker.replacement.reason)]
    return blocks.Card(
        f"{blocker.variable}{value}: the new version does not know it, and does not start",
        (blocks.Instructions(tuple(todo)), blocks.Details(tuple(facts)), *_sources(blocker.references)),
        mark="critical",
        tone="critical",
        level=3,
    )


def _effect(effect: UpgradeEffect) -> blocks.Card:
    mark, tone = _TONES[effect.better]
    return blocks.Card(
        effect.summary,
        (
            blocks.Instructions(tuple(("option file", line.line) for line in effect.keep)),
            blocks.Details(tuple(_details(effect))),
            evidence_table(effect.evidence),
            *_sources(effect.references),
        ),
        mark=mark,
        tone=tone,
        level=3,
    )


_TONES: dict[bool | None, tuple[str, blocks.Tone]] = {
    False: ("worse", "warning"),
    None: ("changes", "info"),
    True: ("better", "good"),
}


def _details(effect: UpgradeEffect) -> Iterator[tuple[str, str]]:
    """The prediction, its cause, and the reasons of the lines: label and text of each."""
    if effect.quantity is not None:
        yield "effect", _prediction(effect)
    yield _CAUSES[effect.cause], _cause(effect)
    yield from (("line", line.reason) for line in effect.keep)


def _prediction(effect: UpgradeEffect) -> str:
    """A quantity now and then, its interval, and the model."""
    now, predicted, low, high = (
        None if number is None else value_text(number, effect.unit)
        for number in (effect.now, effect.predicted, effect.low, effect.high)
    )
    before = "" if now is None else f"{now} -> "
    bounds = "" if low is None or high is None or low == high else f" (expect {low} to {high})"
    model = "" if effect.model is None else f"; model: {effect.model}"
    return f"{effect.quantity}: {before}{predicted}{bounds}{model}"


def _cause(effect: UpgradeEffect) -> str:
    if effect.from_ is None and effect.to is None:
        return effect.name
    then = "gone" if effect.to is None else setting_text(effect.name, effect.to)
    if effect.from_ is None:
        return f"{effect.name}: {then}"
    return f"{effect.name}: {setting_text(effect.name, effect.from_)} -> {then}"


def _sources(references: Sequence[str]) -> Iterator[blocks.Block]:
    """Where the change is documented: a page unfolds it, and the JSON has it."""
    if references:
        lines = tuple(("see", blocks.Link(reference, reference)) for reference in references)
        yield blocks.Folded(counted(len(lines), "source"), (blocks.Details(lines),))


def _others(forecast: UpgradeForecast) -> Iterator[blocks.Block]:
    """One line for the defaults that do not matter here; a page unfolds them."""
    others = forecast.other_changes
    if not others:
        return
    change = "other default changes; it touches nothing" if len(others) == 1 else "other defaults change; none touches"
    known = "that was seen" if len(others) == 1 else "anything that was seen"
    yield blocks.Paragraph(f"{len(others)} {change} {known}.")
    rows = tuple(
        (other.setting, setting_text(other.setting, other.from_), setting_text(other.setting, other.to))
        for other in others
    )
    table = blocks.TextTable(("setting", "default now", "default then"), rows, right=(1, 2))
    yield blocks.Folded(f"The others ({counted(len(rows), 'setting')})", (table,))


def _settled(settled: Iterable[SettledAdvice]) -> blocks.TextTable:
    rows = tuple((advice.rule, advice.summary, advice.reason) for advice in settled)
    return blocks.TextTable(("rule", "advice", "why it falls away"), rows)


def _option_file(lines: Sequence[OptionLine]) -> Iterator[blocks.Block]:
    """The lines of a [mysqld] section, each under its reason."""
    if lines:
        written = (f"# {visible(line.reason)}\n{_option(line.line)}" for line in lines)
        yield blocks.Pasted("\n".join(("[mysqld]", *written)), "ini")


def _option(line: str) -> str:
    """The line as it can be pasted, or a comment in its place."""
    shown = visible(line)
    return shown if shown == line else f"# this value cannot be shown as it is; the JSON has the line: {shown}"


def _sql(statements: Sequence[UpgradeStatement]) -> Iterator[blocks.Block]:
    if statements:
        written = (f"-- {visible(step.reason)}\n{statement(step.sql)}" for step in statements)
        yield blocks.Pasted("\n".join(written), "sql")


def _unknown(unknown: Iterable[NotForetold]) -> blocks.TextTable:
    rows = tuple((spot.what, spot.reason, spot.cure or "") for spot in unknown)
    return blocks.TextTable(("what", "why", "what to record"), rows)


def fleet(report: FleetUpgrade) -> blocks.TextDocument:
    """A table of the servers, the worst first; the whole forecast of one that was asked for; what cannot be said."""
    shown: list[blocks.Block] = [blocks.Paragraph(line, "quiet") for line in _reading(report)]
    shown += [_servers(report.servers)] if report.servers else []
    for server in report.servers:
        if server.forecast is not None:
            shown += forecast(server.forecast).blocks
    for title, table in _gaps(report):
        shown += [blocks.Heading(title), table] if table.rows else []
    return blocks.TextDocument(f"innodb-advisor: the fleet to {report.to}", tuple(shown))


def _reading(report: FleetUpgrade) -> Iterator[str]:
    shard = f", shard {report.shard}" if report.shard else ""
    window = f"window of {duration(report.window_seconds)} to {moment(report.at)}{shard}"
    yield f"{name_of(report.prometheus)}, {window}, read in {duration(report.took_seconds)}"
    yield f"{counted(len(report.servers), 'server')} to {report.to}: a roll-out begins at the end of this table"


def _servers(servers: Iterable[ServerUpgrade]) -> blocks.TextTable:
    columns = (
        *("server", "has", "would not start with", "pages/s", "worse", "changes", "better", "advice settled"),
        *("not known", "the largest effect", "seen by"),
    )
    rows = tuple(
        (
            name_of(server.server),
            name_of(server.version),
            name_of(", ".join(server.blockers)),
            "" if server.pages_per_second is None else f"{server.pages_per_second:+,}",
            server.worse,
            server.changes,
            server.better,
            server.settled,
            server.not_foretold,
            name_of(server.largest or ""),
            SOURCES[server.source],
        )
        for server in servers
    )
    return blocks.TextTable(columns, rows, right=(3,), optional=(10, 7, 8, 6))


def _gaps(report: FleetUpgrade) -> Iterator[tuple[str, blocks.TextTable]]:
    """What cannot be said, and of whom nothing is."""
    unknown = tuple(
        (spot.servers, spot.what, spot.reason, spot.cure or "", ", ".join(map(name_of, spot.examples)))
        for spot in report.not_foretold
    )
    yield "What cannot be said", blocks.TextTable(("servers", "what", "why", "what to record", "such as"), unknown)
    yield "To know of servers", noted((server.server, server.notes) for server in report.servers)
    left = tuple((len(group.servers), group.reason, first_names(group.servers)) for group in report.not_asked)
    yield "Without a forecast", blocks.TextTable(("servers", "reason", "which"), left)
    vanished = tuple((name_of(server.server), moment(server.at)) for server in report.vanished)
    yield "Vanished", blocks.TextTable(("server", "last sample"), vanished)
    warnings = tuple((warning,) for warning in report.warnings)
    yield "Warnings", blocks.TextTable(("what Prometheus said, and what is odd",), warnings)


def versions(server: Server, releases: Mapping[str, Sequence[str]]) -> blocks.TextDocument:
    """The versions that a server may be upgraded to, each with a link to its forecast."""
    rows = tuple(
        (blocks.Link(version, f"/upgrade?{urlencode({'to': version})}"), ", ".join(names))
        for version, names in releases.items()
    )
    other = "Another release is asked for by its number: /upgrade?to=8.0.37."
    about = f"{server}: what would it be with another version? Choose one; each is forecast from what was watched."
    table = blocks.TextTable(("upgrade to", "settings and behaviours that change with it"), rows)
    return blocks.TextDocument("Upgrade", (blocks.Paragraph(about), table, blocks.Paragraph(other, "quiet")))
