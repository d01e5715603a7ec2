"""The statements sent to a server are constant texts, without any name, value or text from the server or a user."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from exporter.collectors import COLLECTORS, OPTIONAL, lru_pages
from exporter.collectors.base import SourceUnavailable
from exporter.collectors.parallel_readers import PARALLEL_READERS
from exporter.collectors.table_digests import table_digests
from exporter.connection import session_settings
from exporter.server import IDENTITY_SQL, Server, identify
from exporter.snapshot import Table
from lab.servers import PrivateServer
from tests.advisor.building import REPOSITORY
from tests.faults.conftest import PATIENT, Account
from tests.faults.guard import Guard, ask

HOSTILE = "9.7.4'; DROP TABLE mysql.user; -- `\\\""
VERSIONS = (
    {"version": "5.6.51"},
    {"version": "5.7.44-log"},
    {"version": "8.0.13"},
    {"version": "8.0.44", "version_comment": "Percona Server"},
    {"version": "8.4.9", "basedir": "/rdsdbbin/mysql"},
    {"version": "9.7.4"},
    {"version": "10.1.48-MariaDB"},
    {"version": "10.5.29-MariaDB"},
    {"version": "10.11.18-MariaDB"},
    {"version": "11.8.3-MariaDB"},
    {"version": "8.0.39", "aurora_version": "3.08.0"},
)
ON_DEMAND = table_digests(Table("shop", "orders"))
ALL = (*COLLECTORS, PARALLEL_READERS, *OPTIONAL, lru_pages.LRU_PAGES_OF_ANY_POOL, ON_DEMAND)
WRITING = re.compile(
    r"\b(INSERT|UPDATE|DELETE|REPLACE|DROP|CREATE|ALTER|TRUNCATE|GRANT|CALL|LOAD|INTO|LOCK|KILL)\b(?!\()"
)


def statements(server: Server) -> Iterator[tuple[str, str]]:
    for collector in ALL:
        with suppress(SourceUnavailable):
            for sql in collector.queries(server):
                yield collector.name, sql
    own = (session_settings.second_sql(server, float(PATIENT.removesuffix("s"))), session_settings.check_sql(server))
    for sql in (session_settings.FIRST_SQL, IDENTITY_SQL, *own):
        yield "session", sql


@pytest.mark.parametrize("variables", VERSIONS, ids=lambda variables: "-".join(variables.values())[:24])
@pytest.mark.parametrize("performance_schema", ["ON", "OFF"])
def test_the_server_decides_which_statements_are_sent_but_not_their_text(
    variables: dict[str, str], performance_schema: str
) -> None:
    server = identify({**variables, "performance_schema": performance_schema})
    texts = {field.name: HOSTILE for field in fields(Server) if field.name in ("version_text", "comment")}
    assert list(statements(replace(server, **texts))) == list(statements(server))  # type: ignore[arg-type]
    for name, sql in statements(server):
        assert HOSTILE not in sql
        assert ";" not in sql, name
        if name != "session":
            assert re.match(r"(SELECT|SHOW) ", sql), name
            assert not WRITING.search(re.sub(r"'[^']*'", "''", sql)), name


def test_the_statements_are_few() -> None:
    """They are constants: many servers, but only a few dozen texts."""
    seen = {
        sql
        for variables in VERSIONS
        for performance_schema in ("ON", "OFF")
        for _, sql in statements(identify({**variables, "performance_schema": performance_schema}))
    }
    assert len(seen) < 60


def awaited(tree: ast.AST, *names: str) -> Iterator[ast.Call]:
    """The awaited calls of methods with these names: the driver's. Those of the state file's SQLite are not awaited."""
    for node in ast.walk(tree):
        call = node.value if isinstance(node, ast.Await) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in names:
            yield call


def test_one_module_sends_statements_and_adds_nothing_to_them() -> None:
    sending: dict[str, list[ast.Call]] = {}
    for path in sorted(p for package in ("exporter", "advisor") for p in (REPOSITORY / package).rglob("*.py")):
        sent = list(awaited(ast.parse(path.read_text(encoding="utf-8")), "execute", "executemany", "callproc"))
        if sent:
            sending[path.relative_to(REPOSITORY).as_posix()] = sent
    assert list(sending) == ["exporter/connection/session.py"]
    [call] = sending["exporter/connection/session.py"]
    assert ast.unparse(call.args[0]) == "f'/* innodb-advisor:{collector} */ {sql}'"
    assert [ast.unparse(argument) for argument in call.args[1:]] == ["values or None"]  # bound by the driver


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
def test_a_server_receives_exactly_these_statements(
    server: PrivateServer, account: Callable[..., Account], guarded: Callable[..., Guard], tmp_path: Path
) -> None:
    who = account(server)
    log = tmp_path / "general.log"
    [(usual,)] = ask(server, "SELECT @@GLOBAL.general_log_file")
    ask(server, f"SET GLOBAL general_log_file = '{log}'", "SET GLOBAL general_log = ON")
    try:
        guard = guarded(server, login=who)
        guard.well()
        guard.sidecar.post("/whatif", json={"set": {"innodb_old_blocks_pct": 80}})
        guard.sidecar.get("/curve")
        assert guard.sidecar.get("/statements?schema=shop&table=orders").json()["lacks"] is None
        guard.collected()
        sessions = guard.both()
    finally:
        ask(server, "SET GLOBAL general_log = OFF", f"SET GLOBAL general_log_file = '{usual}'")
    bound = tuple(f"'{value}'" for value in ON_DEMAND.values)
    texts = [sql % bound if name == ON_DEMAND.name else sql for name, sql in statements(_identity(server))]
    known = {" ".join(sql.split()) for sql in texts}
    received = _queries(log.read_text(encoding="utf-8", errors="replace"), sessions)
    assert len(received) > len(ALL)
    strange = {sql for sql in received if re.sub(r"^/\* innodb-advisor:\w+ \*/ ", "", sql) not in known}
    assert strange == set()


def _identity(server: PrivateServer) -> Server:
    rows: list[tuple[Any, ...]] = ask(server, IDENTITY_SQL)
    return identify({str(name): str(value) for name, value in rows})


def _queries(log: str, sessions: set[int]) -> set[str]:
    """The statements of these sessions in a general log."""
    logged = re.findall(r"^\S+Z\s+(\d+) Query\t(.*)$", log, re.MULTILINE)
    return {" ".join(sql.split()) for session, sql in logged if int(session) in sessions}
