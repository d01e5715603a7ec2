"""The driver, in processes of their own: the tests import cryptography themselves."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest

from exporter.connection.target import Target, from_dsn
from lab.servers import Server
from tests.advisor.building import REPOSITORY

Ask = Callable[..., object]

_LOG_IN = """
import asyncio, json, sys
from exporter.connection.session import Session
from exporter.connection.target import Target, from_dsn

async def log_in(mode):
    session = await Session.open(Target(**json.loads(sys.argv[1]), ssl_mode=mode), statement_seconds=5)
    await session.close()
    return "cryptography" in sys.modules

print(json.dumps([asyncio.run(log_in(mode)) for mode in sys.argv[2:]]))
"""


def with_cryptography(target: Target, *modes: str) -> list[bool]:
    """Whether a process that logs in with these modes in turn has imported cryptography after each."""
    where = {"host": target.host, "port": target.port, "user": target.user, "password": target.password}
    ended = subprocess.run(  # noqa: S603
        [sys.executable, "-c", _LOG_IN, json.dumps(where), *modes],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stderr
    return list(json.loads(ended.stdout))


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
@pytest.mark.parametrize("plugin", ["caching_sha2_password", "sha256_password"])
def test_cryptography_is_imported_for_a_password_without_tls_and_not_before(
    server: Server, ask: Ask, plugin: str
) -> None:
    user = f"u{secrets.token_hex(4)}"
    ask(server, f"CREATE USER '{user}'@'%' IDENTIFIED WITH {plugin} BY 'secret'")
    target = replace(from_dsn(server.dsn), user=user, password="secret")
    try:
        assert with_cryptography(target, "REQUIRED") == [False]
        ask(server, "FLUSH PRIVILEGES")  # which empties the cache of passwords
        assert with_cryptography(target, "DISABLED", "DISABLED") == [True, True]
    finally:
        ask(server, f"DROP USER '{user}'@'%'")
