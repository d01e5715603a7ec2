"""Lines of an option file are changed in its text, and nothing else is."""

from __future__ import annotations

import pytest

from advisor.plan.targets.option_block import OptionBlock
from advisor.plan.targets.target import PlanRefused
from tests.advisor.plan.targets.owners import BUFFERING, MARIADB, MYSQL, OLD_BLOCKS, POOL

SECTIONS = """
[mysqld]
innodb_old_blocks_pct=1
[mysqld-9.7]
innodb_old_blocks_pct=2
[mysqld-8.0]
innodb_old_blocks_pct=3
[client]
innodb_old_blocks_pct=4
"""
SKIPPED = "[mysqld]\n# innodb_old_blocks_pct=1\nskip_innodb_old_blocks_pct\n!includedir x\n"


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("", "[mysqld]\ninnodb_old_blocks_pct = 50\n"),
        ("[client]\nport=1", "[client]\nport=1\n[mysqld]\ninnodb_old_blocks_pct = 50\n"),
        ("[mysqld]\n", "[mysqld]\ninnodb_old_blocks_pct = 50\n"),
        ("[mysqld]", "[mysqld]\ninnodb_old_blocks_pct = 50"),
        ("[mysqld]\r\na=1\r\n\r\n# end\r\n", "[mysqld]\r\na=1\r\ninnodb_old_blocks_pct = 50\r\n\r\n# end\r\n"),
        ("[mysqld]\na=1\n[client]\nb=1\n", "[mysqld]\na=1\ninnodb_old_blocks_pct = 50\n[client]\nb=1\n"),
        ("[mysqld]\ninnodb-old-blocks-pct=37 # why\n", "[mysqld]\ninnodb-old-blocks-pct=50 # why\n"),
        ("[server]\n  loose_InnoDB_old_blocks_pct  =  '37'\n", "[server]\n  loose_InnoDB_old_blocks_pct  =  50\n"),
        (SECTIONS, SECTIONS.replace("=2", "=50")),
        (SKIPPED, SKIPPED.replace("!", "innodb_old_blocks_pct = 50\n!")),
    ],
)
def test_the_line_that_counts_is_changed_or_added_where_it_counts(text: str, changed: str) -> None:
    assert OptionBlock().changed(text, (OLD_BLOCKS,), MYSQL) == changed


def test_several_lines_are_changed_together() -> None:
    text = "[mariadb]\ninnodb_buffer_pool_size=128M\n"
    assert OptionBlock().changed(text, (OLD_BLOCKS, POOL, BUFFERING), MARIADB) == (
        "[mariadb]\ninnodb_buffer_pool_size=268435456\ninnodb_old_blocks_pct = 50\ninnodb_change_buffering = all\n"
    )


@pytest.mark.parametrize("text", ["a=1\n", "# x\na=1\n[client]\nb=2\n"])
def test_lines_without_a_header_are_the_servers_where_the_owner_reads_them_so(text: str) -> None:
    assert OptionBlock(headless=True).changed(text, (OLD_BLOCKS,), MYSQL) == text.replace(
        "a=1\n", "a=1\ninnodb_old_blocks_pct = 50\n"
    )
    with pytest.raises(PlanRefused, match=r"line \d: not an option file"):
        OptionBlock().changed(text, (OLD_BLOCKS,), MYSQL)


def test_a_damaged_file_is_refused_with_its_line() -> None:
    with pytest.raises(PlanRefused, match="line 2: not an option file"):
        OptionBlock(headless=True).changed("a=1\n[mysqld\n", (OLD_BLOCKS,), MYSQL)
