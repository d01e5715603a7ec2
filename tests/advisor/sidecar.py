"""The sidecar as its users have it: a process, and HTTP."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families as parse_classic
from ruamel.yaml import YAML

from lab.processes.program import PLAIN
from tests.advisor.building import REPOSITORY, plain_rule
from tests.waiting import DEADLINE, wait_for

OWN = (
    "INNODB_ADVISOR_DSN",
    "INNODB_ADVISOR_PASSWORD",
    "INNODB_ADVISOR_CONFIG",
    "INNODB_ADVISOR_RULES",
    "INNODB_ADVISOR_WEB_CONFIG",
    "INNODB_ADVISOR_STATE_DIR",
    "INNODB_ADVISOR_ALERTMANAGER",
    "INNODB_ADVISOR_ALERTMANAGER_CONFIG",
    "INNODB_ADVISOR_EXTERNAL_URL",
    "INNODB_ADVISOR_DASHBOARD_URL",
    "INNODB_ADVISOR_ALLOWED_HOSTS",
    "INNODB_ADVISOR_INSTANCE",
    "INNODB_ADVISOR_URL_CONFIG",
    "DSN",
    "DEFAULTS_FILE",
)


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment without what names a server."""
    kept = {name: value for name, value in os.environ.items() if name not in OWN}
    return {**kept, "COLUMNS": "120", **(extra or {})}


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "advisor.cli", *map(str, arguments)]


def write_rule(folder: Path, **keys: Any) -> Path:
    """A rule file with these keys over those of a plain one, which fires on everything."""
    content = plain_rule(**{"proved": ["not at all"], **keys})
    path = folder / f"{content['id']}.yaml"
    with path.open("w") as file:
        YAML().dump(dict(content), file)
    return path


UNLIKE: Mapping[str, Mapping[str, Any]] = {
    "overruling": {"severity": "critical", "change": [{"setting": "innodb_old_blocks_pct", "value": 90}]},
    "only-an-action": {
        "change": [],
        "action": [{"do": "Add an index", "apply": ["CREATE INDEX a ON t (a)"], "rollback": ["DROP INDEX a ON t"]}],
        "effect": None,
    },
    "breaking": {"evidence": [{"name": "none", "value": "1.0 / 0.0", "source": "nowhere"}]},
    "unwanted": {"severity": "info", "change": [{"setting": "innodb_old_blocks_time", "value": 0}]},
    "only-on-the-moon": {"applies": {"mysql": {"from": "99.0"}}},
}
"""Rules of which each ends in another way, where ``unwanted`` is suppressed."""


def write_unlike(folder: Path) -> Path:
    """A folder of them."""
    folder.mkdir(parents=True)
    for rule_id, keys in UNLIKE.items():
        write_rule(folder, id=rule_id, **keys)
    return folder


def problem(response: httpx.Response) -> tuple[int, str]:
    """Status and detail of an error, which must be problem+json (RFC 9457) and nothing else."""
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert set(body) == {"type", "title", "status", "detail"}
    assert body["type"] == "about:blank"
    assert body["status"] == response.status_code
    assert body["title"]
    assert not re.search(r"Traceback|File \"|\.py\b", response.text)
    return response.status_code, body["detail"]


def values(
    text: str, parse: Callable[[str], Any] = parse_classic
) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Samples by name and labels; none may be there twice."""
    samples = [sample for family in parse(text) for sample in family.samples]
    found = {(sample.name, frozenset(sample.labels.items())): float(sample.value) for sample in samples}
    assert len(found) == len(samples)
    return found


class Sidecar:
    """``innodb-advisor serve`` on a port of its own; what it logs goes to a file."""

    SERVES = "serve"

    def __init__(self, folder: Path, *arguments: object, env: Mapping[str, str] | None = None) -> None:
        self._log = folder / "sidecar.log"
        with self._log.open("w") as log:
            self.process = subprocess.Popen(  # noqa: S603
                command(self.SERVES, "--listen", "127.0.0.1:0", *arguments),
                cwd=REPOSITORY,
                env=environment(env),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        try:
            found = wait_for(self._serving)
            assert isinstance(found, re.Match), self.log()
        except BaseException:
            self.kill()  # nobody else has it yet
            raise
        self.url = found[1]

    def _serving(self) -> object:
        ended = self.process.poll() is not None
        return re.search(r"serving on (http://127\.0\.0\.1:\d+)/", self.log()) or ended

    def log(self) -> str:
        return self._log.read_text()

    def get(self, path: str, **options: Any) -> httpx.Response:
        return httpx.get(self.url + path, timeout=DEADLINE, **{**PLAIN, **options})

    def post(self, path: str, **options: Any) -> httpx.Response:
        return httpx.post(self.url + path, timeout=DEADLINE, **{**PLAIN, **options})

    def judged(self) -> bool:
        """Whether every rule was judged. A rule is blind while its model is fitted for the first time."""
        response = self.get("/advise")
        return response.status_code == httpx.codes.OK and "time" not in {
            each["lacks"] for each in response.json()["blind"]
        }

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(DEADLINE)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
