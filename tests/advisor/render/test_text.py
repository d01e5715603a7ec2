"""Advice for people says all that the JSON says, in words and lines that can be copied."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from rich.console import Console

from advisor.advice import evaluation
from advisor.contract import templates
from advisor.contract.recommendation import Action, Advice, Change, Recommendation, SetAside
from advisor.observe.window import Window
from advisor.render import advice as documents
from advisor.render import text
from advisor.render.markdown import markdown
from advisor.rules import check
from advisor.rules.configuration import Suppression
from tests.advisor.building import RULES_FOLDER, captured, server, snapshot
from tests.advisor.sidecar import write_unlike

MakeRule = Callable[..., check.Rule]
SCAN = check.load_file(RULES_FOLDER / "scan-exceeds-old-sublist.yaml")


def printed(advice: Advice, width: int = 200) -> str:
    out = io.StringIO()
    text.show(documents.advice(advice), Console(file=out, width=width))
    return out.getvalue()


def in_text(advice: Advice) -> str:
    return text.text(documents.advice(advice))


def in_markdown(advice: Advice) -> str:
    return markdown(documents.advice(advice))


def finding_in_text(finding: Recommendation | SetAside) -> str:
    return text.text(documents.finding(finding))


def finding_in_markdown(finding: Recommendation | SetAside) -> str:
    return markdown(documents.finding(finding))


def scanned(name: str = "mysql-9.7/repeated-scan") -> Advice:
    return evaluation.advise([SCAN], captured(name))


@pytest.fixture
def unlike(tmp_path: Path) -> Advice:
    """Where findings end in every way there is."""
    unwanted = Suppression(rule="unwanted", reason="on purpose", until=date(2100, 1, 1))
    rules = (SCAN, *check.load(write_unlike(tmp_path / "rules")))
    return evaluation.advise(rules, captured("mysql-9.7/repeated-scan"), suppressions=[unwanted])


def test_advice_names_the_table_the_sql_and_the_evidence() -> None:
    advice = scanned()
    [finding] = advice.recommendations
    shown = printed(advice)
    pct = finding.changes[0].to
    assert finding.effect is not None
    for line in (
        f"warning  {finding.summary}",
        f"apply       SET GLOBAL innodb_old_blocks_pct = {pct};",
        "roll back   SET GLOBAL innodb_old_blocks_pct = 37;",
        f"keep        SET PERSIST innodb_old_blocks_pct = {pct};",
        f"option file innodb_old_blocks_pct = {pct}",
        f"effect      pages read per pass: {finding.effect.now:,} -> 0 (expect 0 to ",
        f"or          {finding.alternatives[0].change.config}: pages read per pass: {finding.effect.now:,} -> 0 ",
        "or          innodb_buffer_pool_size = 384 MiB: pages read per pass: ",
        "a63178a321b3b23c",
        "mysql.innodb_index_stats, size of the scanned index",
    ):
        assert line in shown
    assert re.search(r"shop\.orders \(\d+\.?\d* MiB\) was scanned \d+ times in \d+ s", shown)


def test_a_server_without_set_persist_gets_no_such_line() -> None:
    assert "keep  " not in printed(scanned("mysql-5.6/repeated-scan"))


def test_silence_is_said() -> None:
    assert printed(scanned("mysql-9.7/idle")).splitlines()[1:] == [documents.NOTHING]


def test_what_rules_could_not_see_comes_with_its_cure() -> None:
    shown = printed(scanned("mariadb-10.11/read-ahead-wasted"))
    assert "Blind rules: data they need is missing\n" in shown
    assert "performance_schema is OFF" in shown
    assert "add performance_schema = ON" in shown


def test_an_action_is_said_with_its_statements(unlike: Advice) -> None:
    shown = in_text(unlike)
    assert "  do          Add an index\n" in shown
    assert "  apply       CREATE INDEX a ON t (a);\n" in shown
    assert "  roll back   DROP INDEX a ON t;\n" in shown
    assert "```sql\n-- do: Add an index\nCREATE INDEX a ON t (a);\n-- roll back: DROP INDEX a ON t;\n```" in (
        in_markdown(unlike)
    )


def test_what_is_set_aside_or_broken_comes_after_what_is_advised(unlike: Advice) -> None:
    [overruled] = unlike.overruled
    for shown in (in_text(unlike), in_markdown(unlike)):
        titles = [
            "Overruled by another recommendation",
            "Suppressed by the configuration",
            "Failed rules: their advice is unknown",
        ]
        places = [shown.index(title) for title in (*[finding.summary for finding in unlike.recommendations], *titles)]
        assert places == sorted(places)
        parts = re.split("|".join(titles), shown)
        assert overruled.recommendation.fingerprint in parts[1]
        assert "follow the first" in " ".join(parts[1].split())
        assert "the rule unwanted is suppressed until 2100-01-01: on purpose" in parts[2]
        assert "a division by zero?" in parts[3]
        assert "only-on-the-moon" not in shown


def test_a_finding_that_is_set_aside_says_why(unlike: Advice) -> None:
    for aside in (*unlike.overruled, *unlike.suppressed):
        for shown in (finding_in_text(aside), finding_in_markdown(aside)):
            assert f"Set aside: {aside.reason}" in " ".join(shown.split())
            assert aside.recommendation.changes[0].apply[0] in shown
            assert aside.recommendation.fingerprint in shown


def test_one_recommendation_is_shown_as_among_others(unlike: Advice) -> None:
    whole = in_markdown(unlike)
    for finding in unlike.recommendations:
        assert finding_in_text(finding) in in_text(unlike)
        title, _, rest = finding_in_markdown(finding).partition("\n")
        assert f"#{title}\n{rest}" in whole


def test_a_change_that_is_made_elsewhere_says_where_and_what_to_know() -> None:
    advice = scanned()
    [finding] = advice.recommendations
    elsewhere = finding.changes[0].model_copy(
        update={"apply": (), "rollback": (), "persist": (), "via": "DB parameter group", "note": "It needs a restart."}
    )
    shown = finding_in_text(finding.model_copy(update={"changes": (elsewhere,)}))
    assert shown.splitlines()[1:4] == [
        f"  set         {elsewhere.config}",
        "  where       DB parameter group",
        "  note        It needs a restart.",
    ]


def test_no_line_of_a_block_does_more_than_apply(unlike: Advice) -> None:
    """A block that is pasted whole applies the changes and takes nothing back."""
    for finding in unlike.recommendations:
        [block] = re.findall(r"```sql\n(.*?)```", finding_in_markdown(finding), re.DOTALL)
        run = [line for line in block.splitlines() if not line.startswith("-- ")]
        parts: tuple[Change | Action, ...] = (*finding.changes, *finding.actions)
        applied = [statement for part in parts for statement in part.apply]
        assert run == [f"{statement};" for statement in applied]


def test_brackets_in_a_version_are_no_markup() -> None:
    odd = server("9.7.4-[/bold]custom[red]")
    advice = evaluation.advise([SCAN], Window((snapshot(10, of=odd), snapshot(20, of=odd))))
    assert printed(advice).startswith("mysql 9.7.4-[/bold]custom[red], watched 10 s\n")


def test_names_are_no_markdown() -> None:
    [finding] = scanned().recommendations
    odd = finding.model_copy(
        update={
            "summary": "a|b <b>x</b> `y` *z* [l](u)\n# h",
            "actions": (Action(do="drop ```x```\nDROP TABLE t", apply=("DROP INDEX ```` ON t",)),),
        }
    )
    shown = finding_in_markdown(SetAside(recommendation=odd, reason="a|b"))
    assert r"# warning: a\|b &lt;b>x&lt;/b> \`y\` \*z\* \[l\](u)\\n# h" in shown
    assert "\nSet aside: a\\|b\n" in shown
    assert "\n-- do: drop ```x```\\nDROP TABLE t\n" in shown  # a comment to its end
    assert re.search(r"^`````sql$.*^`````$", shown, re.MULTILINE | re.DOTALL)


def test_a_narrow_terminal_loses_nothing() -> None:
    narrow = "".join(printed(scanned(), width=60).split())
    for word in ("SET GLOBAL innodb_old_blocks_pct = 64;", "read from disk each time", "buf_LRU_old_adjust_len"):
        assert word.replace(" ", "") in narrow


def test_markdown_has_the_sql_in_a_block_and_the_evidence_in_a_table() -> None:
    advice = scanned()
    [finding] = advice.recommendations
    shown = in_markdown(advice)
    assert shown.startswith("# innodb-advisor: mysql 9.7.")
    assert f"## warning: {finding.summary}\n\n```sql\n{finding.changes[0].apply[0]};\n-- roll back: SET GLOBAL" in shown
    pages = f"{finding.evidence[0].value:,} pages"
    assert f"| table pages | {pages} | mysql.innodb_index_stats, size of the scanned index |" in shown


def test_markdown_says_silence_and_blindness() -> None:
    shown = in_markdown(scanned("mariadb-10.11/read-ahead-wasted"))
    assert documents.NOTHING in shown
    [row] = [line for line in shown.split("\n") if "performance_schema is OFF" in line]  # once, whatever it blinds
    assert re.match(r"\| \S.*table_scans \| .*scan-exceeds-old-sublist \| performance_schema is OFF \| add perf", row)


def test_a_recommendation_of_nothing_but_words_is_shown() -> None:
    [finding] = scanned().recommendations
    bare = Recommendation.model_validate(
        finding.model_dump(by_alias=True)
        | {"changes": (), "evidence": (), "effect": None, "cost": None, "others": None, "alternatives": ()}
        | {"since": None, "actions": ({"do": "Ask somebody"},)}
    )
    assert "  do          Ask somebody\n  rule " in finding_in_text(bare)
    assert "Effect" not in finding_in_markdown(bare)


@pytest.mark.parametrize(("seconds", "words"), [(0.4, "0 s"), (119.4, "119 s"), (120.0, "2 min"), (3600.0, "60 min")])
def test_a_duration_is_in_seconds_or_minutes(seconds: float, words: str) -> None:
    assert templates.duration(seconds) == words
