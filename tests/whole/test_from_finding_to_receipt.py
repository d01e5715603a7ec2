"""From a finding to its receipt: a real server under load, the plan, a hand that follows it, and what became of it.

The sidecar is `serve`'s, but for the ledger's windows: they have seconds in place of five minutes, for the load is
steady within seconds. With -s it prints the receipts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx
import pytest
from anyio.from_thread import start_blocking_portal
from click.testing import CliRunner, Result

from advisor.advice.ledger_recorder import LedgerRecorder
from advisor.advice.service import Service
from advisor.cli.main import main
from advisor.contract.plan import Plan, Step
from advisor.http import app as application
from advisor.http.guard import Guard
from advisor.http.limits import Limits
from advisor.ledger.ledger import Ledger
from advisor.plan.receipt import Receipt, ReceiptState
from advisor.rules.rulebook import Rulebook
from exporter.connection.target import from_dsn
from exporter.sampling.sampler import Sampler
from lab.harness.workloads import ask
from lab.outcomes.followed import LOADS, OPTIONS, FollowedLoad
from lab.processes.program import PLAIN
from lab.proofs.harm import BEFORE, PERIOD, WINDOW
from lab.servers import PrivateServer
from tests.advisor.building import RULES_FOLDER
from tests.advisor.http.listening import listening
from tests.advisor.in_process import UNLIMITED
from tests.advisor.sidecar import OWN
from tests.waiting import DEADLINE, wait_for

Found = TypeVar("Found")
SCANS, LOOKUPS, _ = LOADS
CLOSED = [state for state in ReceiptState if state not in (ReceiptState.NOT_CHANGED, ReceiptState.OPEN)]


@dataclass
class Watched:
    """A server under a load, and the address of the sidecar that watches it."""

    server: PrivateServer
    url: str

    def command(self, *arguments: object) -> Result:
        """`innodb-advisor` with these arguments, of this sidecar."""
        words = [*map(str, arguments), "--url", self.url]
        return CliRunner(env=dict.fromkeys(OWN)).invoke(main, words)

    def finding(self, rule: str) -> dict[str, Any] | None:
        """The finding of a rule, once the load was watched for as long as the ledger wants to know of before."""
        advice = self._advice()
        if advice is None or advice["watched_seconds"] < BEFORE * WINDOW:
            return None
        findings: list[dict[str, Any]] = [
            finding for finding in advice["recommendations"] if finding["rule"] == rule and finding["first_seen"]
        ]
        return findings[0] if findings else None

    def plan(self, fingerprint: str, target: str) -> Plan:
        done = self.command("plan", fingerprint, "--for", target, "--format", "json")
        assert done.exit_code == 0, done.stderr
        return Plan.model_validate_json(done.stdout)

    def receipt(self, fingerprint: str) -> tuple[int, Receipt]:
        """The exit code, and the receipt."""
        done = self.command("receipt", fingerprint, "--format", "json")
        assert done.stderr == ""
        return done.exit_code, Receipt.model_validate_json(done.stdout)

    def reached(self, fingerprint: str, *states: ReceiptState) -> tuple[int, Receipt]:
        """The same, once it is in one of these states."""
        return looked_for(lambda: answer if (answer := self.receipt(fingerprint))[1].state in states else None)

    def remembers(self, fingerprint: str) -> bool:
        """Whether the ledger has a finding: it takes new advice once a second."""
        history = httpx.get(f"{self.url}/history", timeout=DEADLINE, **PLAIN).json()
        return any(finding["fingerprint"] == fingerprint for finding in history["findings"])

    def taken_back_at(self, name: str) -> float | None:
        """When the change of an outcome was taken back; None while it is not."""
        history = httpx.get(f"{self.url}/history", timeout=DEADLINE, **PLAIN).json()
        [at] = [outcome["taken_back_at"] for outcome in history["outcomes"] if outcome["id"] == name]
        return None if at is None else float(at)

    def _advice(self) -> dict[str, Any] | None:
        answer = httpx.get(f"{self.url}/advise?last=true", timeout=DEADLINE, **PLAIN)
        return answer.json() if answer.is_success else None


def looked_for(event: Callable[[], Found | None]) -> Found:
    """The event, which is looked for once a collection: each look takes time from the clients of the load."""

    def look() -> Found | None:
        if not (value := event()):
            time.sleep(PERIOD)
        return value

    return wait_for(look)


@contextmanager
def watching(server: PrivateServer) -> Iterator[str]:
    """A sidecar of a server, by its address."""
    source = Sampler(from_dsn(server.dsn), interval=PERIOD)
    recorder = LedgerRecorder(Ledger(window_seconds=WINDOW))
    app = application.create(Service(source, Rulebook(RULES_FOLDER), recorder=recorder))
    app.state.limits = Limits(UNLIMITED)
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(app.router.lifespan_context(app)),
        portal.wrap_async_context_manager(listening(Guard(app))) as listener,
    ):
        yield f"http://127.0.0.1:{listener.port}"


@pytest.fixture
def watched(request: pytest.FixtureRequest, start_server: Callable[..., PrivateServer]) -> Iterator[Watched]:
    """A server under a load: the parameter has both."""
    name: str
    load: FollowedLoad
    name, load = request.param
    server = start_server(name, **OPTIONS[name])
    with load.running(server), watching(server) as url:
        yield Watched(server, url)


def follow(server: PrivateServer, steps: Iterable[Step]) -> list[str]:
    """Do what the steps of an option file's owner say, in their order; the lines of the file."""
    lines: list[str] = []
    with server.connect() as connection:
        for step in steps:
            if step.patch is not None:
                lines += [line for line in step.patch.text.splitlines() if "=" in line]
            ask(connection, *step.apply)
    return lines


