"""Rules from the command line: a user's own, the configuration, what is suppressed, and their cases."""

from __future__ import annotations

import gzip
import json
import shutil
import signal
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from advisor.advice import interpreter
from advisor.cli.main import main
from advisor.contract.recommendation import Advice
from advisor.rules import rulebook
from advisor.rules.rulebook import builtin_directory
from exporter.collectors.pools import POOLS
from tests.advisor.building import REPOSITORY, capture, captured
from tests.advisor.conftest import Run, Serve
from tests.advisor.sidecar import write_rule
from tests.waiting import wait_for


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """A directory for a user's own rules."""
    folder = tmp_path / "rules"
    folder.mkdir()
    return folder


SCAN = capture("mysql-9.7/repeated-scan")
OLD_SUBLIST, FINGERPRINT = "scan-exceeds-old-sublist", "a63178a321b3b23c"
EXAMPLES = REPOSITORY / "docs" / "example-rules"


def here(*arguments: object, env: dict[str, str] | None = None) -> Result:
    """The command in this process, which is faster."""
    unset = dict.fromkeys(f"INNODB_ADVISOR_{name}" for name in ("DSN", "PASSWORD", "CONFIG", "RULES"))
    return CliRunner(env={**unset, **(env or {})}).invoke(main, [str(argument) for argument in arguments])


def advice(*options: object, env: dict[str, str] | None = None) -> tuple[Advice, str]:
    done = here("advise", "--recording", SCAN, "--format", "json", *options, env=env)
    assert done.exit_code == 0, done.stderr
    return Advice.model_validate_json(done.stdout), done.stderr


def fired(given: Advice) -> set[str]:
    return {finding.rule for finding in given.recommendations}


def test_own_rules_join_the_built_in_ones(rules: Path, tmp_path: Path) -> None:
    write_rule(rules)
    change = [{"setting": "innodb_lru_scan_depth", "value": 2048}]
    (tmp_path / "more").mkdir()
    write_rule(tmp_path / "more", id="another", change=change)
    (tmp_path / "advisor.yaml").write_text("rules: more\n")
    config = ("--config", tmp_path / "advisor.yaml")
    assert fired(advice()[0]) == {OLD_SUBLIST}
    assert "another" in fired(advice(*config)[0])
    env = {"INNODB_ADVISOR_CONFIG": str(tmp_path / "advisor.yaml")}
    assert "another" in fired(advice(env=env)[0])
    # The options win over the file, and over the environment.
    write_rule(rules, id="third", change=change)
    for answer in (advice(*config, "--rules", rules), advice("--rules", rules)):
        assert "third" in fired(answer[0])
        assert "another" not in fired(answer[0])
    env = {"INNODB_ADVISOR_RULES": str(tmp_path / "more")}
    assert "third" in fired(advice("--rules", rules, env=env)[0])
    assert "another" in fired(advice(env=env)[0])


@pytest.mark.parametrize("named", [OLD_SUBLIST, FINGERPRINT])
def test_what_is_suppressed_is_shown_as_such_and_fails_nothing(tmp_path: Path, named: str) -> None:
    advised, message = advice("--suppress", named, "--fail-on", "info")
    assert message == ""
    assert advised.recommendations == ()
    [suppressed] = advised.suppressed
    assert suppressed.recommendation.fingerprint == FINGERPRINT
    assert "by --suppress" in suppressed.reason

    key = "rule" if named == OLD_SUBLIST else "fingerprint"
    (tmp_path / "advisor.yaml").write_text(f"suppress: [{{{key}: {named}, reason: a nightly report}}]\n")
    [suppressed] = advice("--config", tmp_path / "advisor.yaml")[0].suppressed
    assert "a nightly report" in suppressed.reason


def test_a_suppressed_rule_that_does_not_exist_is_said(run: Run) -> None:
    done = run("advise", "--recording", SCAN, "--suppress", "scan-exceeds-old-sublists")
    assert done.returncode == 0
    assert done.stderr == (
        "suppressed, but there is no such rule: scan-exceeds-old-sublists; did you mean scan-exceeds-old-sublist?\n"
    )


def without_machine(folder: Path) -> Path:
    """The recording as if the server's process had not been seen."""
    lines = gzip.decompress(SCAN.read_bytes()).splitlines(keepends=True)[:-1]
    kept = [line for line in lines if json.loads(line).get("answer") != "machine"]
    path = folder / "elsewhere.jsonl"
    path.write_bytes(b"".join([*kept, json.dumps({"end": len(kept)}).encode() + b"\n"]))
    return path


