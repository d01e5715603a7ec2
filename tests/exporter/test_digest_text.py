"""Tables in digest texts, as MySQL 5.6, MySQL 9.7 and MariaDB 11.8 print them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.digest_text import tables_read


def named(text: str) -> set[str]:
    return {name if schema is None else f"{schema}.{name}" for schema, name in tables_read(text)}


@pytest.mark.parametrize(
    ("text", "tables"),
    [
        ("SELECT SUM ( `LENGTH` ( `filler` ) ) FROM `shop` . `orders` ", "shop.orders"),
        ("SELECT `o` . `orders` FROM `summary` `o`", "summary"),
        ("SELECT `orders` . `k` FROM `shop` . `orders`", "shop.orders"),
        ("SELECT TRIM ( LEADING ? FROM `orders` ) FROM `summary`", "summary"),
        ("SELECT * FROM `summary` WHERE EXTRACT ( YEAR FROM NOW ( ) ) = `orders`", "summary"),
        ("SELECT * FROM `summary` `s` , `orders` `o` WHERE `s` . `k` = `o` . `k`", "orders summary"),
        ("SELECT * FROM `a` JOIN `b` ON `a` . `x` = `b` . `x` , `c` GROUP BY `d` , `e`", "a b c"),
        ("SELECT STRAIGHT_JOIN `a` FROM `b` AS `o` STRAIGHT_JOIN `c` WHERE `o` . `id` IN (...)", "b c"),
        ("SELECT * FROM ( ( `orders` JOIN `summary` USING ( `k` ) ) )", "orders summary"),
        ("SELECT * FROM ( SELECT ID FROM `orders` ) `orders2`", "orders"),
        ("SELECT ? FROM `summary` WHERE EXISTS ( SELECT ? FROM `orders` WHERE `a` = `b` )", "orders summary"),
        ("SELECT IF ( `a` , `b` , `c` ) , ( SELECT MAX ( `x` ) FROM `m` ) FROM `n` ORDER BY `x` , `y`", "m n"),
        ("( SELECT ? FROM `a` ) UNION ALL ( SELECT ? FROM `b` )", "a b"),
        ("SELECT * FROM `a` USE INDEX ( `k` ) , `b` FOR UPDATE", "a b"),
        ("SELECT * FROM `orders` PARTITION ( `p0` )", "orders"),
        ("TABLE `orders`", "orders"),
        ("INSERT INTO `orders` VALUES (...) ON DUPLICATE KEY UPDATE `k` = ?", "orders"),
        ("INSERT INTO `summary` ( `orders` , `k` ) SELECT `a` , `k` FROM `b`", "b summary"),
        ("INSERT INTO `t` ( SELECT * FROM `u` )", "t u"),
        ("INSERT IGNORE INTO `a` SELECT * FROM `b`", "a b"),
        ("REPLACE `orders` VALUES (...)", "orders"),
        ("UPDATE `summary` , `orders` SET `summary` . `k` = ? WHERE ? = ?", "orders summary"),
        ("DELETE `o` FROM `orders` `o` JOIN `summary` `s` ON `s` . `k` = `o` . `k`", "orders summary"),
        ("DELETE FROM `a` WHERE `id` IN ( SELECT `id` FROM `b` , `c` )", "a b c"),
        ("CHECK TABLE `summary` , `orders`", "orders summary"),
        ("ALTER TABLE `orders` ADD INDEX `kk` ( `k` )", "orders"),
        ("CREATE INDEX `k3` ON `orders` ( `k` )", "orders"),
        ("CREATE TABLE `t` SELECT * FROM `orders`", "orders"),
        ("SELECT * FROM `o`d-d` . `we`ird t`", "o`d-d.we`ird t"),  # MySQL
        ("SELECT * FROM `o``d-d` . `we``ird t` ", "o`d-d.we`ird t"),  # MariaDB
        ("SELECT * FROM `Großé漢字`", "Großé漢字"),
        ("SELECT * FROM SYSTEM_USER `u`", "SYSTEM_USER"),  # a table called user
        ("WITH `orders` AS ( SELECT ? ) SELECT * FROM `orders`", "orders"),  # nobody tells that it is none
        ("SELECT `a` , `b` FROM `shop` . `orders` WHERE `c` = ...", "shop.orders"),
        ("SELECT ? FROM", ""),
        ("CREATE TABLE `orders` ( `id` INTEGER PRIMARY KEY )", ""),
        ("EXPLAIN SELECT * FROM `orders`", ""),
        ("SHOW FIELDS FROM `orders`", ""),
        ("TRUNCATE TABLE `orders`", ""),
        ("DROP TABLE `orders`", ""),
        ("LOCK TABLES `orders` READ", ""),
        ("SET NAMES `utf8mb4`", ""),
        ("CALL `x` ( )", ""),
        ("", ""),
    ],
)
def test_only_tables_are_found(text: str, tables: str) -> None:
    # The one name with a space in it is alone.
    assert named(text) == ({tables} if "we`ird" in tables else set(tables.split()))


@given(st.lists(st.sampled_from(["(", ")", ",", ".", "`a`", "FROM", "SELECT", "JOIN", "INTO", "ON", "?", "INSERT"])))
def test_no_text_is_an_error(tokens: list[str]) -> None:
    tables_read(" ".join(tokens))
