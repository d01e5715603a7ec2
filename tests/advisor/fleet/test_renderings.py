"""A fleet as text, CSV, markdown and HTML: everything is said, nothing is run, and no file is endless."""

from __future__ import annotations

import base64
import csv
import functools
import hashlib
import io
import re
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest

from advisor.contract.fleet import FleetBlindSpot, FleetReport, Source, Vanished
from advisor.contract.recommendation import Action, Change
from advisor.contract.visible import visible
from advisor.render import fleet, fleet_csv, html, text
from advisor.render.markdown import markdown
from tests.advisor.fleet import hostile, reports
from tests.advisor.render.reading import ReadPage, shown, squeezed
from tests.hostile_names import NAMES, raw

RENDERINGS: dict[str, Callable[[FleetReport], str]] = {
    "text": lambda report: text.text(fleet.report(report, fleet.TERMINAL)),
    "csv": fleet_csv.csv,
    "markdown": lambda report: markdown(fleet.report(report, fleet.MARKDOWN)),
    "html": lambda report: html.file(fleet.report(report, fleet.PAGE)),
}
FOR_PEOPLE = [name for name in RENDERINGS if name != "csv"]


@pytest.fixture(scope="module")
def everything() -> FleetReport:
    return reports.with_gaps()


@pytest.mark.parametrize("name", FOR_PEOPLE)
def test_a_person_reads_every_part(name: str, everything: FleetReport) -> None:
    document = squeezed(shown(name, RENDERINGS[name](everything)))
    best = everything.best
    assert best is not None
    wanted = [
        best.summary,
        *best.changes[0].apply,
        *best.changes[0].rollback,
        *best.changes[0].persist,
        *(finding.server for finding in everything.findings),
        *(rule.rule for rule in everything.rules),
        *(lack.lacks for lack in everything.blind),
        *(lack.cure for lack in everything.blind if lack.cure),
        everything.not_asked[0].reason,
        "--model-seconds",
        everything.vanished[0].server,
        everything.warnings[0],
        "2 findings suppressed",
        "incomplete answer: store 3 is away",
        "3 judged by their sidecars",
        "2025-11-23 12:00:00 UTC",
    ]
    assert [text for text in wanted if squeezed(text) not in document] == []


def test_the_change_that_saves_most_comes_first(everything: FleetReport) -> None:
    for name in FOR_PEOPLE:
        document = shown(name, RENDERINGS[name](everything))
        sums = ["What to change first", "By rule"]
        titles = ["The one change that saves", *sums, "Blind spots", "Not asked", "Vanished"]
        if name == "html":  # whose findings are hundreds of cards
            titles[1:3] = reversed(sums)
        places = [document.rindex(title) for title in titles]
        assert places == sorted(places), name


@pytest.mark.parametrize("name", FOR_PEOPLE)
def test_a_lack_is_one_line_for_all_the_rules_that_it_blinds(name: str, everything: FleetReport) -> None:
    flag = "--collect.info_schema.tables"
    spots = tuple(
        FleetBlindSpot(
            rule=rule, lacks="rows of tables", source=Source.MYSQLD_EXPORTER, servers=count, examples=("db",), cure=flag
        )
        for rule, count in (
            ("scan-exceeds-buffer-pool", 4),
            ("scan-exceeds-old-sublist", 7),
            ("old-blocks-time-zero", 4),
        )
    )
    report = everything.model_copy(update={"blind": spots})
    document = shown(name, RENDERINGS[name](report))
    assert document.count(flag) == 1
    assert "4 to 7" in document
    assert squeezed(", ".join(spot.rule for spot in spots)) in squeezed(document)


@pytest.mark.parametrize("name", FOR_PEOPLE)
def test_a_verdict_is_said_by_the_title_of_its_rule(name: str, everything: FleetReport) -> None:
    [verdict] = [finding for finding in everything.findings if finding.rule == "count-has-no-small-index"]
    assert verdict.summary == ""
    document = squeezed(shown(name, RENDERINGS[name](everything)))
    [title] = [rule.title for rule in everything.rules if rule.rule == verdict.rule]
    assert squeezed("see its sidecar" if name == "text" else f"{title}: shop.orders") in document


def test_silence_says_what_it_rests_on() -> None:
    nothing: dict[str, Any] = {"findings": (), "rules": (), "top_servers": (), "best": None}
    seen = reports.of("mysql-9.7/idle", **nothing, blind=())
    blind = reports.of("mariadb-11.8/idle", **nothing)
    nobody = reports.of(**nothing, blind=())
    for name in FOR_PEOPLE:
        whole, partly, none = (shown(name, RENDERINGS[name](report)) for report in (seen, blind, nobody))
        assert "Nothing to change." in whole
        assert "Nothing to change in what could be seen" in partly
        assert "No server: Prometheus has no innodb_up" in none
        assert "Nothing to change" not in none
    assert RENDERINGS["csv"](nobody) == f"{fleet_csv.HEADER}\r\n"