def test_what_the_options_say_of_the_machine_is_seen_by_rules(rules: Path, tmp_path: Path) -> None:
    names = ("cores", "memory_bytes")
    evidence = [{"name": name, "value": f"machine.{name}", "source": "the machine"} for name in names]
    write_rule(
        rules,
        when=["machine.cores == 6.0"],
        evidence=evidence,
        change=[{"setting": "innodb_lru_scan_depth", "value": 2048}],
    )
    (tmp_path / "advisor.yaml").write_text("server: {cores: 7, memory: 2G}\nrules: rules\n")
    options = ("--config", tmp_path / "advisor.yaml", "--cores", "6", "--format", "json")
    done = here("advise", "--recording", without_machine(tmp_path), *options)
    advised = Advice.model_validate_json(done.stdout)
    [plain] = [finding for finding in advised.recommendations if finding.rule == "plain"]
    assert [evidence.value for evidence in plain.evidence] == [6, 2 << 30]


@pytest.mark.parametrize("command", [["serve"], ["advise"], ["check"], ["rules", "list"], ["rules", "test"]])
def test_a_broken_rule_is_refused_with_its_place(rules: Path, command: list[str]) -> None:
    path = write_rule(rules, when=["pool.free_pagse > 1.0"])
    where = [] if command[0] == "rules" else ["--recording", SCAN]
    done = here(*command, *where, "--rules", rules)
    assert (done.exit_code, done.stdout) == (2, "")
    line = path.read_text().splitlines().index("- pool.free_pagse > 1.0") + 1
    message = f"Error: {path}:{line}:3: when.0: unknown name pool.free_pagse; did you mean pool.free_pages?\n"
    assert done.stderr == message


def test_the_rules_are_listed(rules: Path) -> None:
    write_rule(rules, title="Mine")
    done = here("rules", "list", "--rules", rules)
    assert (done.exit_code, done.stderr) == (0, "")
    header, *lines = done.stdout.splitlines()
    assert header.split() == ["rule", "severity", "origin", "title"]
    assert any(line.split() == ["plain", "warning", "your", "own", "Mine"] for line in lines)
    listed = json.loads(here("rules", "list", "--rules", rules, "--json").stdout)
    assert [rule["id"] for rule in listed] == [line.split()[0] for line in lines]
    [mine] = [rule for rule in listed if rule["id"] == "plain"]
    assert mine == {
        "id": "plain",
        "title": "Mine",
        "severity": "warning",
        "origin": "your own",
        "servers": "MySQL 5.6 and later and MariaDB 10.5 and later",
        "file": str(rules / "plain.yaml"),
    }


def test_a_rule_is_shown() -> None:
    text = here("rules", "show", OLD_SUBLIST).stdout
    assert "scan.passes >= 1.5" in text
    assert not any(line != line.rstrip() for line in text.splitlines())
    page = here("rules", "show", OLD_SUBLIST, "--format", "markdown").stdout
    assert page.startswith("# A repeatedly scanned table")
    path = builtin_directory() / f"{OLD_SUBLIST}.yaml"
    assert here("rules", "show", OLD_SUBLIST, "--format", "yaml").stdout == path.read_text()
    whole = json.loads(here("rules", "show", OLD_SUBLIST, "--format", "json").stdout)
    assert (whole["id"], whole["origin"]) == (OLD_SUBLIST, "built-in")
    assert "scan.passes >= 1.5 * scan.sharers" in whole["when"]
    assert whole["applies"]["mysql"] == {"from": "5.6"}


