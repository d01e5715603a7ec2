"""What the renderings of a fleet share: names that are safe to show, and the lines of its sections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape

from advisor.contract.changes import BY_SQL
from advisor.contract.fleet import Capacity, CapacityEstimate, FleetBlindSpot, FleetFinding, FleetReport, Source
from advisor.contract.recommendation import Change
from advisor.contract.settings import SETTINGS
from advisor.contract.templates import binary, duration
from advisor.contract.visible import visible
from advisor.render import phrases
from advisor.render.phrases import moment
from advisor.render.svg import shortened

SOURCES = {Source.VERDICT: "its sidecar", Source.OWN: "innodb_* series", Source.PEER: "mysqld_exporter"}
"""Where what is known of a server comes from."""
_SERVERS_BY = {
    Source.VERDICT: "judged by their sidecars",
    Source.OWN: "read from innodb_* series",
    Source.PEER: "read from mysqld_exporter's series",
}
NO_SERVER = "No server: Prometheus has no innodb_up and no mysql_up under this selector. Nothing is said of any server."
_NOTHING = "Nothing to change."
_NOTHING_SEEN = "Nothing to change in what could be seen: below is what could not."
_LONGEST = 200
"""Characters of a name that are shown. MySQL's have 64 at most; labels of Prometheus may have any number."""
_LONGEST_LINE = 1000
"""Characters of a statement or a sentence that are shown."""
ROOM = 10_000
"""Bytes of a table for people."""
_CAPACITY = "Capacity"
_NAMES = 3
"""Names that stand for many."""


@dataclass(frozen=True, slots=True)
class Section:
    """A table of the report, of plain text."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    """A sentence under the title."""
    right: tuple[int, ...] = ()
    """Numbers of the columns that are aligned to the right."""


def name(text: str) -> str:
    """A name from series: visible, and not too long to show."""
    return shortened(visible(text), _LONGEST)


def line(text: str) -> str:
    """A sentence from series or from a rule, likewise."""
    return shortened(visible(text), _LONGEST_LINE)


def subject(found: FleetFinding) -> str:
    """What a finding is about: a table, or nothing where it is about the whole server."""
    known = dict(found.subject)
    table = ".".join(known.pop(key) for key in ("schema", "table", "index") if key in known)
    return name(", ".join([*([table] if table else []), *(f"{key} {value}" for key, value in known.items())]))


def summary(found: FleetFinding, titles: Mapping[str, str]) -> str:
    """A finding in a line: its summary; of a verdict, the title of its rule and what it is about."""
    if found.summary:
        return line(found.summary)
    about = subject(found)
    title = titles.get(found.rule) or name(found.rule)
    return f"{title}: {about}" if about else title


def titles(report: FleetReport) -> dict[str, str]:
    """The titles of the rules that are known here."""
    return {each.rule: visible(each.title) for each in report.rules if each.title}


def heading(report: FleetReport) -> Iterator[str]:
    """What was read: servers, Prometheus, window."""
    by_source = {source: sum(each.source is source for each in report.servers) for source in Source}
    parts = ", ".join(f"{count:,} {_SERVERS_BY[source]}" for source, count in by_source.items() if count)
    down = sum(each.up is False for each in report.servers)
    of = f"{counted(len(report.servers), 'server')}{f': {parts}' if parts else ''}"
    yield f"{of}{f'; {down:,} not reached by their exporter' if down else ''}"
    shard = f", shard {visible(report.shard)}" if report.shard else ""
    window = f"window of {duration(report.window_seconds)} to {moment(report.at)}{shard}"
    yield f"{name(report.prometheus)}, {window}, read in {duration(report.took_seconds)}"
    yield found_in(report)


def found_in(report: FleetReport) -> str:
    """How many findings there are; silence is only said with what it rests on."""
    if not report.servers:
        return NO_SERVER
    if not report.findings:
        said = _NOTHING_SEEN if report.blind or report.not_asked or report.not_modelled else _NOTHING
        return f"{said} {_suppressed(report)}".strip()
    servers = len({each.server for each in report.findings})
    of = f"{counted(len(report.findings), 'finding')} on {counted(servers, 'server')}"
    return f"{of}. {_suppressed(report)}".strip()


def _suppressed(report: FleetReport) -> str:
    return (
        f"{counted(report.suppressed, 'finding')} suppressed by the sidecars' configuration."
        if report.suppressed
        else ""
    )


def counted(number: int, noun: str) -> str:
    """``1 server``, ``2,000 servers``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def saved(bytes_per_second: float | None) -> str:
    """Bytes a second; empty where nothing is known."""
    return "" if bytes_per_second is None else f"{binary(bytes_per_second)}/s"


