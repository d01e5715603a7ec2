"""Advice whose every text is hostile: shown in each form, obeyed in none."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from markdown_it import MarkdownIt

from advisor.alerting.alert import annotations_of, labels_of, with_outcome
from advisor.contract.links import Links
from advisor.contract.recommendation import Action, Advice, Blind, Evidence, Failed, Recommendation, SetAside, about
from advisor.contract.sql import identifier
from advisor.contract.visible import visible
from advisor.ledger.entry import Outcome
from advisor.render import advice as documents
from advisor.render import html, phrases, text
from advisor.render.document import STATEMENTS, Instructions, TextDocument
from advisor.render.markdown import inline, markdown
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


@pytest.mark.parametrize("form", [text.text, markdown, html.html, html.file])
def test_nothing_raw_is_in_any_form(form: Callable[[TextDocument], str], everything: Advice) -> None:
    said = form(documents.advice(everything))
    said.encode()
    assert not raw(said)


def test_a_terminal_shows_every_name_in_one_line(everything: Advice) -> None:
    said = squeezed(text.text(documents.advice(everything)))
    assert [each for each in NAMES if squeezed(visible(each)) not in said] == []


def test_markdown_shows_every_name_and_obeys_none(everything: Advice) -> None:
    written = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown(documents.advice(everything)))
    page = Page(written)
    assert [each for each in NAMES if squeezed(visible(each)) not in squeezed(page.text)] == []
    assert not page.tags & {"a", "img", "em", "strong", "s", "script", "style", "hr", "blockquote", "ol"}
    assert "<!channel>" not in inline("<!channel>")


def test_html_shows_every_name_and_obeys_none(everything: Advice) -> None:
    for source in (
        html.page(NAMES[0], html.html(documents.advice(everything))),
        html.file(documents.advice(everything)),
    ):
        page = Page(source)
        assert not page.tags & {"script", "img", "i", "b"}
        assert [each for each in NAMES if squeezed(visible(each)) not in squeezed(page.text)] == []


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_what_can_be_pasted_is_the_statement_and_nothing_else_is_one(name: str) -> None:
    sql = f"ANALYZE TABLE {identifier(name)}"
    said = phrases.statement(sql)
    assert not raw(said, "")
    assert said == (f"{sql};" if visible(name) == name else phrases.not_shown(visible(sql)))


def test_a_statement_keeps_the_lines_of_its_author() -> None:
    assert phrases.statement("SELECT 1\nFROM `a`") == "SELECT 1\nFROM `a`;"
    assert phrases.statement("SELECT 1\nFROM `a\nb`").startswith("-- ")
    lines = (("roll back", "SELECT 1\nFROM `a  b`;"), ("do", "this\nand that"))
    block = markdown(TextDocument("", (Instructions(lines),)))
    assert block == "```sql\n-- roll back: SELECT 1\n-- FROM `a  b`;\n-- do: this\\nand that\n```\n"


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
        if label in STATEMENTS and not said.startswith(("-- ", "SET ")):
            assert identifier(name) in said


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_labels_of_an_alert_show_and_call_nobody_as_those_of_the_metrics(name: str) -> None:
    label = labels_of(finding(name), {})["subject"]
    assert not raw(label, "")
    assert not [call for call in ("<!channel>", "<@U", "<https:", "@here") if call in label]
    assert label == about(finding(name).subject) == about({"subject": label})
