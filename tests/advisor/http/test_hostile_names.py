"""Hostile names of a real server, and a rule of others: every answer shows them, every statement reaches its table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from urllib.parse import quote

import pytest

from lab.servers import PrivateServer
from tests.advisor.in_process import InProcess
from tests.hostile_names import IDENTIFIERS, raw
from tests.hostile_tables import RULE, SCHEMA, TEXT, tables
from tests.waiting import wait_for

MODES = ("", "ANSI_QUOTES", "NO_BACKSLASH_ESCAPES", "ANSI,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT")
FORMS = ("application/json", "text/plain", "text/markdown", "text/html", "image/svg+xml")
PATHS = (
    *("/advise", "/history", "/curve", "/rules", f"/rules/{RULE}", "/snapshot", "/overview"),
    *("/state", "/events?window=3600", "/series"),
)
Findings = list[dict[str, Any]]


@pytest.fixture(scope="module")
def sidecar(server: PrivateServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    rules = tmp_path_factory.mktemp("rules")
    (rules / f"{RULE}.yaml").write_text(TEXT, encoding="utf-8")
    with ExitStack() as stack:
        stack.enter_context(tables(server))
        yield stack.enter_context(InProcess("--dsn", server.dsn, "--interval", "0.5s", "--rules", rules))


@pytest.fixture(scope="module")
def findings(sidecar: InProcess) -> Findings:
    """One of each name."""

    def all_findings() -> Findings | None:
        answer = sidecar.get("/advise", params={"rule": RULE})
        ours = [
            finding
            for finding in (answer.json()["recommendations"] if answer.is_success else ())
            if finding["subject"]["schema"] == SCHEMA
        ]
        return ours if {finding["subject"]["table"] for finding in ours} == set(IDENTIFIERS) else None

    return wait_for(all_findings)


one = pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True, scope="session")


@one
def test_no_answer_has_a_character_that_moves_a_cursor_or_does_not_show(sidecar: InProcess, findings: Findings) -> None:
    texts: dict[str, str] = {}
    for path in (*PATHS, *(f"/advise/{finding['fingerprint']}" for finding in findings)):
        for form in FORMS:
            texts[f"{path} as {form}"] = sidecar.get(path, headers={"Accept": form}).text
    for name in IDENTIFIERS:
        texts[f"a rule of the name {name!a}"] = sidecar.get(f"/rules/{quote(name, safe='')}").text
        of_table = {"schema": SCHEMA, "table": name}
        texts[f"statements of {name!a}"] = sidecar.get("/statements", params=of_table).text
    assert {where: raw(text) for where, text in texts.items() if raw(text)} == {}


@one
def test_an_advised_statement_reaches_its_own_table_in_every_sql_mode(
    server: PrivateServer, findings: Findings
) -> None:
    every = "SELECT TABLE_SCHEMA, TABLE_NAME, CREATE_TIME FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s"
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(every, (SCHEMA,))
        before = sorted(cursor.fetchall())
        for mode in MODES:
            cursor.execute("SET SESSION sql_mode = %s", (mode,))
            for finding in findings:
                [statement] = finding["actions"][0]["apply"]
                cursor.execute(statement)
                [(table, _, kind, text)] = cursor.fetchall()
                assert (table, kind, text) == (f"{SCHEMA}.{finding['subject']['table']}", "status", "OK"), mode
        cursor.execute(every, (SCHEMA,))
        assert sorted(cursor.fetchall()) == before