def change(found: FleetFinding) -> str:
    """What to do, in a line."""
    changes = [f"{each.setting} = {setting_text(each, each.to)}" for each in found.changes]
    return line("; ".join([*changes, *(each.do for each in found.actions)])) or "see its sidecar"


def setting_text(of: Change, value: float | str | None) -> str:
    """A value of a setting, also of one that only a newer sidecar knows."""
    return phrases.setting_text(of.setting, value) if of.setting in SETTINGS else name(str(value))


def instructions(found: FleetFinding) -> Iterator[tuple[str, str]]:
    """Label and text of each line: statements, where else to make the change, actions."""
    for each in found.changes:
        for label, statements in (("apply", each.apply), ("roll back", each.rollback), ("keep", each.persist)):
            yield from ((label, statement(text)) for text in statements)
        yield "option file" if each.via == BY_SQL else "set", line(each.config)
        if each.via != BY_SQL:
            yield "where", line(each.via)
        if each.note:
            yield "note", line(each.note)
    for action in found.actions:
        yield "do", line(action.do)
        yield from (("apply", statement(text)) for text in action.apply)
        yield from (("roll back", statement(text)) for text in action.rollback)


def statement(sql: str) -> str:
    """A statement as it can be pasted, or a comment in its place."""
    return phrases.statement(sql, _LONGEST_LINE)


def details(found: FleetFinding) -> Iterator[tuple[str, str]]:
    """Effect, what to know, and where it comes from: label and text of each line."""
    if found.effect is not None:
        yield "effect", line(phrases.effect(found.effect))
    if found.read_bytes_saved_per_second is not None:
        yield "saves", f"{saved(found.read_bytes_saved_per_second)} of reads"
    yield from (("note", line(each)) for each in found.notes)
    yield "rule", rule_line(found)
    if found.page_url is not None:
        yield "page", line(found.page_url)


def rule_line(found: FleetFinding) -> str:
    """The rule, its confidence, and the series that it rests on."""
    parts = [name(found.rule), *([] if found.confidence is None else [f"confidence {found.confidence:g}"])]
    scraped = found.scrape_interval_seconds
    every = "" if scraped is None else f", scraped every {duration(scraped)}"
    return ", ".join([*parts, f"by {SOURCES[found.source]}{every}", line(found.fingerprint)])


def first(report: FleetReport, rows: int, room: int = ROOM) -> Section:
    """What to change first: a row for each of so many findings, like `sections`."""
    known = tuple(
        (
            each.severity.value,
            name(each.server),
            name(each.rule),
            shortened(subject(each)),
            change(each),
            saved(each.read_bytes_saved_per_second),
        )
        for each in report.findings[:rows]
    )
    columns = ("severity", "server", "rule", "of", "change", "saves")
    section = _bounded(Section("What to change first", columns, known, right=(5,)), rows, room)
    return replace(section, note=more_findings(len(report.findings) - len(section.rows)))


def more_findings(number: int) -> str:
    """Where the findings are that there was no room for."""
    return f"{counted(number, 'more finding')}: see the CSV or the JSON." if number else ""


def sections(report: FleetReport, rows: int, room: int = ROOM) -> Iterator[Section]:
    """The sums, the memory, and what is not known: the tables that have something to say.

    Args:
        report: The fleet.
        rows: Of each table at most.
        room: Bytes of each table at most. Series can have names of any length.
    """
    tables = (
        _by_rule(report),
        _top_servers(report),
        *((_capacity(report.capacity), _trials(report.capacity)) if report.capacity else ()),
        _blind(report),
        _not_asked(report),
        _noted(report),
        _not_modelled(report),
        _vanished(report),
        _warnings(report),
    )
    yield from (_bounded(each, rows, room) for each in tables if each.rows or each.title == _CAPACITY)


def _bounded(section: Section, rows: int, room: int) -> Section:
    """The rows that there is room for, and the number of the others. Sizes are those of HTML, the largest."""
    kept = list(section.rows[:rows])
    sizes = [sum(len(escape(cell).encode()) for cell in row) for row in kept]
    while sum(sizes) > room:
        kept.pop()
        sizes.pop()
    more = len(section.rows) - len(kept)
    note = f"{section.note} {more:,} more are in the JSON.".strip() if more else section.note
    return replace(section, rows=tuple(kept), note=note)


def _by_rule(report: FleetReport) -> Section:
    rows = tuple(
        (
            each.severity.value,
            name(each.rule),
            f"{each.findings:,}",
            f"{each.servers:,}",
            saved(each.read_bytes_saved_per_second),
        )
        for each in report.rules
    )
    note = "Of two findings on one table only the larger counts."
    return Section("By rule", ("severity", "rule", "findings", "servers", "saves"), rows, note, (2, 3, 4))


