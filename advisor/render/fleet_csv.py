"""A fleet's findings as CSV (RFC 4180): one line a finding, for spreadsheets and scripts."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from csv import writer

from advisor.contract.fleet import FleetFinding, FleetReport, FleetServer
from advisor.contract.recommendation import Action, Change, Number
from advisor.contract.visible import visible
from advisor.render.phrases import statement

HEADER = (
    "severity,rule,server,subject,setting,from,to,apply,rollback,persist,option_file,where,action,"
    "read_bytes_saved_per_second,quantity,now,predicted,unit,confidence,source,flavour,version,notes,summary,fingerprint,page"
)
"""The first line: names of the columns. New ones come last."""
_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20|]")
"""The beginning of what a spreadsheet may take for a formula, in ASCII and in full width."""


def csv(report: FleetReport) -> str:
    r"""All findings in the report's order, under a line of names. Lines end with CRLF.

    A text that a spreadsheet would run as a formula has an apostrophe before it. Characters that do not show, line
    ends among them, are escaped as in ``\x1b``: the JSON has every name as it is. Several values are joined by "; ".
    """
    servers = {server.name: server for server in report.servers}
    file = io.StringIO()
    file.write(f"{HEADER}\r\n")
    writer(file, lineterminator="\r\n").writerows(
        map(_safe, _row(finding, servers.get(finding.server))) for finding in report.findings
    )
    return file.getvalue()


def _row(finding: FleetFinding, server: FleetServer | None) -> Iterator[Number | str | None]:
    changes, effect = finding.changes, finding.effect
    parts: tuple[Change | Action, ...] = (*changes, *finding.actions)
    yield from (finding.severity.value, finding.rule, finding.server)
    yield "; ".join(f"{key}={value}" for key, value in finding.subject.items())
    yield "; ".join(change.setting for change in changes)
    yield _one([change.from_ for change in changes])
    yield _one([change.to for change in changes])
    yield _statements(sql for part in parts for sql in part.apply)
    yield _statements(sql for part in parts for sql in part.rollback)
    yield _statements(sql for change in changes for sql in change.persist)
    yield "; ".join(change.config for change in changes)
    yield "; ".join(dict.fromkeys(change.via for change in changes))
    yield "; ".join(action.do for action in finding.actions)
    yield finding.read_bytes_saved_per_second
    yield from (None,) * 4 if effect is None else (effect.quantity, effect.now, effect.predicted, effect.unit)
    yield finding.confidence
    yield finding.source.value
    yield from (None, None) if server is None else (server.flavour, server.version)
    yield "; ".join((*finding.notes, *(change.note for change in changes if change.note)))
    yield from (finding.summary, finding.fingerprint, finding.page_url)


def _one(values: Sequence[Number | str | None]) -> Number | str | None:
    """The value, as a number where it is one; several as a text."""
    return values[0] if len(values) == 1 else "; ".join("" if value is None else str(value) for value in values)


def _statements(statements: Iterable[str]) -> str:
    return " ".join(statement(sql).replace("\n", " ") for sql in statements)


def _safe(cell: Number | str | None) -> Number | str | None:
    if not isinstance(cell, str):
        return cell
    shown = visible(cell)
    return f"'{shown}" if _FORMULA.match(shown) else shown
