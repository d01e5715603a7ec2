"""A fleet as one HTML file that needs no other: no script, and one style sheet, bound by its hash."""

from __future__ import annotations

import base64
import functools
import hashlib
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from advisor.contract.fleet import FleetFinding, FleetReport
from advisor.contract.recommendation import Effect, Severity
from advisor.contract.visible import visible
from advisor.render import fleet_phrases as phrases
from advisor.render import phrases as render_phrases
from advisor.render.fleet_phrases import Section
from advisor.render.html import Content, details, element, link

_SHEETS = Path(__file__).parent.parent / "http" / "page"
"""The sidecar's page is styled from there; the report looks the same."""
_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>The fleet · innodb-advisor</title>
<style>{style}</style>
</head>
<body class="{kind}">
<header class="read-top"><span>innodb-advisor</span>{links}</header>
<main class="read-main">
{content}
</main>
</body>
</html>
"""
_FINDINGS, _ROWS = 200, 50
"""Findings, and rows of each further table."""
_ROOM = 260_000
"""Bytes for all of them."""
_MARKS = {Severity.CRITICAL: ("■", "Critical"), Severity.WARNING: ("▲", "Warning"), Severity.INFO: ("●", "Info")}
_SUMS = ("by-rule", "top-servers")
_NAMES = {"apply": "Try", "keep": "Keep", "roll back": "Undo", "option file": "Option file", "set": "Set", "do": "Do"}
_BESIDE = {"saves": "Saves", "note": "Note:"}
_SQL = frozenset({"apply", "keep", "roll back", "option file", "set"})


@dataclass(frozen=True, slots=True)
class Served:
    """What the service's page has beside the report.

    Attributes:
        stale: Why the report is old; it is shown in grey then. Empty if it is not.
        advise: Where the findings of a server, or of a rule, are: a path, to which ``?server=`` or ``?rule=`` is added.
    """

    stale: str
    advise: str


def html(report: FleetReport, served: Served | None = None) -> str:
    """The whole page: the change that saves most, sums, what to change first, and what is not known.

    It is below 300 kB whatever the report holds; findings beyond that are counted.
    Whoever serves it sends ``policy()`` as its Content-Security-Policy.
    """
    titles = phrases.titles(report)
    leads = {} if served is None else _leads(report, served.advise)
    sums = {each.title.lower().replace(" ", "-"): each for each in phrases.sections(report, _ROWS)}
    tables = [(key, each.title, _table(each, leads)) for key, each in sums.items()]
    parts = []
    if report.best is not None:
        parts.append(("best", "The one change that saves most", _finding(report.best, titles, leads, "best-finding")))
    if report.findings and report.findings != (report.best,):
        room = _ROOM - sum(len(each.encode()) for _, _, each in (*tables, *parts))
        first = ("first", "What to change first", _findings(report, titles, leads, room))
        # After the sums: these are short, and the findings are hundreds.
        tables.insert(sum(key in _SUMS for key, *_ in tables), first)
    parts += tables
    stale = "" if served is None else served.stale
    links = " ".join(link(f"#{name}", title).html for name, title, _ in parts)
    content = "".join(
        (
            element("h1", "The fleet"),
            element("p", visible(stale), "fleet-old") if stale else "",
            *(element("p", line, "fleet-told") for line in phrases.heading(report)),
            *(f'<section id="{name}">{element("h2", title)}{body}</section>' for name, title, body in parts),
        )
    )
    return _PAGE.format(
        policy=policy(),
        kind="read fleet-is-old" if stale else "read",
        style=_style(),
        links=f'<nav aria-label="Sections">{links}</nav>' if links else "",
        content=content,
    )


@functools.cache
def policy() -> str:
    """The Content-Security-Policy: nothing is loaded and nothing runs; the one style sheet is known by its hash."""
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


@functools.cache
def _style() -> str:
    return "\n".join((_SHEETS / name).read_text(encoding="utf-8") for name in ("page.css", "read.css", "fleet.css"))


def _leads(report: FleetReport, path: str) -> dict[str, str]:
    """Where the findings of a rule or of a server are, by name. One shown in part leads nowhere: two may look alike."""
    servers = {*(each.server for each in report.top_servers), *(each.server for each in report.findings)}
    found = [("rule", each.rule) for each in report.rules] + [("server", each) for each in servers]
    return {each: f"{path}?{urlencode({of: each})}" for of, each in found if phrases.name(each) == each}


def _findings(report: FleetReport, titles: Mapping[str, str], leads: Mapping[str, str], room: int) -> str:
    """As many as there is room for, the worst first."""
    cards: list[str] = []
    for number, found in enumerate(report.findings[:_FINDINGS], 1):
        card = _finding(found, titles, leads, f"finding-{number}")
        room -= len(card.encode())
        if room < 0:
            break
        cards.append(card)
    more = phrases.more_findings(len(report.findings) - len(cards))
    return "".join((*cards, *([element("p", more)] if more else [])))


def _finding(found: FleetFinding, titles: Mapping[str, str], leads: Mapping[str, str], place: str) -> str:
    mark, word = _MARKS[found.severity]
    of = f'<span class="severity severity-{found.severity}"><span aria-hidden="true">{mark}</span> {word}</span>'
    server = element("bdi", _named(phrases.name(found.server), leads), "fleet-server")
    title = f'<h3 id="{place}-title">{escape(phrases.summary(found, titles))}</h3>'
    kind = f'class="finding finding-{found.severity}" id="{place}" aria-labelledby="{place}-title"'
    steps = "".join(_step(label, line) for label, line in phrases.instructions(found))
    columns = f'<dl class="steps">{steps}</dl>' if steps else ""
    columns += f'<dl class="effects">{_effect(found.effect)}</dl>' if found.effect is not None else ""
    notes = [f"{_BESIDE[label]} {line}" for label, line in phrases.details(found) if label in _BESIDE]
    foot = element("span", phrases.rule_line(found), "quiet") + _page_link(found.page_url)
    return "".join(
        (
            f'<article {kind}><header class="finding-head">{server}{of}</header>{title}',
            f'<div class="finding-columns">{columns}</div>' if columns else "",
            *(element("p", note, "finding-note") for note in notes),
            _evidence(found),
            f'<footer class="finding-foot">{foot}</footer></article>\n',
        )
    )


def _named(text: str, leads: Mapping[str, str]) -> Content:
    return link(leads[text], text) if text in leads else text


def _shown(text: str, leads: Mapping[str, str]) -> str:
    return link(leads[text], text).html if text in leads else escape(text)


def _step(label: str, line: str) -> str:
    content = f'<div class="code"><code dir="ltr">{escape(line)}</code></div>' if label in _SQL else escape(line)
    return f'<div class="step"><dt>{_NAMES.get(label, label.capitalize())}</dt><dd>{content}</dd></div>'


def _effect(of: Effect) -> str:
    """A quantity now and predicted, with bars on one scale; the light part is how far the prediction may be off."""
    head, said = phrases.line(of.quantity), phrases.line(render_phrases.effect(of))
    numbers = said.removeprefix(f"{head}: ")
    return f'<div class="effect"><dt>{escape(head.capitalize())}</dt><dd>{_bars(of)}<p>{escape(numbers)}</p></dd></div>'


def _bars(of: Effect) -> str:
    off = 0 if of.error is None or of.now is None else of.error * abs(of.now)
    scale = max(of.now or 0, of.predicted) or 1

    def share(amount: float) -> str:
        return f"{min(100.0, max(0.0, 100 * amount / scale)):.4g}%"

    now = "" if of.now is None else f'<rect class="effect-now" width="{share(of.now)}" height="6" rx="1"/>'
    return (
        f'<svg class="effect-bars" aria-hidden="true" width="100%" height="16">{now}'
        f'<rect class="effect-off" width="{share(of.predicted + off)}" height="6" y="9" rx="1"/>'
        f'<rect class="effect-then" width="{share(max(0, of.predicted - off))}" height="6" y="9" rx="1"/></svg>'
    )


def _evidence(found: FleetFinding) -> str:
    rows = [
        (
            visible(each.name.replace("_", " ")),
            visible(render_phrases.quantity(each)),
            visible(each.source),
        )
        for each in found.evidence
    ]
    if not rows:
        return ""
    return details(f"Evidence ({len(rows)})", _rows(("what", "value", "read from"), rows, (1,)))


def _page_link(url: str | None) -> str:
    """A link to the finding on its sidecar's page; of anything but HTTP the text alone."""
    if url is None:
        return ""
    try:
        leads = urlsplit(url).scheme in ("http", "https") and phrases.line(url) == url
    except ValueError:
        leads = False
    return f"<span>{link(url, 'its page').html if leads else escape(phrases.name(url))}</span>"


def _table(section: Section, leads: Mapping[str, str]) -> str:
    note = element("p", section.note) if section.note else ""
    return note + (_rows(section.columns, section.rows, section.right, leads) if section.rows else "")


def _rows(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    right: tuple[int, ...],
    leads: Mapping[str, str] = types.MappingProxyType({}),
) -> str:
    """A table; on a phone each row is a block with the column's name before each value.

    ``leads`` is where cells of these texts lead.
    """
    kinds = [' class="fleet-number"' if number in right else "" for number in range(len(columns))]
    head = "".join(f'<th scope="col"{kind}>{escape(each)}</th>' for each, kind in zip(columns, kinds, strict=True))
    body = "".join(
        "<tr>"
        + "".join(
            f'<td{kind} data-of="{escape(column)}">{_shown(cell, leads)}</td>'
            for column, kind, cell in zip(columns, kinds, row, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return f'<table class="fleet-table"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
