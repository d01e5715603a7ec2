"""upgrade: the forecast of a recording, of a server, and of a fleet; and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from advisor.advice.judgement import assess, judge
from advisor.cli.main import main
from advisor.contract.upgrade import UpgradeForecast
from advisor.render import text
from advisor.render import upgrade as documents
from advisor.render.markdown import markdown
from advisor.rules.rulebook import Rulebook, builtin_directory
from advisor.upgrade.forecast import forecast
from lab.servers import PrivateServer
from tests.advisor.building import capture, captured

NAME = "mysql-8.0/counted-beside-index"
COUNTED = ("upgrade", "--recording", capture(NAME), "--to")


def run(*arguments: object) -> Result:
    return CliRunner(env={"INNODB_ADVISOR_DSN": None}).invoke(main, [str(argument) for argument in arguments])


def refused(*arguments: object) -> str:
    done = run(*arguments)
    assert done.exit_code == 2, done.stdout
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr.partition("Error: ")[2].removesuffix("\n")


def expected(to: str, option_file: str | None = None) -> UpgradeForecast:
    rules, window = Rulebook(builtin_directory()).rule_set, captured(NAME)
    judgements = {judgement.rule: judgement for judgement in judge(rules.rules, window)}
    findings = assess(judgements, window, rules).advice.recommendations
    return forecast(window, to, option_file=option_file, findings=findings, rules=rules.rules)


def test_each_form_is_the_forecast_and_nothing_else() -> None:
    answer = expected("8.4")
    done = run(*COUNTED, "8.4", "--format", "json")
    assert (done.exit_code, done.stderr) == (0, "")
    assert UpgradeForecast.model_validate_json(done.stdout) == answer
    assert run(*COUNTED, "8.4").stdout == text.text(documents.forecast(answer))
    assert run(*COUNTED, "8.4", "--format", "markdown").stdout == markdown(documents.forecast(answer))


def test_an_option_file_says_what_is_set(tmp_path: Path) -> None:
    options = tmp_path / "my.cnf"
    options.write_text("[mysqld]\ninnodb_undo_tablespaces = 2\n")
    done = run(*COUNTED, "9.7", "--option-file", options, "--format", "json")
    assert done.exit_code == 0, done.stderr
    assert [blocker["variable"] for blocker in json.loads(done.stdout)["blockers"]] == ["innodb_undo_tablespaces"]


@pytest.mark.parametrize(
    ("to", "message"),
    [
        ("8.0.43", "the server has 8.0.43 already: "),
        ("5.7", "5.7 is older than the server's 8.0.43: "),
        ("11.8", "11.8 is a version of MariaDB, and this server is MySQL: "),
        ("8.6", "MySQL has no series 8.6: "),
        ("newest", "'newest' is not a version: give one such as 8.4, 8.4.6 or 11.8"),
        ("\x1b[31m8.4", r"'\x1b[31m8.4' is not a version"),
    ],
)
def test_a_version_without_a_forecast_is_refused_with_the_reason_and_a_cure(to: str, message: str) -> None:
    assert refused(*COUNTED, to).startswith(message)


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    assert refused(*COUNTED, "8.4", "--option-file", tmp_path / "no.cnf").startswith("cannot read ")
    broken = tmp_path / "broken.cnf"
    broken.write_bytes(b"[mysqld]\nport = \xff\n")
    assert refused(*COUNTED, "8.4", "--option-file", broken).endswith("it is not UTF-8 text")
    broken.write_text("port = 1\n")
    assert "line 1: not an option file" in refused(*COUNTED, "8.4", "--option-file", broken)


def test_it_needs_a_version_and_a_server() -> None:
    assert refused("upgrade", "--recording", capture(NAME)).startswith("Missing option '--to'")
    assert refused("upgrade", "--to", "8.4").startswith("name a server with --dsn")
    assert refused(*COUNTED, "8.4", "--prometheus", "http://127.0.0.1:1").startswith("--prometheus stands alone")


def test_a_server_is_asked_its_version_before_it_is_watched(server: PrivateServer) -> None:
    asked = ("upgrade", "--dsn", server.dsn, "--to")
    assert refused(*asked, "5.5", "--watch", "24h").startswith("5.5 is ")
    newer = "26.10" if server.name.startswith("mysql") else "13.1"
    done = run(*asked, newer, "--watch", "1s", "--format", "json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["to"].endswith(newer)
