"""A name in a statement of a rule is quoted, and stands where quotes hold it: else the rule is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from advisor.files.yaml_file import FileError
from advisor.rules import check

MakeRule = Callable[..., check.Rule]
TABLE = "{scan.schema:identifier}.{scan.table:identifier}"


def with_statement(make_rule: MakeRule, sql: str, key: str = "apply") -> check.Rule:
    return make_rule(
        for_each="scans", let={"either": "true ? scan.table : scan.schema"}, action=[{"do": "Do it", key: [sql]}]
    )


@pytest.mark.parametrize(
    "sql",
    [
        f"ANALYZE TABLE {TABLE}",
        f"SELECT 'it''s', \"x\", `y` /* ' */ FROM {TABLE} -- of {{scan.pages:integer}}",
        "SET GLOBAL innodb_change_buffering = {setting.innodb_change_buffering:literal}",
        "SET GLOBAL innodb_old_blocks_pct = {setting.innodb_old_blocks_pct:integer}",
    ],
)
def test_a_quoted_name_is_accepted(make_rule: MakeRule, sql: str) -> None:
    [action] = with_statement(make_rule, sql).file.action
    assert action.apply == (sql,)


@pytest.mark.parametrize("key", ["apply", "rollback"])
@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("ANALYZE TABLE {scan.table}", "{scan.table} could be any SQL: write {scan.table:identifier}"),
        ("ANALYZE TABLE {either}", "{either} could be any SQL"),
        ("SET x = '{setting.innodb_flush_method}'", "could be any SQL"),
        ("ANALYZE TABLE `{scan.table:identifier}`", "{scan.table:identifier} is quoted already"),
        ("SELECT '{scan.table:literal}'", "is quoted already"),
        ('SELECT "{scan.table:identifier}"', "is quoted already"),
        ("SELECT 1 /* {scan.table:identifier} */", "cannot stand in quotes or in a comment"),
        ("SELECT 1 -- {scan.table:identifier}", "cannot stand in quotes or in a comment"),
        ("SELECT 1 # {scan.table:identifier}", "cannot stand in quotes or in a comment"),
    ],
)
def test_a_name_that_could_end_what_it_stands_in_is_refused(
    make_rule: MakeRule, sql: str, message: str, key: str
) -> None:
    with pytest.raises(FileError) as refused:
        with_statement(make_rule, sql, key)
    assert message in str(refused.value)


def test_half_a_surrogate_pair_is_refused_where_it_is(make_rule: MakeRule) -> None:
    good = make_rule()
    good.path.write_text(good.path.read_text().replace("title: ", 'title: "\\ud800" #', 1))
    with pytest.raises(FileError, match=r":2:8: title: half a surrogate pair is no character"):
        check.load_file(good.path)
