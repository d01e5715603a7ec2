"""`serve --compat mysqld-exporter`, as its users have it: the peer's names beside the sidecar's own, and only then."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics

from lab.servers import PrivateServer
from lab.servers.sql import query_number
from tests.advisor.building import RECORDING, capture
from tests.advisor.conftest import Run
from tests.advisor.in_process import InProcess
from tests.advisor.sidecar import values
from tests.waiting import wait_for

COMPAT = ("--compat", "mysqld-exporter")
OPENMETRICS = {"Accept": "application/openmetrics-text;version=1.0.0"}
KINDS = "mysql_info_schema_innodb_metrics_"


def names(sidecar: InProcess, **options: Any) -> set[str]:
    return {name for name, _ in values(sidecar.get("/metrics").text, **options)}


def kinds_asked(server: PrivateServer) -> float:
    """How often the server was asked what INNODB_METRICS' counters are."""
    return query_number(
        server,
        "SELECT COALESCE(SUM(COUNT_STAR), 0) FROM performance_schema.events_statements_summary_by_digest"
        " WHERE DIGEST_TEXT LIKE 'SELECT NAME AS%SUBSYSTEM%INNODB_METRICS%'",
    )


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
def test_they_cost_the_server_one_statement_in_five_minutes(server: PrivateServer) -> None:
    before = kinds_asked(server)
    with InProcess("--dsn", server.dsn, "--interval", "1s", *COMPAT) as sidecar:
        wait_for(lambda: f"{KINDS}change_buffer_ibuf_merges_total" in names(sidecar))
        collected = sidecar.get("/snapshot").json()["at"]
        wait_for(lambda: sidecar.get("/snapshot").json()["at"] > collected)
        assert kinds_asked(server) == before + 1
        exposed = sidecar.get("/metrics", headers=OPENMETRICS)
    assert exposed.headers["content-type"].startswith("application/openmetrics-text")
    assert {name for name, _ in values(exposed.text, parse_openmetrics)} >= {"mysql_up", "mysql_version_info"}


def test_they_stand_beside_the_sidecars_own_and_only_where_they_are_asked_for(replaying: InProcess) -> None:
    with InProcess("--recording", capture(RECORDING), *COMPAT) as beside:
        beside.settle()
        both, own = names(beside), names(replaying)
    assert not [name for name in own if name.startswith("mysql_")]
    assert {name for name in both if not name.startswith("mysql_")} == own
    assert both >= {"mysql_up", "mysql_global_status_buffer_pool_pages", "mysql_global_variables_innodb_old_blocks_pct"}
    assert not [name for name in both if name.startswith(KINDS)]  # a recording does not say what these are


def test_another_exporter_is_not_known(run: Run) -> None:
    ended = run("serve", "--compat", "node-exporter")
    assert ended.returncode == 2
    assert "'node-exporter' is not 'mysqld-exporter'" in ended.stderr
