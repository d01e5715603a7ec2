"""The jobs of docs/ci: a merged change gets its receipt as a comment, once the outcome is not open any more.

Their scripts run as a runner runs them, against a real sidecar. Only the programs that reach the forge are stand-ins.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from advisor.ledger.ledger import Ledger
from lab.packages.cache import REPOSITORY
from lab.programs import actionlint
from tests.advisor.ledger.entries import FINGERPRINT, closed, remembered
from tests.advisor.ledger.outcomes import worse
from tests.advisor.ledger.recordings import carrying
from tests.advisor.sidecar import Sidecar, environment
from tests.unavailable import if_available
from tests.waiting import DEADLINE, wait_for

JOBS = REPOSITORY / "docs" / "ci"
GITHUB, GITLAB = JOBS / "github.yml", JOBS / "gitlab.yml"
OTHER = "0123456789abcdef"
# The first question comes while the outcome is open.
ADVISOR = f"""\
#!/bin/sh
if mkdir "$PLACE/asked" 2>/dev/null; then exit 3; fi
cd {REPOSITORY} && exec {sys.executable} -m advisor.cli "$@"
"""
SLEEP = """\
#!/bin/sh
echo "$1" >> "$PLACE/slept"
"""
GH = """\
#!/bin/sh
echo "$1 $2 $3 $4" > "$PLACE/where"
cp "$5" "$PLACE/comment"
"""
CURL = """\
#!/bin/sh
for last; do :; done
for word; do case "$word" in body@*) cp "${word#body@}" "$PLACE/comment"; echo "$last" > "$PLACE/where" ;; esac; done
case "$last" in */repository/commits/*/merge_requests) cat "$PLACE/merged" ;; esac
"""


def read(path: Path) -> dict[str, Any]:
    job: dict[str, Any] = YAML(typ="safe").load(path)["jobs" if path == GITHUB else "receipt"]
    return job


def script(path: Path) -> str:
    job = read(path)
    [text] = [step["run"] for step in job["receipt"]["steps"]] if path == GITHUB else job["script"]
    return str(text)


@pytest.fixture(scope="module", params=["kept", "harm"])
def sidecar(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sidecar]:
    folder = tmp_path_factory.mktemp("sidecar")
    outcome = closed() if request.param == "kept" else closed(others=(worse(),))
    recording = carrying(folder / "recording.jsonl", Ledger.of([remembered(), outcome]))
    started = Sidecar(folder, "--recording", recording)
    wait_for(started.judged)
    yield started
    started.kill()


def run(path: Path, place: Path, sidecar: Sidecar, fingerprint: str) -> int:
    """The exit code of a job whose merged branch is of this finding."""
    programs = place / "programs"
    programs.mkdir()
    for name, text in (("innodb-advisor", ADVISOR), ("sleep", SLEEP), ("gh", GH), ("curl", CURL)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    branch = f"innodb-advisor/{fingerprint}"
    (place / "merged").write_text(json.dumps([{"iid": 32, "source_branch": branch}]))
    variables = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PLACE": str(place),
        "SIDECAR": sidecar.url,
        "BRANCH": branch,
        "PULL_REQUEST": "https://github.test/shop/db/pull/32",
        "CI_API_V4_URL": "https://gitlab.test/api/v4",
        "CI_PROJECT_ID": "7",
        "CI_COMMIT_SHA": "c" * 40,
        "RECEIPT_TOKEN": "secret",
    }
    # As the runners call it.
    shell = ["bash", "-e"] if path == GITHUB else ["bash", "-e", "-o", "pipefail"]
    done = subprocess.run(  # noqa: S603
        [*shell, "-c", script(path)], cwd=place, env=environment(variables), check=False, timeout=DEADLINE
    )
    return done.returncode


@pytest.mark.parametrize(
    ("path", "where"),
    [
        (GITHUB, "pr comment https://github.test/shop/db/pull/32 --body-file"),
        (GITLAB, "https://gitlab.test/api/v4/projects/7/merge_requests/32/notes"),
    ],
    ids=["github", "gitlab"],
)
def test_a_merged_change_gets_its_receipt_once_the_outcome_is_not_open(
    path: Path, where: str, sidecar: Sidecar, tmp_path: Path
) -> None:
    receipt = f"/advise/{FINGERPRINT}/receipt"
    assert run(path, tmp_path, sidecar, FINGERPRINT) == {"kept": 0, "harm": 1}[sidecar.get(receipt).json()["state"]]
    assert (tmp_path / "slept").read_text() == "60\n"
    assert (tmp_path / "comment").read_text() == sidecar.get(receipt, headers={"Accept": "text/markdown"}).text
    assert (tmp_path / "where").read_text().strip() == where


@pytest.mark.parametrize("path", [GITHUB, GITLAB], ids=["github", "gitlab"])
def test_a_finding_that_the_sidecar_does_not_know_gets_no_comment(path: Path, sidecar: Sidecar, tmp_path: Path) -> None:
    assert run(path, tmp_path, sidecar, OTHER) == 2
    assert not (tmp_path / "comment").exists()


def test_actionlint_finds_no_problem() -> None:
    assert if_available(actionlint.check, GITHUB) == ""


def test_no_script_holds_an_expression_and_the_only_right_is_to_comment() -> None:
    assert "${{" not in script(GITHUB)
    assert YAML(typ="safe").load(GITHUB)["permissions"] == {}
    assert read(GITHUB)["receipt"]["permissions"] == {"pull-requests": "write"}