def test_cases_that_pass() -> None:
    done = here("rules", "test", EXAMPLES)
    assert (done.exit_code, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "reads-keep-missing"
    assert all(line.startswith("  PASS  ") for line in lines[1:-1])
    assert lines[-1] == f"{len(lines) - 2} cases of 1 rule: {len(lines) - 2} passed, 0 failed"
    assert here("rules", "test", "--rules", EXAMPLES, "--rule", "reads-keep-missing").stdout == done.stdout


def test_the_built_in_cases_pass_too() -> None:
    done = here("rules", "test", "--rule", OLD_SUBLIST)
    assert done.exit_code == 0
    assert done.stdout.endswith(" passed, 0 failed\n")


def test_a_case_that_fails_shows_what_was_expected_what_was_found_and_what_said_no(rules: Path) -> None:
    changes = "{changes: {innodb_old_blocks_pct: 70}, severity: info}"
    path = write_rule(rules, when=["pool.free_pages < 100.0"])
    path.with_name("plain.cases.yaml").write_text(
        f"- {{name: fires otherwise, recording: '{SCAN}', expect: [{changes}]}}\n"
        f"- {{name: fires, recording: '{capture('mysql-9.7/idle')}', expect: [{{}}]}}\n"
        f"- {{name: is blind, recording: '{capture('mysql-9.7/unprivileged')}'}}\n"
    )
    free = sum(pool.free_pages for pool in captured("mysql-9.7/idle").latest[POOLS] or ())
    done = here("rules", "test", rules)
    assert (done.exit_code, done.stderr) == (1, "")
    assert done.stdout == (
        "plain\n"
        "  FAIL  fires otherwise\n"
        "                  expected                    found\n"
        "        changes   innodb_old_blocks_pct = 70  innodb_old_blocks_pct = 80\n"
        "        severity  info                        warning\n"
        "  FAIL  fires\n"
        "                  expected   found\n"
        "        findings  1 finding  silence\n"
        "        it was silent because\n"
        f"          when `pool.free_pages < 100.0` is false  (pool.free_pages = {free:,})\n"
        "  FAIL  is blind\n"
        "               expected  found\n"
        "        blind  none      pool.free_pages\n"
        "        it is blind: it lacks pool.free_pages, pool.free_pages is not known\n"
        "3 cases of 1 rule: 0 passed, 3 failed\n"
    )


def test_why_a_rule_was_silent_is_said_of_cases_that_pass_too() -> None:
    done = here("rules", "test", EXAMPLES, "-v")
    assert done.exit_code == 0
    assert "        it was silent because\n          when `miss_rate > 0.02` is false  (miss_rate = 0.0" in done.stdout


def test_cases_that_cannot_be_used_are_refused_and_the_others_run(tmp_path: Path) -> None:
    rules = shutil.copytree(EXAMPLES, tmp_path / "copy")
    cases = rules / "reads-keep-missing.cases.yaml"
    cases.write_text(cases.read_text().replace("../../tests", str(REPOSITORY / "tests")))
    write_rule(rules, id="bare")
    write_rule(rules, id="wrong").with_name("wrong.cases.yaml").write_text("- {recording: x}\n")
    done = here("rules", "test", rules)
    assert done.exit_code == 2
    assert done.stdout.startswith("reads-keep-missing\n  PASS")
    assert done.stderr == (
        f"Error: {rules / 'bare.cases.yaml'}: cannot read it: No such file or directory\n"
        f"{rules / 'wrong.cases.yaml'}:1:3: 0.name: this key is missing\n"
    )
    empty = tmp_path / "empty"
    empty.mkdir()
    assert here("rules", "test", empty).stderr == f"Error: {empty}: there is no rule file here (<id>.yaml)\n"


def test_testing_ends_when_it_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "values_of", lambda *_: signal.raise_signal(signal.SIGINT))
    done = here("rules", "test", EXAMPLES)
    assert (done.exit_code, done.stdout, done.stderr) == (130, "reads-keep-missing\n", "interrupted\n")


def test_an_installation_without_the_sources_says_that_it_has_no_captures(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed = shutil.copytree(REPOSITORY / "rules", tmp_path / "builtin_rules")
    monkeypatch.setattr(rulebook, "builtin_directory", lambda: installed)
    done = here("rules", "test")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "Error: the cases of the built-in rules replay captures that only the source tree has"
    )
    done = here("rules", "test", "--rules", EXAMPLES)
    assert done.exit_code == 0
    assert done.stdout.startswith("reads-keep-missing\n  PASS")
    assert done.stderr.startswith("not tested: ")


def test_sighup_loads_rules_and_suppressions_anew_and_keeps_the_old_ones_while_a_file_is_broken(
    serve: Serve, rules: Path, tmp_path: Path
) -> None:
    config = tmp_path / "advisor.yaml"
    path = write_rule(rules, change=[{"setting": "innodb_lru_scan_depth", "value": 2048}])
    config.write_text("suppress: []\n")
    sidecar = serve("--recording", SCAN, "--rules", rules, "--config", config)

    def reloaded(message: str) -> Advice:
        sidecar.process.send_signal(signal.SIGHUP)
        wait_for(lambda: message in sidecar.log())
        return Advice.model_validate_json(sidecar.get("/advise").text)

    before = Advice.model_validate_json(sidecar.get("/advise").text)
    assert fired(before) == {OLD_SUBLIST, "plain"}
    count = len(list(builtin_directory().glob("*.yaml"))) - len(list(builtin_directory().glob("*.cases.yaml")))

    config.write_text(f"suppress: [{{rule: {OLD_SUBLIST}}}, {{rule: gone}}]\n")
    advised = reloaded(f"loaded {count + 1} rules and 2 suppressions")
    assert fired(advised) == {"plain"}
    assert [finding.recommendation.rule for finding in advised.suppressed] == [OLD_SUBLIST]
    assert "suppressed, but there is no such rule: gone" in sidecar.log()

    good = path.read_text()
    path.write_text(good.replace("severity: warning", "severity: loud"))
    line = good.splitlines().index("severity: warning") + 1
    assert fired(reloaded(f"not loaded, the old rules stay in force: {path}:{line}:11: severity: ")) == {"plain"}

    config.write_text("suppress: []\n")
    path.unlink()
    assert fired(reloaded(f"loaded {count} rules and 0 suppressions")) == {OLD_SUBLIST}
    assert sidecar.stop() == 0
