"""Answers in pages: each within its bound, nothing lost between them, and names as data."""

from __future__ import annotations

import json

import pytest

from advisor.contract.recommendation import Severity
from advisor.contract.visible import visible
from advisor.ledger.entry import Changed, Outcome
from advisor.ledger.history import History
from advisor.mcp import paragraphs
from advisor.mcp.answers import FindingLine, FindingList
from advisor.mcp.endpoint import NotAnswered
from advisor.mcp.pages import BOUNDS, written
from tests.advisor.building import REPOSITORY, capture
from tests.advisor.mcp.agent import Agent, started
from tests.hostile_names import NAMES

LARGEST = max((REPOSITORY / "tests/captures").glob("*/*/recording.jsonl.gz"), key=lambda path: path.stat().st_size)
MANY = capture("mysql-9.7/tpch-reports")
"""Of many tables."""


def line(name: str) -> FindingLine:
    subject = {"schema": "shop", "table": name}
    return FindingLine(
        server="db1:3306",
        fingerprint="9f2c9f2c9f2c9f2c",
        rule="scan-exceeds-buffer-pool",
        severity=Severity.WARNING,
        subject=subject,
        summary=f"{'.'.join(subject.values())} is scanned 6 times an hour",
    )


def findings(*lines: FindingLine) -> FindingList:
    return FindingList(at=1.0, blind=0, findings=lines)


@pytest.mark.parametrize("recording", [LARGEST, MANY], ids=lambda path: "/".join(path.parts[-3:-1]))
async def test_each_answer_about_a_large_capture_is_within_its_bound(recording: object) -> None:
    async with started("--recording", recording) as agent:
        lines = [line for page in await agent.pages("list_findings") for line in page.answer["findings"]]
        for tool, arguments in (
            ("list_servers", {}),
            ("list_findings", {}),
            *(("get_finding", {"fingerprint": line["fingerprint"]}) for line in lines),
            ("what_if", {"settings": {"innodb_old_blocks_pct": 80, "innodb_buffer_pool_size": "1G"}}),
            ("miss_curve", {}),
            ("forecast_upgrade", {"to": "26.7"}),
            ("get_outcome", {}),
            ("explain_silence", {}),
        ):
            await bounded(agent, tool, **arguments)


async def bounded(agent: Agent, tool: str, **arguments: object) -> None:
    answer = await agent.try_to_ask(tool, **arguments)
    assert answer.tokens < BOUNDS.tokens, tool
    if answer.values is not None:
        for page in await agent.pages(tool, **arguments):
            assert page.tokens < BOUNDS.tokens, (tool, arguments)


def test_pages_have_every_item_once() -> None:
    answer, cursor, names = findings(*(line(f"t{number}") for number in range(100))), None, list[str]()
    for _ in range(100):
        page = written(answer, paragraphs.findings, cursor)
        assert page.length <= BOUNDS.longest
        assert page.paragraph.startswith(f"Items {len(names) + 1} to" if names else "100 findings")
        names += [line["subject"]["table"] for line in page.structured["answer"]["findings"]]
        cursor = page.structured.get("next_cursor")
        assert page.structured.get("left_out", 0) == 100 - len(names)
        if cursor is None:
            break
    assert names == [f"t{number}" for number in range(100)]


@pytest.mark.parametrize("cursor", ["0", "100", "-1", "x", "٣"])
def test_a_cursor_of_something_else_is_refused(cursor: str) -> None:
    with pytest.raises(NotAnswered, match="pass next_cursor of the page before"):
        written(findings(line("a"), line("b")), paragraphs.findings, cursor)


@pytest.mark.parametrize("name", NAMES)
def test_names_show_and_are_quoted(name: str) -> None:
    page = written(findings(line(name)), paragraphs.findings)
    [shown] = page.structured["answer"]["findings"]
    assert shown["subject"]["table"] == visible(name)
    quoted = json.dumps(visible(f"shop.{name}"))
    assert shown["summary"].startswith(f"{quoted} is scanned")
    assert quoted in page.paragraph
    for text in (page.paragraph, page.text):
        assert visible(text) == text


def test_a_text_without_end_is_cut() -> None:
    page = written(findings(line("w" * 100_000)), paragraphs.findings)
    assert page.length <= BOUNDS.longest


def test_a_statement_is_whole_or_a_comment() -> None:
    def outcome(undo: str) -> History:
        changed = Changed(setting="innodb_old_blocks_pct", before=37, after=95, undo=(undo,))
        return History(kept=False, outcomes=(Outcome(id="1", at=1.0, changes=(changed,)),), findings=())

    for sent, shown in (
        ("SET GLOBAL innodb_old_blocks_pct = 37", "SET GLOBAL innodb_old_blocks_pct = 37"),
        ("SET GLOBAL a = '\u202e'", "-- this name cannot be shown as it is"),
        (f"SET GLOBAL a = '{'w' * 5_000}'", "-- 5,017 characters, which an answer has no room for"),
    ):
        page = written(outcome(sent), paragraphs.history)
        [statement] = page.structured["answer"]["outcomes"][0]["changes"][0]["undo"]
        assert statement.startswith(shown)
        assert page.length <= BOUNDS.longest