def value(server: PrivateServer, setting: str) -> object:
    with server.connect() as connection:
        [(printed,)] = ask(connection, f"SELECT @@GLOBAL.{setting}")
    return printed


def shown(watched: Watched, fingerprint: str) -> str:
    """The receipt as people read it, which is printed with -s."""
    text = watched.command("receipt", fingerprint).stdout
    print(f"\n{text}")
    return text


@pytest.mark.parametrize("watched", [("mysql-9.7", SCANS)], indirect=True, ids=["scans"])
def test_a_plan_that_is_followed_has_a_receipt_that_says_kept(watched: Watched) -> None:
    finding = looked_for(lambda: watched.finding(SCANS.rule))
    fingerprint = finding["fingerprint"]
    looked_for(lambda: watched.remembers(fingerprint))
    code, before = watched.receipt(fingerprint)
    assert (code, before.state, before.outcome) == (3, ReceiptState.NOT_CHANGED, None)

    plan, by_operator = (watched.plan(fingerprint, target) for target in ("cnf", "percona-ps"))
    [change] = plan.changes
    assert (plan.fingerprint, plan.rule) == (by_operator.fingerprint, by_operator.rule) == (fingerprint, SCANS.rule)
    assert any(change.setting in step.patch.text for step in by_operator.steps if step.patch is not None)
    assert follow(watched.server, plan.steps) == [f"{change.setting} = {change.to}"]
    assert value(watched.server, change.setting) == change.to

    code, _ = watched.reached(fingerprint, ReceiptState.OPEN)
    assert code == 3
    code, kept = watched.reached(fingerprint, *CLOSED)
    text = shown(watched, fingerprint)
    assert (code, kept.state) == (0, ReceiptState.KEPT), text
    outcome = kept.outcome
    assert outcome is not None
    assert outcome.promise is not None
    assert outcome.measured is not None
    assert [(changed.setting, changed.before, changed.after) for changed in outcome.changes] == [
        (change.setting, change.from_, change.to)
    ]
    assert outcome.followed
    assert text.startswith("The promise was kept: predicted ")
    assert outcome.measured.after < outcome.promise.now / 2
    for words in (outcome.promise.quantity, outcome.server, "Reads of everything else", outcome.rule_version):
        assert words in text
    assert watched.command("receipt", fingerprint, "--format", "markdown").exit_code == 0


# MySQL 9.7 shrinks its pool for minutes under this load, and passes over a SET GLOBAL meanwhile.
@pytest.mark.parametrize("watched", [("mariadb-11.8", LOOKUPS)], indirect=True, ids=["lookups"])
def test_a_hand_that_does_otherwise_has_a_receipt_of_harm_until_it_is_taken_back(watched: Watched) -> None:
    finding = looked_for(lambda: watched.finding(LOOKUPS.rule))
    fingerprint, [change] = finding["fingerprint"], finding["changes"]
    assert change["to"] > change["from"]
    halved = f"SET GLOBAL {change['setting']} = {int(change['from']) // 2}"  # in place of twice as much
    with watched.server.connect() as connection:
        ask(connection, halved)
    code, harm = watched.reached(fingerprint, ReceiptState.HARM)
    assert code == 1
    outcome = harm.outcome
    assert outcome is not None
    assert not outcome.followed
    assert "The change did harm: pages read per second" in harm.says
    assert harm.says.endswith("Take it back.")
    [changed] = outcome.changes
    assert f"take back   {changed.undo[0]};" in shown(watched, fingerprint)

    with watched.server.connect() as connection:
        ask(connection, *changed.undo)
    # The finding asks from the halved size by now. The way back may be what it advises: then that has the receipt.
    back = looked_for(lambda: watched.taken_back_at(outcome.id))
    assert back > outcome.at
    assert int(str(value(watched.server, changed.setting))) == changed.before
