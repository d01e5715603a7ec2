"""Advice for people says all that the JSON says, in words and lines that can be copied."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from advisor import summary, text
from advisor.recommendation import Advice
from advisor.window import Window
from tests.advisor.building import advised, captured, server, snapshot


def printed(advice: Advice, width: int = 200) -> str:
    out = io.StringIO()
    text.print_advice(Console(file=out, width=width), advice)
    return out.getvalue()


def test_advice_names_the_table_the_sql_and_the_evidence() -> None:
    advice = advised(captured("mysql-9.7/repeated-scan"))
    [found] = advice.recommendations
    shown = printed(advice)
    pct = found.changes[0].to
    for line in (
        f"warning  {found.summary}",
        f"apply       SET GLOBAL innodb_old_blocks_pct = {pct};",
        "take back   SET GLOBAL innodb_old_blocks_pct = 37;",
        f"keep        SET PERSIST innodb_old_blocks_pct = {pct};",
        f"option file innodb_old_blocks_pct = {pct}",
        f"effect      pages read per pass: {found.effect.now:,} -> 0",
        "a63178a321b3b23c",
        "mysql.innodb_index_stats, size of the clustered index",
    ):
        assert line in shown
    assert re.search(r"shop\.orders \(\d+\.?\d* MiB\) was scanned \d+ times in \d+ s", shown)


def test_a_server_without_set_persist_gets_no_such_line() -> None:
    assert "keep  " not in printed(advised(captured("mysql-5.6/repeated-scan")))


def test_silence_is_said() -> None:
    assert printed(advised(captured("mysql-9.7/idle"))).splitlines()[1:] == [
        "Nothing to change, as far as has been watched."
    ]


def test_what_rules_could_not_see_comes_with_its_cure() -> None:
    shown = printed(advised(captured("mariadb-11.8/idle")))
    assert "What the rules could not see:" in shown
    assert "performance_schema is OFF" in shown
    assert "add performance_schema = ON" in shown


def test_brackets_in_a_version_are_no_markup() -> None:
    odd = server("9.7.4-[/bold]custom[red]")
    advice = advised(Window((snapshot(10, of=odd), snapshot(20, of=odd))))
    assert printed(advice).startswith("mysql 9.7.4-[/bold]custom[red], watched 10 s\n")


def test_a_narrow_terminal_loses_nothing() -> None:
    advice = advised(captured("mysql-9.7/repeated-scan"))
    narrow = "".join(printed(advice, width=60).split())
    for word in ("SET GLOBAL innodb_old_blocks_pct = 60;", "read from disk each time", "buf_LRU_old_adjust_len"):
        assert word.replace(" ", "") in narrow


def test_markdown_has_the_sql_in_a_block_and_the_evidence_in_a_table() -> None:
    advice = advised(captured("mysql-9.7/repeated-scan"))
    [found] = advice.recommendations
    shown = text.markdown(advice)
    assert shown.startswith("# innodb-advisor: mysql 9.7.")
    assert f"## warning: {found.summary}\n\n```sql\n{found.changes[0].apply[0]};\n-- take back: SET GLOBAL" in shown
    pages = f"{found.evidence[0].value:,} pages"
    assert f"| table pages | {pages} | mysql.innodb_index_stats, size of the clustered index |" in shown


def test_markdown_says_silence_and_blindness() -> None:
    shown = text.markdown(advised(captured("mariadb-11.8/idle")))
    assert "Nothing to change, as far as has been watched." in shown
    assert "| scan-exceeds-old-sublist | table_scans | performance_schema is OFF | add performance_schema = ON" in shown


@pytest.mark.parametrize(("seconds", "words"), [(0.4, "0 s"), (119.4, "119 s"), (120.0, "2 min"), (3600.0, "60 min")])
def test_a_duration_is_in_seconds_or_minutes(seconds: float, words: str) -> None:
    assert summary.duration(seconds) == words
