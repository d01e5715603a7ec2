"""A fleet in markdown, for a ticket or a chat."""

from __future__ import annotations

from collections.abc import Mapping

from advisor.contract.fleet import FleetFinding, FleetReport
from advisor.render import fleet_phrases as phrases
from advisor.render.fleet_phrases import Section
from advisor.render.markdown import block, inline, row, statement

_IN_FULL, _FINDINGS, _ROWS = 10, 50, 50
"""Findings with their statements; rows of findings, and of each further table."""


def markdown(report: FleetReport) -> str:
    """The change that saves most, what to change first with its statements, sums, and what is not known."""
    titles = phrases.titles(report)
    lines = ["# innodb-advisor: the fleet", "", *(f"{inline(each)}  " for each in phrases.heading(report)), ""]
    if report.best is not None:
        lines += ["## The one change that saves most", "", *_finding(report.best, titles)]
    if report.findings:
        lines += _section(phrases.first(report, _FINDINGS))
        for found in report.findings[:_IN_FULL]:
            lines += _finding(found, titles)
    for section in phrases.sections(report, _ROWS):
        lines += _section(section)
    return "\n".join(lines)


def _finding(found: FleetFinding, titles: Mapping[str, str]) -> list[str]:
    head = f"### {found.severity.value}: {inline(phrases.name(found.server))}: {inline(phrases.summary(found, titles))}"
    sql = list(map(statement, phrases.instructions(found)))
    told = [f"- {label}: {inline(line)}" for label, line in phrases.details(found)]
    return [head, "", *(block(sql) if sql else []), *told, ""]


def _section(section: Section) -> list[str]:
    lines = [f"## {section.title}", "", *([inline(section.note), ""] if section.note else [])]
    if section.rows:
        marks = ["---:" if number in section.right else "---" for number in range(len(section.columns))]
        lines += [row(section.columns), row(marks), *map(row, section.rows), ""]
    return lines
