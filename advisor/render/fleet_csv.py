"""A fleet's findings as CSV (RFC 4180): one line a finding, for spreadsheets and scripts."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from csv import writer

from advisor.contract.fleet import FleetFinding, FleetReport, FleetServer
from advisor.contract.recommendation import Action, Change, Number
from advisor.contract.visible import visible
from advisor.render.phrases import statement

COLUMNS = (
    "severity",
    "rule",
    "server",
    "subject",
    "setting",
    "from",
    "to",
    "apply",
    "rollback",
    "persist",
    "option_file",
    "where",
    "action",
    "read_bytes_saved_per_second",
    "quantity",
    "now",
    "predicted",
    "unit",
    "confidence",
    "source",
    "flavour",
    "version",
    "notes",
    "summary",
    "fingerprint",
    "page",
)
"""The names of the columns. New ones come last."""
_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20|]")
"""The beginning of what a spreadsheet may take for a formula, in ASCII and in full width."""


def csv(report: FleetReport) -> str:
    r"""All findings in the report's order, under a line of names. Lines end with CRLF.

    A text that a spreadsheet would run as a formula has an apostrophe before it. Characters that do not show, line
    ends among them, are escaped as in ``\x1b``: the JSON has every name as it is. Several values are joined by "; ".
    """
    servers = {each.name: each for each in report.servers}
    out = io.StringIO()
    lines = writer(out, lineterminator="\r\n")
    lines.writerow(COLUMNS)
    lines.writerows(map(_safe, _row(each, servers.get(each.server))) for each in report.findings)
    return out.getvalue()


def _row(found: FleetFinding, server: FleetServer | None) -> Iterator[Number | str | None]:
    changes, effect = found.changes, found.effect
    parts: tuple[Change | Action, ...] = (*changes, *found.actions)
    yield from (found.severity.value, found.rule, found.server)
    yield _joined([f"{key}={value}" for key, value in found.subject.items()])
    yield _joined([each.setting for each in changes])
    yield _one([each.from_ for each in changes])
    yield _one([each.to for each in changes])
    yield _statements([sql for each in parts for sql in each.apply])
    yield _statements([sql for each in parts for sql in each.rollback])
    yield _statements([sql for each in changes for sql in each.persist])
    yield _joined([each.config for each in changes])
    yield _joined([*dict.fromkeys(each.via for each in changes)])
    yield _joined([each.do for each in found.actions])
    yield found.read_bytes_saved_per_second
    yield from (None,) * 4 if effect is None else (effect.quantity, effect.now, effect.predicted, effect.unit)
    yield found.confidence
    yield found.source.value
    yield from (None, None) if server is None else (server.flavour, server.version)
    yield _joined([*found.notes, *(each.note for each in changes if each.note)])
    yield from (found.summary, found.fingerprint, found.page_url)


def _one(values: Sequence[Number | str | None]) -> Number | str | None:
    """The value, as a number where it is one; several as a text."""
    return values[0] if len(values) == 1 else _joined(["" if each is None else str(each) for each in values])


def _statements(sql: Sequence[str]) -> str:
    return " ".join(statement(each).replace("\n", " ") for each in sql)


def _joined(texts: Sequence[str]) -> str:
    return "; ".join(texts)


def _safe(cell: Number | str | None) -> Number | str | None:
    if not isinstance(cell, str):
        return cell
    shown = visible(cell)
    return f"'{shown}" if _FORMULA.match(shown) else shown
