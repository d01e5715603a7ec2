"""Sidecars that watch real servers during faults, each with its own account and a guard."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pymysql
import pytest

from lab.programs.proxy import FaultyProxy
from lab.servers import PrivateServer
from tests.advisor.in_process import InProcess
from tests.faults.guard import INTERVAL, Guard, ask

PATIENT = "60s"
"""For a statement: on a busy machine none takes that long unless the server or the network fails."""
GRANTS = (
    "GRANT PROCESS ON *.* TO {account}",
    "GRANT SELECT ON performance_schema.* TO {account}",
    "GRANT SELECT ON mysql.innodb_index_stats TO {account}",
)


@dataclass(frozen=True)
class Account:
    """The sidecar's account, with exactly the README's privileges."""

    user: str
    password: str
    password_file: Path

    @property
    def name(self) -> str:
        """The account in SQL syntax."""
        return f"'{self.user}'@'%'"

    def dsn(self, port: int, query: str = "") -> str:
        return f"mysql://{self.user}@127.0.0.1:{port}/{query and f'?{query}'}"


@pytest.fixture
def account(tmp_path: Path) -> Iterator[Callable[..., Account]]:
    """Create an account on a server; it is dropped at the end if the server still answers."""
    with ExitStack() as stack:

        def make(server: PrivateServer, requires: str = "") -> Account:
            user, password = f"w{secrets.token_hex(4)}", secrets.token_urlsafe(12)
            path = tmp_path / f"{user}.password"
            path.write_text(password + "\n")
            made = Account(user, password, path)
            create(server, made, requires)
            stack.callback(drop, server, made)
            return made

        yield make


def create(server: PrivateServer, account: Account, requires: str = "") -> None:
    """Create the account with its grants."""
    ask(
        server,
        f"CREATE USER {account.name} IDENTIFIED BY '{account.password}'",
        *(grant.format(account=account.name) for grant in GRANTS),
    )
    if requires:
        ask(server, f"ALTER USER {account.name} REQUIRE {requires}")


def drop(server: PrivateServer, account: Account) -> None:
    if server.running():
        with contextlib.suppress(pymysql.err.Error):
            ask(server, f"DROP USER {account.name}")


@pytest.fixture
def guarded(account: Callable[..., Account]) -> Iterator[Callable[..., Guard]]:
    """Start a sidecar for a server with a guard, as in guarded(server, "--statement-timeout", "1s")."""
    with ExitStack() as stack:

        def watch(
            server: PrivateServer,
            *arguments: str,
            through: FaultyProxy | None = None,
            login: Account | None = None,
            query: str = "",
            options: Sequence[object] = (),
        ) -> Guard:
            who = login or account(server)
            port = through.port if through else server.port
            where = options or ("--dsn", who.dsn(port, query), "--password-file", who.password_file)
            timing = ("--interval", f"{INTERVAL:g}s", "--statement-timeout", PATIENT, *arguments)  # the last one counts
            sidecar = stack.enter_context(InProcess(*where, *timing))
            return stack.enter_context(Guard(sidecar, who.user, server))

        yield watch


@pytest.fixture
def proxied() -> Iterator[Callable[[PrivateServer], FaultyProxy]]:
    """A proxy in front of a server."""
    with ExitStack() as stack:
        yield lambda server: stack.enter_context(FaultyProxy((server.host, server.port)))
