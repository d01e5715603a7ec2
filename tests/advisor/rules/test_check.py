"""A rule file is valid as a whole, or refused with the file, line and column of the error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from advisor.contract.recommendation import Severity
from advisor.files.yaml_file import FileError
from advisor.rules import check
from advisor.rules.file import Applies
from exporter.server import identify
from tests.advisor.building import RULES_FOLDER, server

NAME = "scan-exceeds-old-sublist.yaml"
GOOD = """\
id: scan-exceeds-old-sublist
title: A rule
severity: warning
confidence: 0.9
applies:
  mysql: {from: "5.6", below: "26.7"}
  mariadb: {from: "10.5"}
  not_on: [aurora]
needs: [pools, variables]
for_each: scans
let:
  needed: math.least(scan.pages, pool.pages) / pool.pages * 100.0
  enough: needed * 1.05
when:
  - scan.passes >= 2.0
  - >-
    scan.pages > pool.old_target_pages
    && needed < 95.0
choose: {model: lru, setting: innodb_old_blocks_pct}
unless:
  - choice.value == setting.innodb_old_blocks_pct
  - "scan.schema == 'sys' || pool.free_pages > 1.0"
summary: >-
  {scan.schema}.{scan.table} is large
  ({scan.bytes:bytes}, {scan.passes:number} passes)
evidence:
  - {name: pages, value: scan.pages, unit: pages, source: "a table, a column"}
  - name: schema
    value: scan.schema
    source: a table
change:
  - {setting: innodb_old_blocks_pct, value: choice.value, if: pool.pages > 0.0}
action:
  - do: look at {scan.table}
    apply: ["ANALYZE TABLE {scan.schema:identifier}.{scan.table:identifier}"]
effect:
  quantity: pages read per pass
  now: scan.pages_read_per_pass
  predicted: 0
  error: choice.error
cost:
  quantity: young pages
  predicted: pool.list_pages * (1.0 - needed / 100.0)
why: |
  Because.
references: [a manual]
"""


def refusal(folder: Path, text: str | bytes, name: str = NAME) -> tuple[str, str, str]:
    """Line and column, the line from there on, and the message."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(FileError) as caught:
        check.load_file(path)
    where, _, message = str(caught.value).removeprefix(f"{path}:").partition(": ")
    line, column = map(int, where.split(":"))
    lines = path.read_bytes().decode("utf-8", "replace").split("\n")
    return where, lines[line - 1][column - 1 :], message