def _top_servers(report: FleetReport) -> Section:
    rows = tuple(
        (each.worst.value, name(each.server), f"{each.findings:,}", saved(each.read_bytes_saved_per_second))
        for each in report.top_servers
    )
    return Section("Top servers", ("worst", "server", "findings", "saves"), rows, right=(2, 3))


def _blind(report: FleetReport) -> Section:
    """A row for each lack: one that is missing may blind a dozen rules."""
    lacks: dict[tuple[Source, str, str | None], list[FleetBlindSpot]] = {}
    for each in report.blind:
        lacks.setdefault((each.source, each.lacks, each.cure), []).append(each)
    rows = tuple(
        (
            _spread([each.servers for each in spots]),
            name(lack),
            line(", ".join(dict.fromkeys(each.rule for each in spots))),
            SOURCES[source],
            line(cure or ""),
            name(next((each.examples[0] for each in spots if each.examples), "")),
        )
        for (source, lack, cure), spots in lacks.items()
    )
    columns = ("servers", "lacks", "blind rules", "seen by", "cure", "such as")
    return Section("Blind spots", columns, rows, "What these rules would find there is not known.", (0,))


def _spread(counts: Sequence[int]) -> str:
    """The number of servers that a lack blinds a rule on; rules differ where versions do."""
    return f"{counts[0]:,}" if len({*counts}) == 1 else f"{min(counts):,} to {max(counts):,}"


def _not_asked(report: FleetReport) -> Section:
    rows = tuple((f"{len(each.servers):,}", line(each.reason), listed(each.servers)) for each in report.not_asked)
    return Section("Not asked", ("servers", "reason", "which"), rows, "Nothing is said of these servers.", (0,))


def _noted(report: FleetReport) -> Section:
    """What to know of all that is said of some servers: a row for each note."""
    servers: dict[str, list[str]] = {}
    for each in report.servers:
        for note in each.notes:
            servers.setdefault(note, []).append(each.name)
    rows = tuple((f"{len(names):,}", line(note), listed(names)) for note, names in servers.items())
    return Section("To know of servers", ("servers", "what", "which"), rows, right=(0,))


def _not_modelled(report: FleetReport) -> Section:
    left = report.not_modelled
    rows = ((f"{len(left):,}", listed(left)),) if left else ()
    note = "The time for models was over (--model-seconds); rules with a model are undecided there."
    return Section("Not modelled", ("servers", "which"), rows, note, (0,))


def _vanished(report: FleetReport) -> Section:
    rows = tuple((name(each.server), moment(each.at)) for each in report.vanished)
    note = "Series knew them an hour ago and know them no more."
    return Section("Vanished", ("server", "last sample"), rows, note)


def _warnings(report: FleetReport) -> Section:
    rows = tuple((line(each),) for each in report.warnings)
    return Section("Warnings", ("what Prometheus said, and what is odd",), rows)


def _capacity(found: Capacity) -> Section:
    rows = tuple(map(_estimate, found.servers))
    out = "; ".join(f"{name(reason)}: {count:,}" for reason, count in found.left_out.items())
    notes = (
        f"{binary(found.may_go_bytes)} could go in all; each server may read {found.may_read:g} pages a second more.",
        f"Left out: {out}." if out else "",
    )
    columns = ("server", "pool", "enough", "may go", "reads now", "predicted", "by")
    return Section(_CAPACITY, columns, rows, " ".join(filter(None, notes)), (1, 2, 3, 4, 5))


def _estimate(of: CapacityEstimate) -> tuple[str, ...]:
    error = "" if of.error is None else f" ±{of.error:.0%}"
    return (
        name(of.server),
        *map(binary, (of.pool_bytes, of.enough_bytes, of.may_go_bytes)),
        f"{of.reads_now:,.0f}/s",
        f"{of.reads_predicted:,.0f}/s{error}",
        f"{line(of.method)}, {of.days:,.0f} days",
    )


def _trials(found: Capacity) -> Section:
    rows = tuple(
        (name(each.server), *(" ".join(map(statement, of)) for of in (each.change.apply, each.change.rollback)))
        for each in found.servers
        if each.change is not None
    )
    return Section("Trials of less memory", ("server", "try", "roll back"), rows)


def listed(names: Iterable[str], most: int = _NAMES) -> str:
    """The first names, and how many more there are."""
    known = tuple(names)
    more = f" and {len(known) - most:,} more" if len(known) > most else ""
    return f"{', '.join(map(name, known[:most]))}{more}"
