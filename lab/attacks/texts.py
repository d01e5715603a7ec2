"""Hostile names on the server, and every way out of the sidecar asked for them."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from advisor.contract.sql import identifier
from advisor.contract.visible import visible
from lab.attacks.attack import Attack, Line, Sidecar, Stage
from lab.attacks.names import IDENTIFIERS, raw
from lab.processes.service import PLAIN
from lab.servers import Server
from lab.workloads import Load

SCHEMA = "sch\x1b[2Jema\u202e`; DROP"
ROWS = 5
MODES = ("", "ANSI_QUOTES", "NO_BACKSLASH_ESCAPES", "ANSI,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT")
PATHS = (
    "/advise",
    "/history",
    "/curve",
    "/rules",
    "/snapshot",
    "/overview",
    "/state",
    "/events?window=3600",
    "/series",
)
FORMS = ("application/json", "text/plain", "text/markdown", "text/html", "image/svg+xml")
_STYLE = re.compile(r"\x1b\[[0-9;]*m")
"""The colours of the command line's own; everything else that begins with an escape is somebody else's."""
RULE = "hostile-names"
TEXT = f"""\
id: {RULE}
title: "[red]A rule of others[/red] \\e]0;title\\a \\u202e <!channel> </pre><script>"
severity: info
confidence: 1.0
applies: {{mysql: {{from: "5.6"}}, mariadb: {{from: "10.5"}}}}
needs: [table_scans]
for_each: scans
when: [scan.passes >= 1.0]
summary: "{{scan.schema}}.{{scan.table}} is scanned \\e[31m"
evidence: [{{name: table, value: scan.table, source: "table \\u200b{{scan.table}}"}}]
action:
  - do: "Look at {{scan.table}}"
    apply: ["ANALYZE TABLE {{scan.schema:identifier}}.{{scan.table:identifier}}"]
    rollback: ["DO 0"]
why: "A rule of others.\\e]8;;http://example.com\\a"
proved: ["Not at all."]
references: ["http://example.com"]
"""


@contextmanager
def tables(server: Server) -> Iterator[None]:
    """Tables of these names that are scanned again and again."""
    schema = identifier(SCHEMA)
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {schema}")
        for name in IDENTIFIERS:
            cursor.execute(f"CREATE TABLE {schema}.{identifier(name)} (id INT PRIMARY KEY, {identifier(name)} INT)")
            cursor.execute(
                f"INSERT INTO {schema}.{identifier(name)} VALUES {', '.join(f'({n}, 0)' for n in range(ROWS))}"
            )
            cursor.execute(f"ALTER TABLE {schema}.{identifier(name)} ADD INDEX {identifier(name)} ({identifier(name)})")
            cursor.execute(f"ANALYZE TABLE {schema}.{identifier(name)}")
    try:
        with Load(server.connect) as load:
            load.repeat(_scan_all, pause=0.5)
            yield
    finally:
        with server.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"DROP DATABASE {schema}")


def _scan_all(connection: Any) -> None:
    with connection.cursor() as cursor:
        for name in IDENTIFIERS:
            cursor.execute(f"SELECT SUM(id) FROM {identifier(SCHEMA)}.{identifier(name)} USE INDEX ()")
            cursor.fetchall()


def _attack(stage: Stage) -> Iterator[Line]:
    with tables(stage.server), tempfile.TemporaryDirectory(prefix="innodb-advisor-attacks-") as folder:
        rules = Path(folder)
        (rules / f"{RULE}.yaml").write_text(TEXT, encoding="utf-8")
        with stage.sidecar("--interval", "1s", "--rules", folder) as sidecar:
            found = _findings(sidecar, 20.0 if stage.short else 60.0)
            names = {each["subject"]["table"] for each in found}
            yield Line(
                "hostile names of which there is a finding",
                f"all {len(IDENTIFIERS)}",
                f"{len(names & set(IDENTIFIERS))}",
                names >= set(IDENTIFIERS),
            )
            yield _shown("answers of HTTP", dict(_answers(sidecar, found, most=3 if stage.short else len(found))))
        yield _shown("outputs of the command line on a terminal", dict(_outputs(stage, rules)))
        yield _run(stage.server, found)


def _findings(sidecar: Sidecar, seconds: float) -> list[dict[str, Any]]:
    """The rule's findings, once there is one of each name or the time is over."""
    until = time.monotonic() + seconds
    found: list[dict[str, Any]] = []
    while time.monotonic() < until and len(found) < len(IDENTIFIERS):
        time.sleep(1.0)
        answer = httpx.get(f"{sidecar.url}/advise", params={"rule": RULE}, timeout=30.0, **PLAIN)
        if answer.is_success:
            found = [each for each in answer.json()["recommendations"] if each["subject"]["schema"] == SCHEMA]
    return found


