"""A fleet's report as a document. No name or text of a series makes it endless."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from urllib.parse import urlencode, urlsplit

from advisor.contract.fleet import Capacity, CapacityEstimate, FleetBlindSpot, FleetFinding, FleetReport, Source
from advisor.contract.recommendation import Severity
from advisor.contract.settings import setting_text
from advisor.contract.templates import binary, duration
from advisor.render import blocks, html
from advisor.render.advice import evidence_table
from advisor.render.phrases import counted, effect, instructions, moment, shortened, statement

SOURCES = {Source.VERDICT: "its sidecar", Source.SIDECAR: "innodb_* series", Source.MYSQLD_EXPORTER: "mysqld_exporter"}
"""Where what is known of a server comes from."""
_SERVERS_BY = {
    Source.VERDICT: "judged by their sidecars",
    Source.SIDECAR: "read from innodb_* series",
    Source.MYSQLD_EXPORTER: "read from mysqld_exporter's series",
}
_NO_SERVER = (
    "No server: Prometheus has no innodb_up and no mysql_up under this selector. Nothing is said of any server."
)
_NOTHING = "Nothing to change."
_NOTHING_SEEN = "Nothing to change in what could be seen: below is what could not."
_CAPACITY = "Capacity"


@dataclass(frozen=True, slots=True)
class ReportSize:
    """How much of a report one form shows.

    Attributes:
        rows: Rows of each table at most.
        listed: Findings in a table; with 0 there are cards alone, which come after the short sums.
        cards: Findings with all there is to do.
    """

    rows: int
    listed: int
    cards: int


TERMINAL = ReportSize(rows=20, listed=20, cards=0)
"""What a person reads at a terminal."""
MARKDOWN = ReportSize(rows=50, listed=50, cards=10)
PAGE = ReportSize(rows=50, listed=0, cards=200)


@dataclass(frozen=True, slots=True)
class ReportBounds:
    """What keeps a report below 300 kB, whatever names series have: a mail or a chat takes such a file.

    Attributes:
        name: Characters of a name. MySQL's have 64 at most; labels of Prometheus may have any number.
        line: Characters of a sentence or a statement.
        names: Names that stand for many.
        table_bytes: Of the texts of a table as HTML, the longest form.
        report_bytes: Of the report as HTML, beside its style sheet and frame.
    """

    name: int = 200
    line: int = 1000
    names: int = 3
    table_bytes: int = 10_000
    report_bytes: int = 260_000


_BOUNDS = ReportBounds()
_Sections = Iterator[tuple[str, str, blocks.TextTable]]
"""Title, a sentence under it, and the table of each."""


def report(report: FleetReport, size: ReportSize, *, stale: str = "", advise: str | None = None) -> blocks.TextDocument:
    """What was read, the change that saves most, sums, what to change first, and what is not known.

    Args:
        report: The fleet.
        size: How much of it to show; what is left out is counted.
        stale: Why the report is old; empty if it is not.
        advise: Where the findings of a server, or of a rule, are: a path, to which ``?server=`` or ``?rule=`` is added.
    """
    links = {} if advise is None else _links(report, advise)
    titles = {rule.rule: rule.title for rule in report.rules if rule.title}
    head: list[blocks.Block] = [blocks.Paragraph(stale, "problem")] if stale else []
    head += [blocks.Paragraph(line, "quiet") for line in _heading(report)]
    if report.best is not None:
        head += [blocks.Heading("The one change that saves most"), _card(report.best, titles, links)]
    sums, gaps = (_shown(sections, size, links) for sections in (_sums(report), _gaps(report)))
    room = _BOUNDS.report_bytes - len(html.fragment((*head, *sums, *gaps)).encode())
    all_shown = not report.findings or (not size.listed and report.findings == (report.best,))
    first = [] if all_shown else list(_first(report, titles, links, size, room))
    order = (*head, *first, *sums, *gaps) if size.listed else (*head, *sums, *first, *gaps)
    return blocks.TextDocument("The fleet", order)


def _links(report: FleetReport, path: str) -> dict[str, blocks.Link]:
    """Links to the findings of a rule or of a server, by name. One shown in part has none: two may look alike."""
    servers = {*(server.server for server in report.top_servers), *(finding.server for finding in report.findings)}
    names = [("rule", rule.rule) for rule in report.rules] + [("server", server) for server in servers]
    return {name: blocks.Link(name, f"{path}?{urlencode({key: name})}") for key, name in names if name_of(name) == name}


def _heading(report: FleetReport) -> Iterator[str]:
    """What was read: servers, Prometheus, window; and how many findings there are."""
    by_source = {source: sum(server.source is source for server in report.servers) for source in Source}
    parts = ", ".join(f"{count:,} {_SERVERS_BY[source]}" for source, count in by_source.items() if count)
    down = sum(server.up is False for server in report.servers)
    servers = f"{counted(len(report.servers), 'server')}{f': {parts}' if parts else ''}"
    yield f"{servers}{f'; {down:,} not reached by their exporter' if down else ''}"
    shard = f", shard {report.shard}" if report.shard else ""
    window = f"window of {duration(report.window_seconds)} to {moment(report.at)}{shard}"
    yield f"{name_of(report.prometheus)}, {window}, read in {duration(report.took_seconds)}"
    yield " ".join(_finding_counts(report))


def _finding_counts(report: FleetReport) -> Iterator[str]:
    """How many findings there are; silence is only reported with what it rests on."""
    if not report.servers:
        yield _NO_SERVER
        return
    if report.findings:
        servers = len({finding.server for finding in report.findings})
        yield f"{counted(len(report.findings), 'finding')} on {counted(servers, 'server')}."
    else:
        yield _NOTHING_SEEN if report.blind or report.not_asked or report.not_modelled else _NOTHING
    if report.suppressed:
        yield f"{counted(report.suppressed, 'finding')} suppressed by the sidecars' configuration."


def _first(
    report: FleetReport, titles: Mapping[str, str], links: Mapping[str, blocks.Link], size: ReportSize, room: int
) -> Iterator[blocks.Block]:
    """What to change first: findings in a table, and those that there is room for as cards."""
    yield blocks.Heading("What to change first")
    left = len(report.findings)
    if size.listed:
        table = _cut(_listed(report.findings[: size.listed]), size.listed, links)
        left -= len(table.rows)
        yield from _more_findings(left)
        yield table
    for finding in report.findings[: size.cards]:
        card = _card(finding, titles, links)
        room -= len(html.fragment((card,)).encode())
        if room < 0:
            break
        left -= 1
        yield card
    if not size.listed:
        yield from _more_findings(left)


def _more_findings(number: int) -> Iterator[blocks.Paragraph]:
    if number:
        yield blocks.Paragraph(f"{counted(number, 'more finding')}: see the CSV or the JSON.", "quiet")


def _listed(findings: Sequence[FleetFinding]) -> blocks.TextTable:
    rows = tuple(
        (
            _severity(finding.severity),
            finding.server,
            finding.rule,
            _subject(finding),
            _change(finding),
            _saved(finding.read_bytes_saved_per_second),
        )
        for finding in findings
    )
    return blocks.TextTable(("severity", "server", "rule", "of", "change", "saves"), rows, right=(5,))


def _card(finding: FleetFinding, titles: Mapping[str, str], links: Mapping[str, blocks.Link]) -> blocks.Card:
    server = name_of(finding.server)
    evidence = evidence_table(finding.evidence)
    return blocks.Card(
        _summary(finding, titles),
        (
            blocks.Instructions(tuple(instructions(finding, _BOUNDS.line))),
            blocks.Details(tuple(details(finding))),
            *([blocks.Folded(f"Evidence ({len(evidence.rows)})", (evidence,))] if evidence.rows else []),
        ),
        mark=finding.severity.value,
        tone=blocks.TONES[finding.severity],
        server=links.get(server, server),
        level=3,
    )


def details(finding: FleetFinding) -> Iterator[tuple[str, str | blocks.Link]]:
    """Effect, what to know, and where it comes from: label and text of each line."""
    if finding.effect is not None:
        yield "effect", _line(effect(finding.effect))
    if finding.read_bytes_saved_per_second is not None:
        yield "saves", f"{_saved(finding.read_bytes_saved_per_second)} of reads"
    yield from (("note", _line(note)) for note in finding.notes)
    confidence = "" if finding.confidence is None else f", confidence {finding.confidence:g}"
    scraped = finding.scrape_interval_seconds
    every = "" if scraped is None else f", scraped every {duration(scraped)}"
    source = f"by {SOURCES[finding.source]}{every}"
    yield "rule", f"{name_of(finding.rule)}{confidence}, {source}, {_line(finding.fingerprint)}"
    if finding.page_url is not None:
        shown = _line(finding.page_url)
        yield "page", blocks.Link(shown, shown) if shown == finding.page_url and _is_http(shown) else shown


def _is_http(url: str) -> bool:
    try:
        return urlsplit(url).scheme in ("http", "https")
    except ValueError:
        return False


def _summary(finding: FleetFinding, titles: Mapping[str, str]) -> str:
    """A finding in a line: its summary; of a verdict, the title of its rule and what it is about."""
    if finding.summary:
        return _line(finding.summary)
    title, subject = titles.get(finding.rule) or name_of(finding.rule), _subject(finding)
    return f"{title}: {subject}" if subject else title


def _subject(finding: FleetFinding) -> str:
    """What a finding is about: a table, or nothing where it is about the whole server."""
    subject = dict(finding.subject)
    table = ".".join(subject.pop(key) for key in ("schema", "table", "index") if key in subject)
    others = (f"{key} {value}" for key, value in subject.items())
    return name_of(", ".join(part for part in (table, *others) if part))


def _change(finding: FleetFinding) -> str:
    """What to do, in a line."""
    changes = [f"{change.setting} = {setting_text(change.setting, change.to)}" for change in finding.changes]
    return _line("; ".join([*changes, *(action.do for action in finding.actions)])) or "see its sidecar"


def _saved(bytes_per_second: float | None) -> str:
    return "" if bytes_per_second is None else f"{binary(bytes_per_second)}/s"


def _severity(severity: Severity) -> blocks.Toned:
    return blocks.Toned(severity.value, blocks.TONES[severity])


def _shown(sections: _Sections, size: ReportSize, links: Mapping[str, blocks.Link]) -> list[blocks.Block]:
    """The sections that have something to say, each bounded."""
    shown: list[blocks.Block] = []
    for title, note, table in sections:
        if not table.rows and title != _CAPACITY:
            continue
        cut = _cut(table, size.rows, links)
        more = len(table.rows) - len(cut.rows)
        about = f"{note} {more:,} more are in the JSON.".strip() if more else note
        shown += [blocks.Heading(title), *([blocks.Paragraph(about, "quiet")] if about else []), cut]
    return shown


def _cut(table: blocks.TextTable, most: int, links: Mapping[str, blocks.Link]) -> blocks.TextTable:
    """The rows that there is room for, each text cut, and names as links."""
    rows, room = [], _BOUNDS.table_bytes
    for row in table.rows[:most]:
        cells = tuple(links.get(cell, _line(cell)) if isinstance(cell, str) else cell for cell in row)
        room -= sum(len(escape(blocks.plain(cell)).encode()) for cell in cells)
        if room < 0:
            break
        rows.append(cells)
    return replace(table, rows=tuple(rows))


def _sums(report: FleetReport) -> _Sections:
    rules = tuple(
        (_severity(rule.severity), rule.rule, rule.findings, rule.servers, _saved(rule.read_bytes_saved_per_second))
        for rule in report.rules
    )
    note = "Of two findings on one table only the larger counts."
    yield "By rule", note, blocks.TextTable(("severity", "rule", "findings", "servers", "saves"), rules, right=(4,))
    servers = tuple(
        (_severity(server.worst), server.server, server.findings, _saved(server.read_bytes_saved_per_second))
        for server in report.top_servers
    )
    yield "Top servers", "", blocks.TextTable(("worst", "server", "findings", "saves"), servers, right=(3,))


def _gaps(report: FleetReport) -> _Sections:
    """The memory, and what is not known."""
    if report.capacity is not None:
        yield from _capacity(report.capacity)
    yield "Blind spots", "What these rules would find there is not known.", _blind(report)
    not_asked = tuple((len(group.servers), group.reason, first_names(group.servers)) for group in report.not_asked)
    columns = ("servers", "reason", "which")
    yield "Not asked", "Nothing is said of these servers.", blocks.TextTable(columns, not_asked)
    yield "To know of servers", "", noted((server.name, server.notes) for server in report.servers)
    left = report.not_modelled
    note = "The time for models was over (--model-seconds); rules with a model are undecided there."
    yield (
        "Not modelled",
        note,
        blocks.TextTable(("servers", "which"), ((len(left), first_names(left)),) if left else ()),
    )
    vanished = tuple((server.server, moment(server.at)) for server in report.vanished)
    note = "Series knew them an hour ago and know them no more."
    yield "Vanished", note, blocks.TextTable(("server", "last sample"), vanished)
    warnings = tuple((warning,) for warning in report.warnings)
    yield "Warnings", "", blocks.TextTable(("what Prometheus said, and what is odd",), warnings)


def _blind(report: FleetReport) -> blocks.TextTable:
    """A row for each lack: one that is missing may blind a dozen rules, on more or fewer servers."""
    lacks: dict[tuple[Source, str, str | None], list[FleetBlindSpot]] = {}
    for spot in report.blind:
        lacks.setdefault((spot.source, spot.lacks, spot.cure), []).append(spot)
    rows = []
    for (source, lack, cure), spots in lacks.items():
        fewest, most = min(spot.servers for spot in spots), max(spot.servers for spot in spots)
        servers = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
        rules = ", ".join(dict.fromkeys(spot.rule for spot in spots))
        example = next((spot.examples[0] for spot in spots if spot.examples), "")
        rows.append((servers, lack, rules, SOURCES[source], cure or "", example))
    return blocks.TextTable(("servers", "lacks", "blind rules", "seen by", "cure", "such as"), tuple(rows), right=(0,))


def _capacity(capacity: Capacity) -> _Sections:
    left_out = "; ".join(f"{name_of(reason)}: {count:,}" for reason, count in capacity.left_out.items())
    note = (
        f"{binary(capacity.may_go_bytes)} could go in all;"
        f" each server may read {capacity.may_read:g} pages a second more."
    )
    columns = ("server", "pool", "enough", "may go", "reads now", "predicted", "by")
    table = blocks.TextTable(columns, tuple(map(_estimate, capacity.servers)), right=(1, 2, 3, 4, 5))
    yield _CAPACITY, f"{note} Left out: {left_out}." if left_out else note, table
    trials = tuple(
        (estimate.server, _statements(estimate.change.apply), _statements(estimate.change.rollback))
        for estimate in capacity.servers
        if estimate.change is not None
    )
    yield "Trials of less memory", "", blocks.TextTable(("server", "try", "roll back"), trials)


def _estimate(estimate: CapacityEstimate) -> tuple[str, ...]:
    error = "" if estimate.error is None else f" ±{estimate.error:.0%}"
    return (
        estimate.server,
        *map(binary, (estimate.pool_bytes, estimate.enough_bytes, estimate.may_go_bytes)),
        f"{estimate.reads_now:,.0f}/s",
        f"{estimate.reads_predicted:,.0f}/s{error}",
        f"{estimate.method}, {estimate.days:,.0f} days",
    )


def _statements(statements: Sequence[str]) -> str:
    """Short enough that no cell cuts them."""
    return " ".join(statement(sql, _BOUNDS.line // 2) for sql in statements)


def noted(servers: Iterable[tuple[str, Sequence[str]]]) -> blocks.TextTable:
    """A row for each note, with its servers; ``servers`` are names with their notes."""
    names: dict[str, list[str]] = {}
    for server, notes in servers:
        for note in notes:
            names.setdefault(note, []).append(server)
    rows = tuple((len(of_note), note, first_names(of_note)) for note, of_note in names.items())
    return blocks.TextTable(("servers", "what", "which"), rows)


def first_names(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - _BOUNDS.names:,} more" if len(names) > _BOUNDS.names else ""
    return f"{', '.join(map(name_of, names[: _BOUNDS.names]))}{more}"


def name_of(text: str) -> str:
    """A name from series, not too long to show."""
    return shortened(text, _BOUNDS.name)


def _line(text: str) -> str:
    """A sentence from series or from a rule, likewise."""
    return shortened(text, _BOUNDS.line)