def test_csv_has_one_line_for_each_finding_with_the_values_of_the_json(everything: FleetReport) -> None:
    source = fleet_csv.csv(everything)
    assert source.count("\n") == source.count("\r\n") == 1 + len(everything.findings)
    rows = list(csv.DictReader(io.StringIO(source, newline=""), strict=True))
    for row, finding in zip(rows, everything.findings, strict=True):
        assert (row["server"], row["rule"], row["severity"]) == (finding.server, finding.rule, finding.severity)
        parts: tuple[Change | Action, ...] = (*finding.changes, *finding.actions)
        assert row["apply"] == " ".join(f"{sql};" for part in parts for sql in part.apply)
        assert row["setting"].split("; ") == [change.setting for change in finding.changes] or not finding.changes
        if finding.read_bytes_saved_per_second is not None:
            assert float(row["read_bytes_saved_per_second"]) == finding.read_bytes_saved_per_second
        assert row["summary"] == finding.summary
        assert None not in row
        assert None not in row.values()


def test_no_cell_is_a_formula_or_moves_the_cursor() -> None:
    source = fleet_csv.csv(hostile.report())
    assert not raw(source, "\r\n")
    assert source.count("\n") == 1 + len(NAMES)
    rows = list(csv.reader(io.StringIO(source, newline=""), strict=True))
    cells = [cell for row in rows for cell in row if not re.fullmatch(r"-?[\d.]+", cell)]
    first = {unicodedata.normalize("NFKC", cell).lstrip()[:1] for cell in cells}
    assert not first & set("=+-@")
    guarded = [name for name in NAMES if re.match(r"\s*[=+\-@\uff1d]", name)]
    assert {f"'{visible(name)}" for name in guarded if name.isprintable()} <= {row[1] for row in rows}


def test_the_policy_allows_the_one_style_sheet_and_nothing_else(everything: FleetReport) -> None:
    source = RENDERINGS["html"](everything)
    [style] = re.findall("<style>(.*?)</style>", source, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    [policy] = [
        attributes["content"]
        for tag, attributes in ReadPage(source).elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy == html.policy()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert not re.search(r"url\(|@import", style)


def test_fifty_real_findings_are_all_in_a_small_file() -> None:
    report = reports.of(*reports.FEW, copies=8)
    assert 50 <= len(report.findings) < 60
    source = RENDERINGS["html"](report)
    assert len(source.encode()) < 300_000
    assert source.count("<article") >= 50
    assert "more findings are" not in source


@functools.cache
def many(findings: int, length: int) -> FleetReport:
    """A report with so many findings, each on its own server and of its own rule, with texts of such a length."""
    small = hostile.report()
    names = [f"{number:05}{'订' * length}" for number in range(findings)]
    [change] = small.findings[0].changes
    copies = tuple(
        small.findings[number % len(small.findings)].model_copy(
            update={"server": name, "rule": name, "summary": name, "notes": (name,)}
            | {"changes": (change.model_copy(update={"apply": (name,), "config": name, "note": name}),)}
        )
        for number, name in enumerate(names)
    )
    return small.model_copy(
        update={
            "findings": copies,
            "best": copies[0],
            "vanished": tuple(Vanished(server=name, at=0) for name in names),
            "blind": tuple(small.blind[0].model_copy(update={"lacks": name}) for name in names),
            "top_servers": tuple(small.top_servers[0].model_copy(update={"server": name}) for name in names),
            "warnings": tuple(names),
            "not_modelled": tuple(names),
        }
    )


@pytest.mark.parametrize("name", FOR_PEOPLE)
@pytest.mark.parametrize(("findings", "length"), [(20_000, 10), (500, 2_000)])
def test_no_file_for_people_is_endless(name: str, findings: int, length: int) -> None:
    source = RENDERINGS[name](many(findings, length))
    assert len(source.encode()) < 300_000
    document = " ".join(shown(name, source).split())
    assert f"{findings:,} findings on {findings:,} servers" in document
    [left] = re.findall(r"([\d,]+) more findings: see the CSV or the JSON", document)
    assert findings - 200 <= int(left.replace(",", "")) < findings
    assert "more are in the JSON" in document


@pytest.mark.parametrize(("findings", "length"), [(20_000, 10), (500, 150)])
def test_the_page_that_is_served_is_not_endless_either(findings: int, length: int) -> None:
    report = many(findings, length)
    document = fleet.report(report, fleet.PAGE, stale="no new report since yesterday", advise="advise")
    source = html.file(document, old=True)
    assert len(source.encode()) < 300_000
    assert "advise?server=" in source


def test_a_single_finding_has_one_card(everything: FleetReport) -> None:
    report = everything.model_copy(update={"findings": (everything.best,)})
    assert RENDERINGS["html"](report).count("<article") == 1
    assert "What to change first" in RENDERINGS["text"](report)


def test_csv_has_every_finding() -> None:
    assert fleet_csv.csv(many(500, 150)).count("\r\n") == 501


@pytest.mark.parametrize("width", [40, 80, 130])
def test_a_terminal_of_any_width_is_not_overrun(width: int, everything: FleetReport) -> None:
    from rich.cells import cell_len  # noqa: PLC0415 - rich is loaded for text alone

    for report in (everything, hostile.report()):
        lines = text.text(fleet.report(report, fleet.TERMINAL), width).splitlines()
        assert max(map(cell_len, lines)) <= width
