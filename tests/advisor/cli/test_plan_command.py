"""plan: of a recording, of a sidecar, and of a fleet; with a manifest; and what is refused."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import get_args

import pytest
from click.testing import CliRunner, Result

from advisor.cli.main import main
from advisor.cli.plan import TARGETS
from advisor.contract.plan import Plan, TargetName
from advisor.contract.recommendation import Recommendation
from advisor.plan.plan import plan
from advisor.render import plan as documents
from advisor.render import text
from advisor.render.markdown import markdown
from lab.processes.ports import HOST
from tests.advisor.building import RECORDING, advised, capture, captured
from tests.advisor.listening import Listening
from tests.waiting import wait_for

MY_CNF = "[mysqld]\n# of the shop\ninnodb-old-blocks-pct = 37   # measured in spring\nport = 3306\n"


@pytest.fixture(scope="module")
def sidecar() -> Iterator[Listening]:
    with Listening("--recording", capture(RECORDING)) as started:
        wait_for(started.judged)
        yield started


@pytest.fixture(scope="module")
def finding() -> Recommendation:
    [finding] = advised(captured(RECORDING)).recommendations
    return finding


def run(*arguments: object, given: str | None = None) -> Result:
    words = [str(argument) for argument in arguments]
    return CliRunner(env={"INNODB_ADVISOR_DSN": None}).invoke(main, ["plan", *words], input=given)


def refused(*arguments: object) -> str:
    done = run(*arguments)
    assert done.exit_code == 2, done.stdout
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr.partition("Error: ")[2].removesuffix("\n")


def test_each_form_is_the_plan_and_nothing_else(finding: Recommendation) -> None:
    arguments = (finding.fingerprint, "--for", "cnf", "--recording", capture(RECORDING))
    done = run(*arguments, "--format", "json")
    assert (done.exit_code, done.stderr) == (0, "")
    answer = Plan.model_validate_json(done.stdout)
    expected = plan(finding, captured(RECORDING), "cnf")
    assert answer == expected
    assert run(*arguments).stdout == text.text(documents.plan(expected))
    assert run(*arguments, "--format", "markdown").stdout == markdown(documents.plan(expected))


def test_a_sidecar_answers_as_a_recording_does(sidecar: Listening, finding: Recommendation) -> None:
    done = run(finding.fingerprint, "--for", "ansible", "--url", sidecar.url, "--format", "json")
    assert (done.exit_code, done.stderr) == (0, "")
    assert Plan.model_validate_json(done.stdout) == plan(finding, captured(RECORDING), "ansible")


@pytest.mark.parametrize("where", ["recording", "sidecar"])
def test_a_manifest_keeps_all_but_the_line(
    where: str, sidecar: Listening, finding: Recommendation, tmp_path: Path
) -> None:
    source = ("--url", sidecar.url) if where == "sidecar" else ("--recording", capture(RECORDING))
    file = tmp_path / "my.cnf"
    file.write_text(MY_CNF)
    for given, path in ((None, file), (MY_CNF, "-")):
        arguments = (finding.fingerprint, "--for", "cnf", *source, "--manifest", path, "--format", "json")
        done = run(*arguments, given=given)
        assert (done.exit_code, done.stderr) == (0, "")
        answer = Plan.model_validate_json(done.stdout)
        [change] = finding.changes
        assert answer.steps[0].patch is not None
        assert answer.steps[0].patch.text == MY_CNF.replace("= 37 ", f"= {change.to} ")
        assert answer.undo[0].patch is not None
        assert answer.undo[0].patch.text == MY_CNF


def test_all_owners_are_named_in_the_help() -> None:
    assert get_args(TargetName) == TARGETS
    assert all(target in run("--help").stdout.replace("\n", "") for target in TARGETS)


def test_what_cannot_be_planned_is_refused_with_the_reason(
    sidecar: Listening, finding: Recommendation, tmp_path: Path
) -> None:
    recording = ("--for", "cnf", "--recording", capture(RECORDING))
    known = (finding.fingerprint, "--for", "cnf", "--url", sidecar.url)
    assert refused("9f2c", *recording) == (
        f"nothing that is found now has the fingerprint 9f2c; there are {finding.fingerprint}"
    )
    assert refused("9f2c", "--for", "cnf", "--url", sidecar.url) == (
        f"{sidecar.url}: nothing that is found now has the fingerprint 9f2c; /advise has all there is"
    )
    assert refused(*known, "--manifest", tmp_path / "none.cnf").startswith("cannot read ")
    broken = tmp_path / "broken.cnf"
    broken.write_bytes(b"\xff")
    assert refused(*known, "--manifest", broken).endswith("it is not UTF-8 text")
    assert refused(*known, "--recording", capture(RECORDING)).endswith("do not go together: name one")
    assert refused("9f2c", "--for", "cnf", "--url-config", broken, "--recording", broken) == "--url-config is for --url"
    assert refused("9f2c", "--for", "cnf", "--url", "http://127.0.0.1:1") == "http://127.0.0.1:1: Connection refused"
    assert refused("9f2c", "--for", "cnf", "--prometheus", "http://127.0.0.1:1").endswith("name one with --server")
    mariadb = refused(finding.fingerprint, "--for", "mariadb-operator", "--recording", capture(RECORDING))
    assert "this server is mysql 9.7.4" in mariadb


def test_another_service_is_told_from_a_sidecar() -> None:
    class Empty(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

    with ThreadingHTTPServer((HOST, 0), Empty) as service:
        threading.Thread(target=service.serve_forever, daemon=True).start()
        url = f"http://{HOST}:{service.server_port}"
        message = refused("9f2c", "--for", "cnf", "--url", url)
        service.shutdown()
    assert message == f"{url} does not answer as innodb-advisor does; is it another version, or another service?"
