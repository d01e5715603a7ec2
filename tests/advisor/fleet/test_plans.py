"""A plan for a server of a fleet: from its series, and what is refused."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from advisor.cli.main import main
from advisor.contract.fleet import Source
from advisor.contract.plan import Plan, TargetName
from advisor.fleet.identity import ServerKey
from advisor.fleet.inventory import InventoryEntry
from advisor.fleet.plans import others_of_set, planned
from advisor.observe.window import Window
from advisor.plan.targets.target import PlanRefused
from advisor.rules.rulebook import Rulebook, builtin_directory
from tests.advisor.building import RECORDING, advised, captured
from tests.advisor.fleet.answering import Answering
from tests.advisor.fleet.canned import IDENTITY, CannedPrometheus, key, reader
from tests.advisor.fleet.sources import sidecar as seen_by_sidecar
from tests.advisor.fleet.test_reading import sidecars
from tests.advisor.fleet.test_windows import mysqld_exporter

__all__ = ["sidecars"]


def of(fingerprint: str, target: TargetName = "ansible", **members: Window) -> Plan:
    window = seen_by_sidecar(captured(RECORDING))
    entry = InventoryEntry(key("db-1"), Source.VERDICT, window.latest.server)
    rules = Rulebook(builtin_directory()).rule_set
    return planned(window, entry, fingerprint, target, rules=rules, seconds=60.0, manifest=None, members=members)


def pod(name: str, namespace: str = "shop") -> ServerKey:
    server = IDENTITY.server({"cluster": "eu", "namespace": namespace, "pod": name})
    assert server is not None
    return server


def test_a_finding_of_the_series_is_planned_as_one_of_the_server() -> None:
    [finding] = advised(captured(RECORDING)).recommendations
    answer = of(finding.fingerprint)
    assert [change.setting for change in answer.changes] == [change.setting for change in finding.changes]
    assert answer.steps[0].patch is not None


def test_another_fingerprint_is_refused_with_those_that_there_are() -> None:
    [finding] = advised(captured(RECORDING)).recommendations
    with pytest.raises(PlanRefused, match=f"no finding on db-1 .* there are {finding.fingerprint}"):
        of("9f2c")


def test_where_members_restart_those_that_may_take_over_have_a_cold_start() -> None:
    [finding] = advised(captured(RECORDING)).recommendations
    members = {"other": seen_by_sidecar(captured(RECORDING))}
    restarted = of(finding.fingerprint, "percona-pxc", **members).roll_out
    assert [start.member for start in restarted.cold_starts if start.member] == ["other"]
    assert not of(finding.fingerprint, "ansible", **members).roll_out.cold_starts


async def test_the_other_pods_of_the_set_may_take_over() -> None:
    server = captured(RECORDING).latest.server
    names = (pod("db-0"), pod("db-1"), pod("db-2"), pod("web-0"), pod("db-1", "other"), key("db-3"))
    servers = {name: InventoryEntry(name, Source.MYSQLD_EXPORTER, server, up=True) for name in names}
    client = CannedPrometheus(mysqld_exporter(), servers=names)
    others = await others_of_set(reader(client), servers[pod("db-1")], servers)
    assert sorted(others) == ["eu/shop/db-0", "eu/shop/db-2"]
    assert await others_of_set(reader(client), servers[key("db-3")], servers) == {}


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        ("db-1", "db-1: not long enough since the first sample"),
        ("db-7", "no server db-7; did you mean db-3"),
        ("db-2", "db-2: "),
    ],
)
def test_a_server_without_a_window_is_refused_with_the_reason(sidecars: Answering, server: str, reason: str) -> None:
    where = ("--prometheus", sidecars.url, "--server", server)
    done = CliRunner().invoke(main, ["plan", "9f2c", "--for", "cnf", *where])
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    assert reason in done.stderr
