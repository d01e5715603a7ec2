"""The commands that ask the model: whatif of a recording or a server, and lru of a scenario in a file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from ruamel.yaml import YAML

from advisor.cli.main import main
from advisor.models.lru.scenario import Scenario
from advisor.models.lru.simulation import simulate
from advisor.pool.what_if import WhatIf, what_if
from lab.servers import PrivateServer
from tests.advisor.building import capture, captured

SCAN = capture("mysql-9.7/repeated-scan")
SCENARIO = """\
pool: {pages: 4000}
steps:
  - {scan: archive, pages: 5000}
  - {scan: orders, pages: 2700, passes: 2, seconds: 0.2, gap_seconds: 2}
  - {points: customers, pages: 500, accesses: 900, seconds: 5, skew: 0.8}
  - {set: {old_blocks_pct: 80}}
  - repeat: 2
    steps:
      - {scan: orders, pages: 2700, seconds: 0.2, gap_seconds: 2, fetch: scan}
"""
KEYS = [
    "step",
    "object",
    "pass",
    "pages_read",
    "made_young",
    "not_made_young",
    "young_pages",
    "old_pages",
    "free_pages",
]


def run(*arguments: object) -> Result:
    return CliRunner(env={"INNODB_ADVISOR_DSN": None}).invoke(main, [str(argument) for argument in arguments])


def refused(*arguments: object) -> str:
    done = run(*arguments)
    assert done.exit_code == 2, done.stdout
    assert done.stdout == ""
    usage, _, message = done.stderr.partition("Error: ")
    assert usage == "" or usage.startswith("Usage: ")
    assert "Traceback" not in done.stderr
    return message.removesuffix("\n")


def asked(*settings: str, style: str = "json") -> Result:
    options = [part for setting in settings for part in ("--set", setting)]
    return run("whatif", "--recording", SCAN, *options, "--format", style)


def test_whatif_as_json_is_the_answer_and_nothing_else() -> None:
    done = asked("innodb_old_blocks_pct=80")
    assert (done.exit_code, done.stderr) == (0, "")
    expected = what_if(captured("mysql-9.7/repeated-scan"), {"innodb_old_blocks_pct": 80})
    assert WhatIf.model_validate_json(done.stdout) == expected


def test_whatif_as_text_says_what_changes_for_whom() -> None:
    done = asked("innodb_old_blocks_pct=80", style="text")
    assert done.exit_code == 0
    for pattern in (
        r"^mysql 9\.7\.4-2, watched 7 s$",
        r"^if innodb_old_blocks_pct = 80 \(now 37\)$",
        r"^shop\.orders \(9,258 pages\), per pass +8,\d{3} +0 +after 1 pass",
        r"^in total, per second +\d,\d{3} +6\.\d+",
        r"^pool pages left for everything else +\d+,\d+ +7,\d{3}",
        r"^model error \d\.\d%, confidence 1$",
    ):
        assert re.search(pattern, done.stdout, re.MULTILINE), pattern


def test_whatif_takes_several_settings_and_sizes() -> None:
    done = asked("innodb_old_blocks_pct=40", "INNODB_BUFFER_POOL_SIZE = 1G")
    changes = {change["setting"]: change["to"] for change in json.loads(done.stdout)["changes"]}
    assert changes == {"innodb_old_blocks_pct": 40, "innodb_buffer_pool_size": 2**30}


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("innodb_old_blocks_pct=96", "innodb_old_blocks_pct: 96 is not a whole number from 5 to 95"),
        ("innodb_old_blocks_pct", "Invalid value for '--set': 'innodb_old_blocks_pct' is not a setting and its value"),
        ("=5", "Invalid value for '--set': '=5' is not a setting and its value"),
        ("innodb_foo=5", "the model does not answer for innodb_foo; it does for innodb_old_blocks_pct, "),
    ],
)
def test_whatif_refuses_what_makes_no_sense(setting: str, message: str) -> None:
    assert refused("whatif", "--recording", SCAN, "--set", setting).startswith(message)


def test_whatif_refuses_one_setting_with_two_values() -> None:
    message = refused(
        "whatif", "--recording", SCAN, "--set", "innodb_old_blocks_pct=5", "--set", "innodb_old_blocks_pct=6"
    )
    assert message == "Invalid value for '--set': innodb_old_blocks_pct is set twice"


def test_whatif_needs_a_setting_and_a_server() -> None:
    assert refused("whatif", "--recording", SCAN).startswith("Missing option '--set'")
    assert refused("whatif", "--set", "innodb_old_blocks_pct=80").startswith("name a server with --dsn")


def test_whatif_says_what_it_lacks_and_the_cure() -> None:
    lacking = ("whatif", "--set", "innodb_old_blocks_pct=80", "--recording")
    assert "performance_schema is OFF; add performance_schema = ON" in refused(*lacking, capture("mariadb-11.8/idle"))
    assert "GRANT PROCESS ON *.* TO" in refused(*lacking, capture("mysql-9.7/unprivileged"))


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
def test_whatif_watches_a_server(server: PrivateServer) -> None:
    options = ("--dsn", server.dsn, "--watch", "1s", "--set", "innodb_old_blocks_pct=80", "--format", "json")
    done = run("whatif", *options)
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["watched_seconds"] >= 1


@pytest.fixture
def played(tmp_path: Path) -> Callable[..., Result]:
    def play(text: str, *options: str) -> Result:
        (tmp_path / "scenario.yaml").write_text(text)
        return run("lru", tmp_path / "scenario.yaml", *options)

    return play


def test_lru_prints_a_json_object_a_pass_in_whole_pages(played: Callable[..., Result]) -> None:
    done = played(SCENARIO, "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [list(line) for line in lines] == [KEYS] * 6
    assert {type(line[key]) for line in lines for key in KEYS if key != "object"} == {int}
    passes = simulate(Scenario.model_validate(YAML(typ="safe", pure=True).load(SCENARIO))).passes
    assert [(line["step"], line["object"], line["pass"], line["pages_read"]) for line in lines] == [
        (scan_pass.step, scan_pass.object, scan_pass.number, round(scan_pass.pages_read)) for scan_pass in passes
    ]
    assert [line["pages_read"] for line in lines if line["object"] == "orders"][-1] == 0


def test_lru_shows_a_table_to_people(played: Callable[..., Result]) -> None:
    header, first, *rest = played(SCENARIO).stdout.splitlines()
    assert re.split(r" {2,}", header.strip()) == [
        *("step", "object", "pass", "pages read", "made young", "not made young", "young", "old", "free")
    ]
    assert re.match(r" +1  archive +1 +5,000 +0 ", first)
    assert len(rest) == 5


def test_the_scenario_of_the_help_is_one(tmp_path: Path) -> None:
    text = run("lru", "--help").stdout
    scenario = re.search(r"( +pool: .*?)  pool may also", text, re.DOTALL)
    assert scenario
    (tmp_path / "seasons.yaml").write_text(scenario[1])
    done = run("lru", tmp_path / "seasons.yaml", "--json")
    reads = [json.loads(line)["pages_read"] for line in done.stdout.splitlines()]
    assert reads[1] == 9_258
    assert reads[-1] == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("pages: 5000", "pages: 50.5", "3:28: steps.0.pages: must be a whole number"),
        ("pages: 5000", "pages: many", "3:28: steps.0.pages: must be a whole number"),
        ("pages: 5000", "pages: 0", "3:28: steps.0.pages: Input should be greater than 0"),
        ("passes: 2", "pases: 2", "4:33: steps.1.pases: there is no such key"),
        ("{scan: archive,", "{sacn: archive,", "3:5: steps.0: a step has one of scan, points, set, repeat"),
        ("scan: archive", "scan: 7", "3:12: steps.0.scan: must be a text"),
        ("old_blocks_pct: 80", "old_blocks_pct: 96", "6:28: steps.3.set.old_blocks_pct: Input should be less than"),
        ("fetch: scan", "fetch: scna", "9:74: steps.4.steps.0.fetch: Input should be 'normal' or 'scan'"),
        ("repeat: 2", "repeat: 0", "7:13: steps.4.repeat: Input should be greater than 0"),
        ("{pages: 4000}", "{pages: 4000, free_low: 9}", "1:7: pool: free_low (9) is above free_high (0)"),
        (
            "{pages: 4000}",
            "{pages: 4000, free_low: 9, free_high: 9, refill_seconds: 1}",
            "1:7: pool: free_low (9) beside refill_seconds (1)",
        ),
        ("{pages: 4000}", "{}", "1:7: pool.pages: this key is missing"),
        ("pool: {pages: 4000}\n", "", "1:1: pool: this key is missing"),
        (
            "{set: {old_blocks_pct: 80}}",
            "{set: {free_low: 9}}",
            " free_low (9) is above free_high (0) after a step of set",
        ),
        ("pool: {", "pool: [", "1:19: "),
    ],
)
def test_a_mistake_in_a_scenario_is_refused_where_it_is(
    played: Callable[..., Result], tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in SCENARIO
    done = played(SCENARIO.replace(old, new, 1))
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"Error: {tmp_path / 'scenario.yaml'}:{message}"), done.stderr
    assert done.stderr.count("\n") == 1


def test_a_scenario_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    assert (
        refused("lru", tmp_path / "absent.yaml") == f"{tmp_path}/absent.yaml: cannot read it: No such file or directory"
    )
    (tmp_path / "list.yaml").write_text("- 1\n")
    assert refused("lru", tmp_path / "list.yaml").endswith("list.yaml:1:1: a scenario is a mapping with pool and steps")