def _answers(sidecar: Sidecar, found: list[dict[str, Any]], most: int) -> Iterator[tuple[str, str]]:
    paths = (*PATHS, f"/rules/{RULE}", *(f"/advise/{each['fingerprint']}" for each in found[:most]))
    with httpx.Client(base_url=sidecar.url, timeout=60.0, **PLAIN) as client:
        for path in paths:
            for form in FORMS:
                answer = client.get(path, headers={"Accept": form})
                yield f"{path} as {form}", answer.text
        for odd in IDENTIFIERS[: 3 * most]:
            yield (
                f"a problem about {odd!a}",
                client.get(f"/rules/{quote(odd, safe='')}").text,
            )
            yield f"statements of {odd!a}", client.get("/statements", params={"schema": SCHEMA, "table": odd}).text


def _outputs(stage: Stage, rules: Path) -> Iterator[tuple[str, str]]:
    dsn = ("--dsn", stage.server.dsn)
    watched = ("--watch", "3s", "--interval", "1s")
    yield "advise", _on_terminal("advise", *dsn, *watched, "--rules", str(rules))
    for form in () if stage.short else ("markdown", "json"):
        yield f"advise as {form}", _on_terminal("advise", *dsn, *watched, "--rules", str(rules), "--format", form)
    yield "check", _on_terminal("check", *dsn, "--rules", str(rules))
    for form in ("text", "markdown", "yaml", "json"):
        yield f"rules show as {form}", _on_terminal("rules", "show", RULE, "--rules", str(rules), "--format", form)
    yield "rules list", _on_terminal("rules", "list", "--rules", str(rules))
    yield "an error", _on_terminal("advise", "--recording", "\x1b]0;title\x07\u202e.jsonl")


def _on_terminal(*arguments: str) -> str:
    """What a command writes to a terminal, without its own colours."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "160", "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "advisor.cli", *arguments]
    # Standard error is no terminal: a progress bar there moves the cursor.
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE, env=environment
    )
    os.close(theirs)
    said = bytearray()
    try:
        while part := os.read(ours, 65536):
            said += part
    except OSError:  # Linux ends a terminal that nobody writes to so
        pass
    finally:
        os.close(ours)
        said += process.communicate(timeout=60)[1]
    return _STYLE.sub("", said.decode("utf-8", "backslashreplace").replace("\r\n", "\n"))


def _shown(what: str, said: dict[str, str]) -> Line:
    odd = {where: raw(text) for where, text in said.items() if raw(text)}
    measured = "; ".join(f"{where}: {sorted(each)!a}" for where, each in odd.items())
    return Line(
        f"{what} with a character that a terminal obeys or that does not show",
        f"0 of {len(said)}",
        f"{len(odd)}{f': {measured}' if measured else ''}",
        not odd and bool(said),
    )


def _run(server: Server, found: list[dict[str, Any]]) -> Line:
    """Run each advised statement in each sql_mode: it reaches its own table, and the tables stay as they are."""
    wrong = []
    with server.connect() as connection, connection.cursor() as cursor:
        before = _all_tables(cursor)
        for mode in MODES:
            cursor.execute("SET SESSION sql_mode = %s", (mode,))
            for each in found:
                [statement] = each["actions"][0]["apply"]
                cursor.execute(statement)
                [(table, _, kind, text)] = cursor.fetchall()
                if (table, kind, text) != (f"{SCHEMA}.{each['subject']['table']}", "status", "OK"):
                    wrong.append(visible(f"{mode}: {statement}: {text}"))
        after = _all_tables(cursor)
    if before != after:
        wrong.append("tables differ")
    return Line(
        f"advised statements that fail or reach something else, in {len(MODES)} sql_modes",
        f"0 of {len(MODES) * len(found)}",
        f"{len(wrong)}{f': {json.dumps(wrong)}' if wrong else ''}",
        not wrong and bool(found),
    )


def _all_tables(cursor: Any) -> list[tuple[Any, ...]]:
    cursor.execute("SELECT TABLE_SCHEMA, TABLE_NAME, CREATE_TIME FROM information_schema.TABLES ORDER BY 1, 2")
    return list(cursor.fetchall())


ATTACKS = (
    Attack(
        "hostile-names",
        "names with escape sequences, bidirectional marks, quotes and markup, in the server and in a rule of others",
        _attack,
        (120.0, 80.0),
        in_ci=False,
    ),
)
