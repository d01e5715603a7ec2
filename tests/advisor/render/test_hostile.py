"""Advice whose every text is hostile: shown in each form, obeyed in none."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from advisor.alerting.alert import annotations_of, labels_of, with_outcome
from advisor.contract.links import Links
from advisor.contract.recommendation import (
    Action,
    Advice,
    Blind,
    Change,
    Evidence,
    Failed,
    Recommendation,
    SetAside,
    about,
)
from advisor.contract.sql import identifier
from advisor.contract.visible import visible
from advisor.ledger.entry import Outcome
from advisor.render import advice as documents
from advisor.render import fleet, html, phrases, text
from advisor.render.blocks import STATEMENTS, Instructions, TextDocument
from advisor.render.markdown import inline, markdown
from tests.advisor.fleet import hostile, reports
from tests.advisor.render.reading import ReadPage, in_html, shown, squeezed
from tests.hostile_names import NAMES, raw

LINKS = Links("http://127.0.0.1:9747")


def finding(name: str) -> Recommendation:
    [first, *_] = reports.advice("mysql-9.7/repeated-scan").recommendations
    return first.model_copy(
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
    findings = tuple(map(finding, NAMES))
    return reports.advice("mysql-9.7/repeated-scan").model_copy(
        update={
            "server": " ".join(NAMES),
            "recommendations": findings,
            "overruled": tuple(SetAside(recommendation=aside, reason=aside.summary) for aside in findings),
            "failed": tuple(Failed(rule=name, reason=name) for name in NAMES),
            "blind": tuple(Blind(rule=name, lacks=name, reason=name, cure=name) for name in NAMES),
        }
    )


DOCUMENTS = {
    "advice": documents.advice(advice()),
    "fleet at a terminal": fleet.report(hostile.report(), fleet.TERMINAL),
    "fleet in markdown": fleet.report(hostile.report(), fleet.MARKDOWN),
    "fleet on a page": fleet.report(hostile.report(), fleet.PAGE),
    "fleet that is served": fleet.report(hostile.report(), fleet.PAGE, stale=NAMES[0], advise="advise"),
}
FORMS: dict[str, Callable[[TextDocument], str]] = {"text": text.text, "markdown": markdown, "html": html.file}
BLOCKS = {"h1", "h2", "h3", "p", "br", "pre", "code", "ul", "li", "table", "thead", "tbody", "tr", "th", "td"}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_form_of_a_document_shows_every_name_and_none_raw(document: str, form: str) -> None:
    source = FORMS[form](DOCUMENTS[document])
    source.encode()
    assert not raw(source)
    read = squeezed(shown(form, source))
    assert [name for name in NAMES if squeezed(visible(name)) not in read] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_no_name_is_markdown(document: str) -> None:
    page = ReadPage(in_html(markdown(DOCUMENTS[document])))
    assert page.tags <= BLOCKS
    assert not page.open
    assert [tag for tag, _ in page.elements].count("h1") == 1


@pytest.mark.parametrize("document", DOCUMENTS)
def test_no_name_is_html(document: str) -> None:
    page = ReadPage(html.file(DOCUMENTS[document]))
    assert not page.open
    assert not page.comments
    assert not page.tags & {"script", "img", "iframe", "object", "embed", "form", "base", "i", "b"}
    assert [tag for tag, _ in page.elements].count("style") == 1
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "style"], tag
        assert re.match(r"#|https://|advise\?", attributes.get("href") or "#"), attributes
        assert "src" not in attributes


def test_a_size_that_is_a_text_is_no_comment_beside_its_statement() -> None:
    size = "innodb_buffer_pool_size"
    setting = {"setting": size, "dynamic": True, "rollback": (), "persist": (), "config": "x", "from": None}
    change = Change.model_validate({**setting, "to": "1\nDROP TABLE t", "apply": (f"SET GLOBAL {size} = 1",)})
    [first, *_] = phrases.instructions(finding("a").model_copy(update={"changes": (change,)}))
    assert first == ("apply", f"SET GLOBAL {size} = 1;")


def test_a_chat_calls_nobody() -> None:
    assert "<!channel>" not in inline("<!channel>")


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_what_can_be_pasted_is_the_statement_and_nothing_else_is_one(name: str) -> None:
    sql = f"ANALYZE TABLE {identifier(name)}"
    statement = phrases.statement(sql)
    assert not raw(statement, "")
    assert statement == (f"{sql};" if visible(name) == name else phrases.not_shown(visible(sql)))


def test_a_statement_keeps_the_lines_of_its_author() -> None:
    assert phrases.statement("SELECT 1\nFROM `a`") == "SELECT 1\nFROM `a`;"
    assert phrases.statement("SELECT 1\nFROM `a\nb`").startswith("-- ")
    lines = (("roll back", "SELECT 1\nFROM `a  b`;"), ("do", "this\nand that"))
    block = markdown(TextDocument("", (Instructions(lines),)))
    assert block == "```sql\n-- roll back: SELECT 1\n-- FROM `a  b`;\n-- do: this\\nand that\n```\n"


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_annotations_of_an_alert_show_and_call_nobody(name: str) -> None:
    annotations = annotations_of(finding(name), name, LINKS)
    outcome = Outcome(id="a", at=0.0, changes=())
    for annotation in (*annotations.values(), *with_outcome(annotations, outcome).values()):
        assert not raw(annotation)
        assert not [call for call in ("<!channel>", "<@U", "<https:", "@here") if call in annotation]
    for line in annotations["description"].split("\n"):
        label, _, statement = line.partition(": ")
        if label in STATEMENTS and not statement.startswith(("-- ", "SET ")):
            assert identifier(name) in statement


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_labels_of_an_alert_show_and_call_nobody_as_those_of_the_metrics(name: str) -> None:
    label = labels_of(finding(name), {})["subject"]
    assert not raw(label, "")
    assert not [call for call in ("<!channel>", "<@U", "<https:", "@here") if call in label]
    assert label == about(finding(name).subject) == about({"subject": label})