def test_a_rule_without_mistakes_is_loaded(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(GOOD)
    loaded = check.load_file(tmp_path / NAME)
    assert (loaded.id, loaded.file.severity, loaded.file.for_each) == (
        "scan-exceeds-old-sublist",
        Severity.WARNING,
        "scans",
    )
    file = loaded.file
    assert list(file.let) == ["needed", "enough"]
    assert [len(part) for part in (file.when, file.unless, file.evidence, file.change)] == [2, 2, 2, 1]
    assert {*file.let.values(), *file.when, *file.unless} <= loaded.expressions.keys()


def test_the_rules_that_ship_are_loaded_by_id() -> None:
    ids = [rule.id for rule in check.load(RULES_FOLDER)]
    assert ids == sorted(ids)
    assert {"scan-exceeds-old-sublist", "change-buffering-without-benefit"} <= set(ids)


MISTAKES = {
    # what: (old, new, where the error must point at, what it must say)
    "misspelt name": (
        "scan.passes >=",
        "scan.pases >=",
        "scan.pases >= 2.0",
        "when.0: unknown name scan.pases; did you mean scan.passes?",
    ),
    "misspelt name in a folded block": ("&& needed", "&& neded", "neded < 95.0", "when.1: unknown name neded; did you"),
    "misspelt name in quotes": (
        "pool.free_pages",
        "pool.free_page",
        "pool.free_page > 1.0",
        "unless.1: unknown name pool.free_page; did you mean pool.free_pages?",
    ),
    "misspelt name in a flow mapping": (
        "value: scan.pages,",
        "value: scan.pges,",
        "scan.pges, unit",
        "evidence.0.value: unknown name scan.pges",
    ),
    "misspelt name in a mapping in a list": (
        "value: scan.schema",
        "value: scan.shema",
        "scan.shema",
        "evidence.1.value: unknown name scan.shema",
    ),
    "misspelt function": (
        "math.least(",
        "math.lest(",
        "math.lest(scan",
        "let.needed: unknown name math",
    ),
    "unknown model": ("{model: lru", "{model: lur", "lur, setting", "choose.model: Input should be 'lru'"),
    "a setting that no model chooses": (
        "lru, setting: innodb_old_blocks_pct}",
        "lru, setting: innodb_flush_method}",
        "innodb_flush_method}",
        "choose.setting: Input should be 'innodb_old_blocks_pct', 'innodb_old_blocks_time' or",
    ),
    "misspelt part of a choice": (
        "choice.value ==",
        "choice.valu ==",
        "choice.valu == setting",
        "unless.0: unknown name choice.valu; did you mean choice.value?",
    ),
    "a choice before it is made": (
        "scan.passes >= 2.0",
        "choice.value >= 2.0",
        "choice.value >= 2.0",
        "when.0: unknown name choice.value",
    ),
    "a choice that nobody makes": (
        "choose: {model: lru, setting: innodb_old_blocks_pct}\n",
        "",
        "choice.value == setting",
        "unless.0: unknown name choice.value",
    ),
    "a let before its definition": (
        "(scan.pages, pool",
        "(enough, pool",
        "enough, pool.pages)",
        "let.needed: unknown name enough",
    ),
    "a list's name without the list": (
        "for_each: scans\n",
        "",
        "scan.pages, pool.pages)",
        "let.needed: unknown name scan.pages",
    ),
    "text compared with a number": (
        "scan.passes >= 2.0",
        "scan.passes >= 'two'",
        ">= 'two'",
        "when.0: '>=' does not take (double, string)",
    ),
    "int for a double": (
        "scan.passes >= 2.0",
        "scan.passes >= 2",
        ">= 2",
        "when.0: '>=' does not take (double, int); all numbers here are doubles: write 2.0, not 2",
    ),
    "number for a condition": (
        "scan.passes >= 2.0",
        "scan.passes",
        "scan.passes",
        "when.0: this is a number; true or false is needed",
    ),
    "text for an effect": (
        "now: scan.pages_read_per_pass",
        "now: scan.schema",
        "scan.schema",
        "effect.now: this is a text; a number is needed",
    ),
    "text for a number setting": (
        "value: choice.value, if",
        "value: \"'none'\", if",
        "\"'none'\", if",
        "change.0.value: this is a text; a number is needed",
    ),
    "syntax error": ("scan.passes >= 2.0", "scan.passes >=", "", "when.0: Syntax error: mismatched input '<EOF>'"),
    "syntax error in quotes": (
        "== 'sys' ||",
        "= 'sys' ||",
        "= 'sys'",
        "unless.1: Syntax error: token recognition error",
    ),
    "unknown key": ("severity:", "severty:", "severty: warning", "severty: there is no such key"),
    "unknown key in a flow mapping": (
        "unit: pages",
        "unt: pages",
        "unt: pages, source",
        "evidence.0.unt: there is no such key",
    ),
    "unknown key below a key": (
        "  quantity: young",
        "  quantty: young",
        "quantty: young",
        "cost.quantty: there is no such key",
    ),
    "misspelt name in the quantity of an effect": (
        "  quantity: young pages",
        '  quantity: "pages of {scan.tabel}"',
        "{scan.tabel}",
        "cost.quantity: unknown name in {scan.tabel}",
    ),
    "a change to take back without a list of harms": (
        "severity:",
        "take_back: true\nseverity:",
        "true",
        "take_back: only a change that did harm is taken back (for_each: harms)",
    ),
    "unknown family": ("  mariadb:", "  mongodb:", "mongodb:", "applies.mongodb: there is no such key"),
    "unknown setting": (
        "{setting: innodb_old_blocks_pct",
        "{setting: innodb_old_block_pct",
        "innodb_old_block_pct, value",
        "change.0.setting: unknown setting innodb_old_block_pct",
    ),
    "a number that the setting never takes": (
        "value: choice.value",
        "value: 96",
        "96, if",
        "change.0.value: innodb_old_blocks_pct takes a whole number from 5 to 95",
    ),
    "a word that the setting never takes": (
        "innodb_old_blocks_pct, value: choice.value",
        "innodb_random_read_ahead, value: \"'YES'\"",
        "\"'YES'\", if",
        "change.0.value: innodb_random_read_ahead takes one of OFF, ON",
    ),
    "unknown section": (
        "needs: [pools, variables]",
        "needs: [pools, variabels]",
        "variabels]",
        "needs.1: no section variabels; there are auto_increments, ",
    ),
    "unknown list": ("for_each: scans", "for_each: scnas", "scnas", "for_each: no list scnas; there are scans"),
    "unknown flavour": ("[aurora]", "[auror]", "auror]", "applies.not_on.0: Input should be 'percona', 'aurora'"),
    "unknown behaviour": (
        "  not_on: [aurora]",
        "  has: [paralel_read]",
        "paralel_read]",
        "applies.has.0: no behaviour paralel_read; did you mean parallel_read?",
    ),
    "number for a change's condition": (
        "if: pool.pages > 0.0",
        "if: pool.pages",
        "pool.pages}",
        "change.0.if: this is a number; true or false is needed",
    ),
    "unknown name in an action": (
        "look at {scan.table}",
        "look at {scan.tabel}",
        "{scan.tabel}",
        "action.0.do: unknown name in {scan.tabel}",
    ),
    "unknown name in a statement": (
        ".{scan.table:identifier}",
        ".{scan.tabel:identifier}",
        "{scan.tabel:identifier}",
        "action.0.apply.0: unknown name in {scan.tabel:identifier}",
    ),
    "a number as an identifier": (
        ".{scan.table:identifier}",
        ".{scan.pages:identifier}",
        "{scan.pages:identifier}",
        "action.0.apply.0: {scan.pages:identifier} is no text: write {scan.pages}",
    ),
    "a finding that would go before it comes": (
        "unless:\n",
        "lasting: {condition: scan.passes > 1.0, share: 0.3, until: 0.6}\nunless:\n",
        "0.6}",
        "lasting.until: must not be more than share",
    ),
    "a number that lasts": (
        "unless:\n",
        "lasting: {condition: scan.passes}\nunless:\n",
        "scan.passes}",
        "lasting.condition: this is a number; true or false is needed",
    ),
    "an open question that is a number": (
        "unless:\n",
        "blind: {if: scan.passes, lacks: x, reason: y}\nunless:\n",
        "scan.passes,",
        "blind.if: this is a number; true or false is needed",
    ),
    "unknown name in an open question": (
        "unless:\n",
        "blind: {if: scan.passes > 1.0, lacks: x, reason: '{scan.tabel}'}\nunless:\n",
        "'{scan.tabel}'}",
        "blind.reason: unknown name in {scan.tabel}",
    ),
    "a bound that is a text": (
        "innodb_old_blocks_pct}\nunless",
        "innodb_old_blocks_pct, at_most: scan.table}\nunless",
        "scan.table}",
        "choose.at_most: this is a text; a number is needed",
    ),
    "no version": ('from: "5.6"', 'from: "five"', '"five",', "applies.mysql.from: not a server version: 'five'"),
    "version as a number": ('from: "10.5"', "from: 10.5", "10.5}", "applies.mariadb.from: must be a text"),
    "broken flow": ("[pools, variables]", "[pools, variables", ": scans", "expected ',' or ']', but got ':'"),
    "colon in a plain text": ("title: A rule", "title: A rule: x", ": x", "mapping values are not allowed here"),
    "tab for indentation": (
        "  mariadb:",
        "\tmariadb:",
        "\tmariadb:",
        "found character '\\t' that cannot start any token",
    ),
    "undefined alias": ("severity: warning", "severity: *warning", "*warning", "found undefined alias 'warning'"),
    "control character": ("title: A rule", "title: A \x01 rule", "\x01 rule", "YAML forbids the character '\\x01'"),
    "duplicate key": (
        "confidence: 0.9",
        "severity: info",
        "severity: info",
        'found duplicate key "severity" with value "info"',
    ),
    "duplicate key in a flow mapping": (
        "unit: pages,",
        "unit: pages, unit: p,",
        "unit: p,",
        'found duplicate key "unit" with value "p"',
    ),
    "two documents": ("severity:", "---\nseverity:", "---", "but found another document"),
    "another rule's id": (
        "id: scan-",
        "id: other-",
        "other-exceeds-old-sublist",
        "id: the file of this rule must be named other-exceeds-old-sublist.yaml",
    ),
    "id in capitals": ("id: scan-", "id: Scan-", "Scan-exceeds", "id: String should match pattern"),
    "bad severity": (
        "severity: warning",
        "severity: fatal",
        "fatal",
        "severity: Input should be 'info', 'warning' or 'critical'",
    ),
    "confidence above 1": ("0.9", "1.9", "1.9", "confidence: Input should be less than or equal to 1"),
    "confidence as text": ("confidence: 0.9", 'confidence: "0.9"', '"0.9"', "confidence: must be a number"),
    "list for a text": ("title: A rule", "title: [a, b]", "[a, b]", "title: must be a text"),
    "text for a list": ("references: [a manual]", "references: a manual", "a manual", "references: must be a list"),
    "text for a mapping": ("  - name: schema", "  - text\n  - name: schema", "text", "evidence.1: must be a mapping"),
    "true for an expression": ("predicted: 0", "predicted: true", "true", "effect.predicted: must be a text"),
    "nothing for a text": ("title: A rule", "title:", "title:", "title: must be a text"),
    "nothing in a list": ("  - scan.passes >= 2.0", "  -", "", "when.0: must be a text"),
    "empty text": ("title: A rule", 'title: ""', '""', "title: must not be empty"),
    "empty list": ("references: [a manual]", "references: []", "[]", "references: must not be empty"),
    "a let in capitals": ("  enough:", "  Enough:", "Enough:", "let.Enough: String should match pattern"),
    "a number for a key": ("severity:", "1: 2\nseverity:", "1: 2", "1: a key must be a text"),
    "missing key": ("title: A rule\n", "", "id: scan-", "title: this key is missing"),
    "missing key below a key": ("  predicted: 0\n", "", "quantity: pages", "effect.predicted: this key is missing"),
    "missing key in a flow mapping": (
        ', source: "a table, a column"}',
        "}",
        "{name: pages",
        "evidence.0.source: this key is missing",
    ),
    "unknown name in the summary": (
        "{scan.schema}.",
        "{scan.schem}.",
        "{scan.schem}.{scan.table}",
        "summary: unknown name in {scan.schem}",
    ),
    "unknown format in the summary's second line": (
        "{scan.passes:number}",
        "{scan.passes:numbr}",
        "{scan.passes:numbr} passes)",
        "summary: unknown format {scan.passes:numbr}; there are {scan.passes}, {scan.passes:bytes}, {scan",
    ),
    "text shown as bytes": (
        "{scan.table}",
        "{scan.table:bytes}",
        "{scan.table:bytes} is large",
        "summary: {scan.table:bytes} is no number: write {scan.table}",
    ),
    "conversion in the summary": ("{scan.table}", "{scan.table!r}", "{scan.table!r}", "summary: unknown format"),
    "no name in the summary": ("{scan.table}", "{}", "{} is large", "summary: unknown name in {}"),
    "index in the summary": ("{scan.table}", "{scan.table[0]}", "{scan.table[0]}", "summary: unknown name in"),
    "open brace in the summary": ("{scan.table}", "{scan.table", "{scan.schema}", "summary: "),
    "closing brace in the summary": ("is large", "is } large", "{scan.schema}", "summary: Single '}' encountered"),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_is_refused_where_it_is(tmp_path: Path, what: str) -> None:
    old, new, pointed_at, expected = MISTAKES[what]
    assert old in GOOD
    _, rest, message = refusal(tmp_path, GOOD.replace(old, new, 1))
    assert rest.startswith(pointed_at)
    assert bool(rest) == bool(pointed_at)
    assert message.startswith(expected)
    assert "\n" not in message


def test_a_choice_for_a_list_other_than_scans_is_refused(tmp_path: Path) -> None:
    other = GOOD.replace("for_each: scans", "for_each: blind_spots")
    for name in ("scan.schema", "scan.table"):
        other = other.replace(name, "blind_spot.sources")
    for name in ("scan.pages_read_per_pass", "scan.passes", "scan.pages", "scan.bytes"):
        other = other.replace(name, "blind_spot.count")
    _, rest, message = refusal(tmp_path, other)
    assert rest.startswith("{model: lru")
    assert message == "choose: the model chooses for a scanned table (for_each: scans) or for the server"


def test_a_rule_with_nothing_to_do_is_refused(tmp_path: Path) -> None:
    begin, end = GOOD.index("change:"), GOOD.index("effect:")
    _, _, message = refusal(tmp_path, GOOD[:begin] + GOOD[end:])
    assert message == "id: a rule needs something to do: add change or action"


@pytest.mark.parametrize(
    ("applies", "on", "not_on"),
    [
        ({"has": ["parallel_read"]}, ["8.0.14", "9.7.4", "26.7.0"], ["8.0.13", "5.6.24", "11.8.6-MariaDB"]),
        ({"has": ["parallel_read"], "mysql": {"below": "8.4"}}, ["8.0.14"], ["8.4.0"]),
        ({"has": ["change_buffer"], "mariadb": {"from": "10.6"}}, ["10.11.6-MariaDB"], ["10.5.23-MariaDB", "9.7.4"]),
    ],
)
def test_a_rule_applies_to_servers_of_some_behaviour(applies: dict[str, Any], on: list[str], not_on: list[str]) -> None:
    rule_applies = Applies.model_validate(applies)
    assert [version for version in (*on, *not_on) if server(version) in rule_applies] == on


def test_lines_and_columns_count_from_one(tmp_path: Path) -> None:
    text = GOOD.replace("scan.passes >= 2.0", "scan.pases >= 2.0")
    assert refusal(tmp_path, text)[0] == "15:5"


def test_windows_line_ends_do_not_move_lines_and_columns(tmp_path: Path) -> None:
    text = GOOD.replace("neded", "needed").replace("&& needed", "&& neded").replace("\n", "\r\n")
    assert refusal(tmp_path, text)[0] == "18:8"


@pytest.mark.parametrize(
    ("content", "where", "message"),
    [
        (b"", "1:1", "a rule file is a mapping with id, title, when"),
        (b"# nothing yet\n", "1:1", "a rule file is a mapping with id, title, when"),
        (b"- a\n- b\n", "1:1", "a rule file is a mapping with id, title, when"),
        (b"text\n", "1:1", "a rule file is a mapping with id, title, when"),
        ("id: a\ntitle: schön\n".encode("latin-1"), "2:11", "not UTF-8 text: invalid start byte"),
        (b"\xff\xfe\x00", "1:1", "not UTF-8 text: invalid start byte"),
        (b"id: a\x00\n", "1:6", "YAML forbids the character '\\x00'"),
    ],
)
def test_a_file_must_be_a_mapping(tmp_path: Path, content: bytes, where: str, message: str) -> None:
    position, _, refused = refusal(tmp_path, content)
    assert position == where
    assert refused.startswith(message)


def test_a_folder_that_is_absent_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError) as caught:
        check.load(tmp_path / "absent")
    assert str(caught.value) == f"{tmp_path / 'absent'}: cannot read the rules: No such file or directory"


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").mkdir()
    with pytest.raises(FileError) as caught:
        check.load(tmp_path)
    assert str(caught.value) == f"{tmp_path / 'a.yaml'}: cannot read it: Is a directory"


@pytest.mark.parametrize(
    ("version", "comment", "applies"),
    [
        ("5.5.62", "", False),
        ("5.6.24", "", True),
        ("9.7.4-2", "", True),
        ("26.7.0", "", False),
        ("8.0.36-28", "Percona Server (GPL)", True),
        ("10.5.23-MariaDB-0+deb11u1", "", True),
        ("5.5.5-10.4.8-MariaDB", "", False),
    ],
)
def test_a_rule_applies_to_its_range_of_versions(tmp_path: Path, version: str, comment: str, *, applies: bool) -> None:
    (tmp_path / NAME).write_text(GOOD)
    assert (server(version, comment) in check.load_file(tmp_path / NAME).file.applies) == applies


def test_a_rule_may_leave_out_a_flavour_or_a_family(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(GOOD.replace('  mariadb: {from: "10.5"}\n', ""))
    applies = check.load_file(tmp_path / NAME).file.applies
    assert server("11.8.6-MariaDB") not in applies
    assert identify({"version": "8.0.36", "aurora_version": "3.08.0"}) not in applies
