"""Advice whose every text is hostile: shown in each form, obeyed in none."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest
from markdown_it import MarkdownIt

from advisor.alerting.alert import annotations_of, labels_of, with_outcome
from advisor.contract.json_text import json_of
from advisor.contract.links import Links
from advisor.contract.recommendation import Action, Advice, Blind, Evidence, Failed, Recommendation, SetAside, about
from advisor.contract.sql import identifier
from advisor.contract.visible import visible
from advisor.ledger.entry import Outcome
from advisor.render import html, markdown, phrases, svg, text
from tests.advisor.fleet import reports
from tests.advisor.fleet.test_renderings import Page, squeezed
from tests.hostile_names import NAMES, raw

LINKS = Links("http://127.0.0.1:9747")


def finding(name: str) -> Recommendation:
    [found, *_] = reports.advice("mysql-9.7/repeated-scan").recommendations
    return found.model_copy(
        update={
            "summary": name,
            "why": name,
            "subject": {"schema": name, "table": name},
            "evidence": (Evidence(name=name, value=name, unit=name, source=name),),
            "actions": (
                Action(
                    do=name,
                    apply=(f"ANALYZE TABLE {identifier(name)}",),
                    rollback=(f"ALTER TABLE {identifier(name)} DROP INDEX a",),
                ),
            ),
        }
    )


def advice() -> Advice:
    found = tuple(map(finding, NAMES))
    return reports.advice("mysql-9.7/repeated-scan").model_copy(
        update={
            "server": " ".join(NAMES),
            "recommendations": found,
            "overruled": tuple(SetAside(recommendation=each, reason=each.summary) for each in found),
            "failed": tuple(Failed(rule=each, reason=each) for each in NAMES),
            "blind": tuple(Blind(rule=each, lacks=each, reason=each, cure=each) for each in NAMES),
        }
    )


@pytest.fixture(scope="module")
def everything() -> Advice:
    return advice()


@pytest.mark.parametrize("form", [text.plain, markdown.markdown, json_of])
def test_nothing_raw_is_in_any_form(form: Callable[[Advice], str], everything: Advice) -> None:
    said = form(everything)
    said.encode()
    assert not raw(said)


def test_a_terminal_shows_every_name_in_one_line(everything: Advice) -> None:
    said = squeezed(text.plain(everything))
    assert [each for each in NAMES if squeezed(visible(each)) not in said] == []


def test_markdown_shows_every_name_and_obeys_none(everything: Advice) -> None:
    written = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown.markdown(everything))
    page = Page(written)
    assert [each for each in NAMES if squeezed(visible(each)) not in squeezed(page.text)] == []
    assert not page.tags & {"a", "img", "em", "strong", "s", "script", "style", "hr", "blockquote", "ol"}
    assert "<!channel>" not in markdown.inline("<!channel>")


def test_html_shows_every_name_and_obeys_none() -> None:
    rows = [(each, each) for each in NAMES]
    source = html.page(NAMES[0], html.table(NAMES, rows) + html.preformatted("\n".join(NAMES)))
    page = Page(source)
    assert not raw(source)
    assert not page.tags & {"script", "img", "style", "i", "b"}
    assert [each for each in NAMES if squeezed(visible(each)) not in squeezed(page.text)] == []


def test_a_picture_shows_every_name() -> None:
    root = svg.picture(10, 10, "\n".join(NAMES), "", "")
    for each in NAMES:
        svg.label(root, 0, 0, each, "")
    said = svg.document(root)
    assert not raw(said)
    read = [each.text for each in ET.fromstring(said) if each.tag.endswith("text")]  # noqa: S314 - our own
    assert read == [visible(each) or None for each in NAMES]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_what_can_be_pasted_is_the_statement_and_nothing_else_is_one(name: str) -> None:
    sql = f"ANALYZE TABLE {identifier(name)}"
    said = phrases.statement(sql)
    assert not raw(said, "")
    assert said == (f"{sql};" if visible(name) == name else phrases.not_shown(visible(sql)))


def test_a_statement_keeps_the_lines_of_its_author() -> None:
    assert phrases.statement("SELECT 1\nFROM `a`") == "SELECT 1\nFROM `a`;"
    assert phrases.statement("SELECT 1\nFROM `a\nb`").startswith("-- ")
    assert markdown.statement(("roll back", "SELECT 1\nFROM a;")) == "-- roll back: SELECT 1\n-- FROM a;"
    assert markdown.statement(("roll back", "SELECT 1 FROM `a  b`;")) == "-- roll back: SELECT 1 FROM `a  b`;"


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_annotations_of_an_alert_show_and_call_nobody(name: str) -> None:
    found = finding(name)
    told = annotations_of(found, name, LINKS)
    outcome = Outcome(id="a", at=0.0, changes=())
    for each in (*told.values(), *with_outcome(told, outcome).values()):
        assert not raw(each)
        assert not [call for call in ("<!channel>", "<@U", "<https:", "@here") if call in each]
    for line in told["description"].split("\n"):
        label, _, said = line.partition(": ")
        if label in phrases.STATEMENTS and not said.startswith(("-- ", "SET ")):
            assert identifier(name) in said


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_labels_of_an_alert_show_and_call_nobody_as_those_of_the_metrics(name: str) -> None:
    label = labels_of(finding(name), {})["subject"]
    assert not raw(label, "")
    assert not [call for call in ("<!channel>", "<@U", "<https:", "@here") if call in label]
    assert label == about(finding(name).subject) == about({"subject": label})
