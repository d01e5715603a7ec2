"""The driver, in a process of its own: the tests import cryptography themselves."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, replace

import pytest

from exporter.connection.target import from_dsn
from lab.servers import Server
from tests.advisor.building import REPOSITORY

_LOG_IN = """
import asyncio, json, sys
from exporter.connection.session import Session
from exporter.connection.target import Target

async def log_in(target):
    session = await Session.open(Target(**target), statement_seconds=5)
    await session.close()
    return "cryptography" in sys.modules

print(json.dumps([asyncio.run(log_in(target)) for target in json.loads(sys.argv[1])]))
"""


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
def test_cryptography_is_imported_for_a_password_without_tls_and_not_before(
    server: Server, ask: Callable[..., object]
) -> None:
    """Each account is new: the server has no password of it in its cache."""
    ways = [
        ("caching_sha2_password", "REQUIRED"),
        ("sha256_password", "REQUIRED"),
        ("caching_sha2_password", "DISABLED"),
    ]
    where = replace(from_dsn(server.dsn), password="secret")
    targets = [replace(where, user=f"u{secrets.token_hex(4)}", ssl_mode=mode) for _, mode in ways]
    for target, (plugin, _) in zip(targets, ways, strict=True):
        ask(server, f"CREATE USER '{target.user}'@'%' IDENTIFIED WITH {plugin} BY 'secret'")
    try:
        ended = subprocess.run(  # noqa: S603
            [sys.executable, "-c", _LOG_IN, json.dumps([asdict(target) for target in targets])],
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        ask(server, *(f"DROP USER '{target.user}'@'%'" for target in targets))
    assert ended.stdout == "[false, false, true]\n", ended.stderr
