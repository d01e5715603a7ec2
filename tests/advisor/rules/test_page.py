"""A rule's page has everything of its file, in an order for people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from advisor.rules import page
from advisor.rules.check import Rule

MakeRule = Callable[..., Rule]

WHOLE: dict[str, Any] = {
    "title": "Scans read a table again and again",
    "applies": {"mysql": {"from": "8.0"}, "mariadb": {"from": "10.5", "below": "11.0"}, "not_on": ["aurora", "rds"]},
    "needs": ["pools", "variables", "table_scans"],
    "for_each": "scans",
    "let": {"share": "scan.pages / pool.pages"},
    "when": ["scan.passes >= 2.0", "share > 0.5 || scan.counts > 9.0"],
    "unless": ["pool.free_pages > 1000.0"],
    "lasting": {"condition": "scan.passes > 0.0", "share": 0.7, "until": 0.2},
    "blind": {"if": "scan.passes < 3.0", "lacks": "passes", "reason": "too few"},
    "evidence": [{"name": "table_pages", "value": "scan.pages", "unit": "pages", "source": "a|b"}],
    "change": [{"setting": "innodb_old_blocks_pct", "value": 80, "if": "setting.innodb_old_blocks_pct < 80.0"}],
    "action": [
        {"do": "Count by a smaller index", "apply": ["ALTER TABLE x ADD INDEX (a)"], "rollback": ["DROP INDEX a ON x"]}
    ],
    "effect": {"quantity": "pages", "now": "scan.pages", "predicted": 0, "unit": "pages", "model": "lru"},
    "cost": {"quantity": "young pages", "predicted": "pool.pages"},
    "why": "Because\nof this.",
    "proved": ["On a server."],
    "references": ["https://example.org/manual", "Bug 1"],
}


def section(page: str, heading: str) -> str:
    return page.partition(f"\n## {heading}\n\n")[2].partition("\n## ")[0].strip()


def test_the_page_has_everything_in_its_order(make_rule: MakeRule) -> None:
    shown = page.markdown(make_rule(**WHOLE), "your own", ["fires: a capture"])
    headings = [line[3:] for line in shown.splitlines() if line.startswith("## ")]
    assert headings == ["When it fires", "Why", "Evidence", "How to fix it", "How it was proved", "References"]
    assert shown.startswith(
        "# Scans read a table again and again\n\n`plain` · warning · confidence 0.5 · your own\n\n"
        "For MySQL 8.0 and later and MariaDB 10.5 and later, below 11.0; not on Aurora, RDS.\n\n"
    )
    assert section(shown, "Why") == "Because\nof this."
    assert section(shown, "References") == "- <https://example.org/manual>\n- Bug 1"
    assert section(shown, "How it was proved").splitlines() == [
        "- On a server.",
        "",
        "`innodb-advisor rules test` replays its cases:",
        "",
        "- fires: a capture",
    ]
    assert "| table pages | `scan.pages` | pages | a\\|b |" in section(shown, "Evidence")


def test_conditions_are_shown_as_written_and_their_names_explained(make_rule: MakeRule) -> None:
    text = section(page.markdown(make_rule(**WHOLE)), "When it fires")
    assert text.startswith("It looks at each of `scans`. ")
    assert "All of these must hold:\n\n- `scan.passes >= 2.0`\n- `share > 0.5 || scan.counts > 9.0`\n" in text
    assert "None of these may hold:\n\n- `pool.free_pages > 1000.0`\n" in text
    assert "`scan.passes > 0.0` holds in at least 70% of the slices of the window" in text
    assert "clears when it holds in less than 20%" in text
    assert "It is blind, and lacks passes, where `scan.passes < 3.0`." in text
    assert "- `share = scan.pages / pool.pages`" in text
    assert "| `scan.passes` | number (scans) | Scans in the window" in text
    assert "| `share`" not in text
    assert text.endswith(
        "It needs `pools`, `variables` and `table_scans`. Where one of them cannot be read, the rule is blind."
    )


def test_fixes_are_shown_with_their_statements(make_rule: MakeRule) -> None:
    text = section(page.markdown(make_rule(**WHOLE)), "How to fix it")
    assert text.startswith("- Set `innodb_old_blocks_pct` to `80.0`, if `setting.innodb_old_blocks_pct < 80.0`. ")
    assert (
        "- Count by a smaller index\n\n  ```sql\n  ALTER TABLE x ADD INDEX (a);\n  ```\n\n"
        "  To take it back:\n\n  ```sql\n  DROP INDEX a ON x;\n  ```" in text
    )
    assert text.endswith(
        "Effect: pages, from `scan.pages` to `0.0`, by the model `lru`.\n\nCost: young pages, to `pool.pages`."
    )


@pytest.mark.parametrize(
    ("applies", "servers"),
    [
        ({}, "MySQL and MariaDB"),
        ({"mysql": {}}, "MySQL"),
        ({"mysql": {"below": "8.4"}}, "MySQL below 8.4"),
        ({"mysql": {"from": "8.0", "below": "8.4"}, "not_on": ["percona"]}, None),
    ],
)
def test_servers_are_written_out(make_rule: MakeRule, applies: dict[str, Any], servers: str | None) -> None:
    servers = servers or "MySQL 8.0 and later, below 8.4; not on Percona Server"
    assert page.applies(make_rule(applies=applies)) == servers


def test_a_behaviour_is_written_out(make_rule: MakeRule) -> None:
    servers = page.applies(make_rule(applies={"has": ["parallel_read"]}))
    assert servers.startswith("MySQL and MariaDB, where this holds: ")
    assert servers.endswith(" (`parallel_read`)")


def test_a_comment_beside_or_above_a_condition_explains_it(make_rule: MakeRule) -> None:
    rule = make_rule(when=["1.0 > 0.0", "2.0 > 0.0", "3.0 > 0.0"])
    text = rule.path.read_text().replace("- 1.0 > 0.0", "- 1.0 > 0.0   # the first")
    rule.path.write_text(text.replace("- 3.0 > 0.0", "# the third,\n# at last\n- 3.0 > 0.0"))
    shown = page.markdown(rule)
    assert "- `1.0 > 0.0`: the first\n- `2.0 > 0.0`\n- `3.0 > 0.0`: the third, at last\n" in shown


@pytest.mark.parametrize("change", ["gone", "broken", "another"])
def test_a_page_shows_the_rule_in_force_even_if_its_file_changed(make_rule: MakeRule, change: str) -> None:
    rule = make_rule()
    wanted = page.markdown(rule)
    if change == "gone":
        rule.path.unlink()
    elif change == "broken":
        rule.path.write_text("id: [")
    else:
        rule.path.write_text(rule.path.read_text().replace("1.0 > 0.0", "4.0 > 0.0   # new"))
    assert page.markdown(rule) == wanted


def test_absent_keys_have_no_sections(make_rule: MakeRule) -> None:
    shown = page.markdown(make_rule())
    for words in ("None of these", "It must last", "Where:", "Cost:", "How it was proved", "It looks at"):
        assert words not in shown
