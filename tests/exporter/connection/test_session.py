import asyncio
import contextlib
import random
import re
import secrets
from asyncio import sslproto
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from exporter.connection.errors import ConnectionLost, ServerError
from exporter.connection.session import Session
from exporter.connection.session_settings import LOCK_WAIT_SECONDS, second_sql
from exporter.connection.target import Peer, Target, from_dsn
from exporter.rows import Rows
from exporter.server import identify
from lab.servers import NAMES, PrivateServer
from tests.waiting import DEADLINE, until

Ask = Callable[..., list[tuple[Any, ...]]]


@asynccontextmanager
async def connected(whom: PrivateServer | Target, seconds: float = DEADLINE) -> AsyncIterator[Session]:
    target = whom if isinstance(whom, Target) else from_dsn(whom.dsn)
    connection = await Session.open(target, statement_seconds=seconds)
    try:
        yield connection
    finally:
        await connection.close()


async def value(connection: Session, sql: str) -> Any:
    return (await connection.query("test", sql, DEADLINE)).rows[0][0]


def running(server: PrivateServer, ask: Ask, text: str) -> bool:
    return bool(ask(server, f"SELECT 1 FROM information_schema.PROCESSLIST WHERE INFO LIKE '%SELECT {text}'"))


# What a session is


async def test_it_knows_the_server_and_the_account(server: PrivateServer) -> None:
    async with connected(server) as connection:
        assert connection.server.version_text == server.version
        assert connection.account == "root@localhost"


async def test_it_knows_both_ends_of_the_connection(server: PrivateServer, ask: Ask) -> None:
    async with connected(server) as connection:
        peer = connection.peer
        number = await value(connection, "SELECT CONNECTION_ID()")
        [(client,)] = ask(server, f"SELECT HOST FROM information_schema.PROCESSLIST WHERE ID = {number}")
        assert peer.own is not None
        assert client == f"localhost:{peer.own[1]}"
        assert (peer.own[0], peer.port, peer.pid) == ("127.0.0.1", server.port, None)
        connection.abort()
        await until(lambda: connection.peer == Peer())
    async with connected(Target(socket=str(server.socket))) as connection:
        assert connection.peer == Peer(pid=server.pid)


async def test_a_result_is_rows(server: PrivateServer) -> None:
    async with connected(server) as connection:
        rows = await connection.query("test", "SELECT 1 AS One, 2.5 AS Half, 'é日' AS Text, NULL AS Nothing", DEADLINE)
    assert rows == Rows(("one", "half", "text", "nothing"), ((1, 2.5, "é日", None),))


async def test_a_statement_without_a_result_gives_no_rows(server: PrivateServer) -> None:
    async with connected(server) as connection:
        assert await connection.query("test", "SET @a = 1", DEADLINE) == Rows((), ())


async def test_bytes_that_are_not_utf8_do_not_fail_a_statement(server: PrivateServer) -> None:
    async with connected(server) as connection:
        assert await value(connection, "SELECT CAST(0x61FF AS BINARY)") == "a�"
        assert await value(connection, "SELECT 1") == 1


async def test_the_session_is_read_only(server: PrivateServer, ask: Ask) -> None:
    ask(
        server,
        "CREATE DATABASE IF NOT EXISTS shop",
        "DROP TABLE IF EXISTS shop.untouched",
        "CREATE TABLE shop.untouched (id INT PRIMARY KEY) ENGINE=InnoDB",
    )
    async with connected(server) as connection:
        for statement in (
            "INSERT INTO shop.untouched VALUES (1)",
            "DELETE FROM shop.untouched",
            "TRUNCATE TABLE shop.untouched",
            "DROP TABLE shop.untouched",
            "CREATE TABLE shop.another (id INT)",
        ):
            with pytest.raises(ServerError, match="READ ONLY"):
                await connection.query("test", statement, DEADLINE)
        assert await value(connection, "SELECT COUNT(*) FROM shop.untouched") == 0
    ask(server, "DROP TABLE shop.untouched")


async def test_the_session_waits_for_no_lock_longer_than_two_seconds(server: PrivateServer) -> None:
    async with connected(server) as connection:
        assert await value(connection, "SELECT @@SESSION.lock_wait_timeout") == LOCK_WAIT_SECONDS
        assert await value(connection, "SELECT @@SESSION.innodb_lock_wait_timeout") == LOCK_WAIT_SECONDS


@pytest.mark.parametrize("server", ["mariadb-11.8"], indirect=True)
async def test_a_locked_table_fails_the_statement_and_not_the_session(server: PrivateServer, ask: Ask) -> None:
    ask(server, "CREATE DATABASE IF NOT EXISTS shop", "CREATE TABLE shop.locked (id INT PRIMARY KEY) ENGINE=InnoDB")
    with server.connect() as other, other.cursor() as cursor:
        cursor.execute("LOCK TABLES shop.locked WRITE")
        async with connected(server) as connection:
            with pytest.raises(ServerError, match="error 1205: Lock wait timeout"):
                await connection.query("test", "SELECT * FROM shop.locked", DEADLINE)
            assert await value(connection, "SELECT 1") == 1
    ask(server, "DROP TABLE shop.locked")


@pytest.mark.parametrize(
    ("version", "limit"),
    [
        ("5.6.24", None),
        ("5.7.7", None),
        ("5.7.8", "SESSION max_execution_time = 2500"),
        ("9.7.4", "SESSION max_execution_time = 2500"),
        ("26.7.0", "SESSION max_execution_time = 2500"),
        ("10.1.0-MariaDB", None),
        ("10.1.1-MariaDB", "SESSION max_statement_time = 2.5"),
        ("11.8.6-MariaDB", "SESSION max_statement_time = 2.5"),
    ],
)
def test_the_server_limits_statements_where_it_can(version: str, limit: str | None) -> None:
    settings = second_sql(identify({"version": version}), 2.5).removeprefix("SET ").split(", ")
    assert [setting for setting in settings if "max_" in setting] == ([limit] if limit else [])
    assert all(setting.startswith("SESSION ") for setting in settings)


@pytest.fixture
def remembered(server: PrivateServer, ask: Ask) -> Iterator[None]:
    """The server keeps each session's last statements."""
    consumers = "performance_schema.setup_consumers SET ENABLED = '{}' WHERE NAME IN ({})"
    off = ask(
        server,
        "SELECT NAME FROM performance_schema.setup_consumers"
        " WHERE NAME IN ('events_statements_current', 'events_statements_history') AND ENABLED = 'NO'",
    )
    names = ", ".join(f"'{name}'" for (name,) in off) or "''"
    ask(server, f"UPDATE {consumers.format('YES', names)}")
    yield
    ask(server, f"UPDATE {consumers.format('NO', names)}")


@pytest.mark.usefixtures("remembered")
async def test_every_statement_says_whose_it_is(server: PrivateServer, ask: Ask) -> None:
    async with connected(server) as connection:
        number = await value(connection, "SELECT CONNECTION_ID()")
        await connection.query("pools", "SELECT 'marked'", DEADLINE)
        history = (
            "SELECT h.SQL_TEXT FROM performance_schema.events_statements_history h"
            " JOIN performance_schema.threads t ON t.THREAD_ID = h.THREAD_ID"
            f" WHERE t.PROCESSLIST_ID = {number} AND h.EVENT_NAME LIKE 'statement/sql/%'"
        )

        def marked() -> list[str] | None:
            """All, once the last is among them: a server answers before it writes the statement down."""
            texts = [text for (text,) in ask(server, history) if text is not None]
            return texts if "/* innodb-advisor:pools */ SELECT 'marked'" in texts else None

        said = await until(marked)
    assert all(text.startswith("/* innodb-advisor:") for text in said)


async def test_the_session_names_the_program(server: PrivateServer, ask: Ask) -> None:
    if server.name == "mysql-5.6":
        sql = "SELECT ATTR_VALUE FROM performance_schema.session_connect_attrs WHERE PROCESSLIST_ID = {}"
    else:
        sql = (
            "SELECT ATTR_VALUE FROM performance_schema.session_connect_attrs"
            " WHERE ATTR_NAME = 'program_name' AND PROCESSLIST_ID = {}"
        )
    async with connected(server) as connection:
        assert ("innodb-advisor",) in ask(server, sql.format(await value(connection, "SELECT CONNECTION_ID()")))


# Deadlines


SLOW = {
    "mysql-9.7": "SELECT COUNT(*) FROM information_schema.COLLATIONS a, information_schema.COLLATIONS b,"
    " information_schema.COLLATIONS c, information_schema.COLLATIONS d",
}
"""MySQL's SLEEP() returns 1 when it is interrupted; on other servers it fails."""


@pytest.mark.parametrize("server", [name for name in NAMES if name != "mysql-5.6"], indirect=True)
async def test_a_statement_over_its_time_is_ended_by_the_server_and_the_session_lives(server: PrivateServer) -> None:
    async with connected(server, seconds=1.0) as connection:
        with pytest.raises(ServerError, match=r"(?i)execution (time exceeded|was interrupted)") as ended:
            await connection.query("test", SLOW.get(server.name, "SELECT SLEEP(1000)"), DEADLINE)
        assert ended.value.failure == "deadline"
        assert not connection.closed
        assert await value(connection, "SELECT 1") == 1


async def test_a_statement_over_its_time_here_ends_the_session(server: PrivateServer) -> None:
    async with connected(server) as connection:
        with pytest.raises(ServerError, match=r"no answer within 0\.1 s") as ended:
            await connection.query("test", "SELECT SLEEP(1000)", 0.1)
        assert ended.value.failure == "deadline"
        assert connection.closed
        with pytest.raises(ConnectionLost):
            await connection.query("test", "SELECT 1", DEADLINE)


@pytest.mark.parametrize("server", ["mariadb-11.8"], indirect=True)
async def test_statements_wait_for_each_other(server: PrivateServer) -> None:
    async with connected(server) as connection:
        answers = await asyncio.gather(*(value(connection, f"SELECT {n} + SLEEP(0.01)") for n in range(10)))
    assert answers == list(range(10))


@pytest.mark.parametrize("server", ["mariadb-11.8"], indirect=True)
async def test_a_cancelled_statement_ends_the_session(server: PrivateServer, ask: Ask) -> None:
    async with connected(server) as connection:
        task = asyncio.create_task(connection.query("test", "SELECT SLEEP(29.75)", DEADLINE))
        await until(lambda: running(server, ask, "SLEEP(29.75)"))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert connection.closed


# Errors of statements


async def test_a_statement_that_the_server_refuses_says_why(server: PrivateServer) -> None:
    async with connected(server) as connection:
        for statement, reason in (
            ("SELECT * FROM mysql.no_such_table", "error 1146: Table 'mysql.no_such_table' doesn't exist"),
            ("SELEC 1", "error 1064: You have an error in your SQL syntax"),
        ):
            with pytest.raises(ServerError, match=reason):
                await connection.query("test", statement, DEADLINE)
        assert await value(connection, "SELECT 1") == 1


async def test_a_privilege_that_is_missing_is_told_apart(server: PrivateServer, ask: Ask) -> None:
    ask(server, "CREATE USER bare@localhost IDENTIFIED BY 'x'")
    async with connected(replace(from_dsn(server.dsn), user="bare", password="x")) as connection:
        for statement in (
            "SHOW ENGINE INNODB STATUS",
            "SELECT * FROM information_schema.INNODB_BUFFER_POOL_STATS",
            "SELECT * FROM mysql.innodb_index_stats",
        ):
            with pytest.raises(ServerError, match="denied") as refused:
                await connection.query("test", statement, DEADLINE)
            assert refused.value.failure == "privilege"
        assert not connection.closed
    ask(server, "DROP USER bare@localhost")


async def test_a_session_that_the_server_ended_is_lost(server: PrivateServer, ask: Ask) -> None:
    async with connected(server) as connection:
        number = await value(connection, "SELECT CONNECTION_ID()")
        ask(server, f"KILL {number}")
        await until(lambda: not ask(server, f"SELECT 1 FROM information_schema.PROCESSLIST WHERE ID = {number}"))
        with pytest.raises(ConnectionLost, match=f"{server.host}:{server.port}"):
            await connection.query("test", "SELECT 1", DEADLINE)
        assert connection.closed


# Logins


@pytest.fixture
def account(server: PrivateServer, ask: Ask) -> Iterator[Callable[..., Target]]:
    """Create an account with a password, and return a target that logs in with it."""
    made: list[str] = []

    def make(password: str, how: str = "IDENTIFIED BY '{}'") -> Target:
        user = f"u{secrets.token_hex(4)}"
        made.append(user)
        ask(server, f"CREATE USER '{user}'@'%' {how.format(password)}")
        return replace(from_dsn(server.dsn), user=user, password=password)

    yield make
    for user in made:
        ask(server, f"DROP USER '{user}'@'%'")


@pytest.mark.parametrize("password", ["secret", "pässwörd", "пароль-密码", "a b'\"`$%#"], ids=ascii)
async def test_a_password_logs_in_over_tcp_and_over_the_socket(
    server: PrivateServer, account: Callable[..., Target], password: str
) -> None:
    target = account("x")
    with server.connect(charset="utf8mb4") as root, root.cursor() as cursor:
        set_password = "SET PASSWORD FOR %s@'%%' = " + ("PASSWORD(%s)" if "mysql-9" not in server.name else "%s")
        cursor.execute(set_password, (target.user, password))
    target = replace(target, password=password)
    for way in (target, target, replace(target, socket=str(server.socket))):  # the second may come from a cache
        async with connected(way) as connection:
            assert connection.account == f"{target.user}@%"


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
@pytest.mark.parametrize("plugin", ["caching_sha2_password", "sha256_password"])
async def test_mysqls_ways_to_log_in_work_without_tls_and_with(
    server: PrivateServer, account: Callable[..., Target], plugin: str, ask: Ask
) -> None:
    target = account("secret", f"IDENTIFIED WITH {plugin} BY '{{}}'")
    for mode, cipher in (("DISABLED", False), ("REQUIRED", True)):
        ask(server, "FLUSH PRIVILEGES")  # which empties the cache of passwords
        for _ in range(2):
            async with connected(replace(target, ssl_mode=mode)) as connection:
                status = await connection.query("test", "SHOW SESSION STATUS LIKE 'Ssl_cipher'", DEADLINE)
                assert bool(status.rows[0][1]) == cipher


async def test_a_wrong_password_is_refused_without_repeating_it(
    server: PrivateServer, account: Callable[..., Target]
) -> None:
    target = account("secret")
    with pytest.raises(ServerError) as refused:
        await Session.open(replace(target, password="hunter2"), statement_seconds=DEADLINE)
    assert str(refused.value).startswith(f"{server.host}:{server.port} refused the login of '{target.user}': ")
    assert "hunter2" not in str(refused.value)


async def cipher(connection: Session) -> str:
    status = await connection.query("test", "SHOW SESSION STATUS LIKE 'Ssl_cipher'", DEADLINE)
    return str(status.rows[0][1])


async def test_tls_is_taken_where_the_server_offers_it_but_over_a_socket(server: PrivateServer) -> None:
    offered = server.name in ("mysql-9.7", "mariadb-11.8")  # which make a certificate for themselves
    for mode in (None, "PREFERRED"):
        async with connected(replace(from_dsn(server.dsn), ssl_mode=mode)) as connection:
            assert bool(await cipher(connection)) == offered
    async with connected(Target(socket=str(server.socket))) as connection:
        assert not await cipher(connection)


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-11.8"], indirect=True)
async def test_a_cancel_as_the_tls_handshake_ends_leaves_no_connection(
    server: PrivateServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    complete = sslproto.SSLProtocol._on_handshake_complete  # noqa: SLF001
    transports: list[Any] = []

    def completed(protocol: sslproto.SSLProtocol, error: BaseException | None) -> None:
        complete(protocol, error)
        transports.append(protocol._transport)  # noqa: SLF001
        opening.cancel()

    monkeypatch.setattr(sslproto.SSLProtocol, "_on_handshake_complete", completed)
    opening = asyncio.create_task(Session.open(from_dsn(server.dsn), statement_seconds=DEADLINE))
    await asyncio.wait([opening])
    assert opening.cancelled()
    assert [transport.is_closing() for transport in transports] == [True]


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-11.8"], indirect=True)
async def test_an_account_that_needs_tls_gets_it_unless_it_is_switched_off(account: Callable[..., Target]) -> None:
    target = account("secret", "IDENTIFIED BY '{}' REQUIRE SSL")
    async with connected(target) as connection:
        assert connection.account.startswith(target.user)
    with pytest.raises(ServerError, match="refused the login"):
        await Session.open(replace(target, ssl_mode="DISABLED"), statement_seconds=DEADLINE)


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
async def test_a_server_that_lets_no_one_in_without_tls_says_so(
    server: PrivateServer, account: Callable[..., Target], ask: Ask
) -> None:
    target = account("secret")
    ask(server, "SET GLOBAL require_secure_transport = ON")
    try:
        async with connected(target) as connection:
            assert await cipher(connection)
        with pytest.raises(ServerError, match="require_secure_transport=ON"):
            await Session.open(replace(target, ssl_mode="DISABLED"), statement_seconds=DEADLINE)
    finally:
        with server.connect(ssl={"ssl": True}) as root, root.cursor() as cursor:
            cursor.execute("SET GLOBAL require_secure_transport = OFF")


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
async def test_the_servers_certificate_is_verified_where_asked(server: PrivateServer, tmp_path: Path) -> None:
    authority = str(server.datadir / "ca.pem")
    target = from_dsn(server.dsn)
    async with connected(replace(target, ssl_ca=authority)) as connection:
        status = await connection.query("test", "SHOW SESSION STATUS LIKE 'Ssl_cipher'", DEADLINE)
        assert status.rows[0][1]
    for refused in (
        replace(target, ssl_ca=authority, ssl_mode="VERIFY_IDENTITY"),  # made out to no address
        replace(target, ssl_mode="VERIFY_CA"),  # an authority that this machine does not know
        replace(target, ssl_ca=str(server.datadir / "client-cert.pem")),
    ):
        with pytest.raises(ServerError, match="certificate verify failed"):
            await Session.open(refused, statement_seconds=DEADLINE)
    with pytest.raises(ServerError, match="cannot use the TLS files"):
        await Session.open(replace(target, ssl_ca=str(tmp_path / "none")), statement_seconds=DEADLINE)


@pytest.mark.parametrize("server", ["mariadb-10.11", "mysql-5.6"], indirect=True)
@pytest.mark.parametrize("mode", ["REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"])
async def test_a_server_without_tls_gets_no_login_in_plain_text(server: PrivateServer, mode: str) -> None:
    with pytest.raises(ServerError, match="offers no TLS"):
        await Session.open(replace(from_dsn(server.dsn), ssl_mode=mode), statement_seconds=DEADLINE)


@pytest.mark.parametrize(
    ("server", "resource", "limit"),
    [
        ("mysql-9.7", "MAX_USER_CONNECTIONS", 4),
        ("mysql-5.6", "MAX_CONNECTIONS_PER_HOUR", 0),
        ("mariadb-10.11", "MAX_QUERIES_PER_HOUR", 0),
    ],
    indirect=["server"],
)
async def test_a_limit_of_the_account_is_said_with_the_cure(
    account: Callable[..., Target], server: PrivateServer, ask: Ask, resource: str, limit: int
) -> None:
    target = account("secret")
    grant = "GRANT USAGE ON *.* TO" if server.name == "mysql-5.6" else "ALTER USER"
    ask(server, f"{grant} '{target.user}'@'%' WITH {resource} 1")
    with pytest.raises(ServerError, match=rf"exceeded the '\w+' resource .*; ALTER USER … WITH {resource} {limit}$"):
        async with connected(target), connected(target):
            pass


# Addresses with no server, or with another service


async def test_a_port_where_nobody_listens_is_unreachable(unused_tcp_port: int) -> None:
    with pytest.raises(ServerError, match=rf"cannot connect to 127\.0\.0\.1:{unused_tcp_port}: Connection refused$"):
        await Session.open(Target(port=unused_tcp_port), statement_seconds=DEADLINE)


async def test_a_host_that_does_not_exist_is_unreachable() -> None:
    with pytest.raises(ServerError, match=r"cannot connect to no-such-host\.invalid:3306: .*\w"):
        await Session.open(Target(host="no-such-host.invalid"), statement_seconds=DEADLINE)


async def test_a_socket_that_does_not_exist_is_unreachable(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match=r"cannot connect to .*/sock: No such file or directory"):
        await Session.open(Target(socket=str(tmp_path / "sock")), statement_seconds=DEADLINE)


Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
GREETING = (
    b"\x0a9.7.4\0" + b"\x01\0\0\0" + b"a" * 8 + b"\0" + b"\xff\xff" + b"\x2d\x02\0" + b"\xff\xdf"
    b"\x15" + b"\0" * 10 + b"b" * 12 + b"\0" + b"mysql_native_password\0"
)


def packet(payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "little") + b"\0" + payload


@dataclass(frozen=True)
class Service:
    """A service's first bytes, and whether it then closes the connection."""

    banner: bytes = b""
    hangs_up: bool = False

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(self.banner)
        await writer.drain()
        if not self.hangs_up:
            await reader.read()


@asynccontextmanager
async def listening(handler: Handler) -> AsyncIterator[Target]:
    """A service on the loopback address; closed afterwards, with all its connections."""
    calls: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handler(reader, writer)
        except ConnectionError:
            pass  # the client was faster
        finally:
            writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        calls.add(asyncio.create_task(serve(reader, writer)))

    async with await asyncio.start_server(accept, "127.0.0.1", 0) as service:
        yield Target(port=service.sockets[0].getsockname()[1])
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)


@pytest.mark.parametrize(
    ("service", "reason"),
    [
        (Service(b"SSH-2.0-OpenSSH_9.2\r\n"), "does not speak the MySQL protocol"),
        (Service(b"220 mail ESMTP\r\n"), "does not speak the MySQL protocol"),
        (Service(b"HTTP/1.1 408 Request Timeout\r\n\r\n", hangs_up=True), "does not speak the MySQL"),
        (Service(b"\0" * 64), "does not speak the MySQL protocol"),
        (Service(packet(b"\x0a9.7.4\0")), "does not speak the MySQL protocol"),
        (Service(packet(b"\x0a9.7.4")), "does not speak the MySQL protocol"),
        (Service(b"\x05", hangs_up=True), "closed the connection without a MySQL greeting"),
        (Service(hangs_up=True), "closed the connection without a MySQL greeting; is it a MySQL server"),
        (Service(packet(b"\xff\x10\x04Too many connections")), "refused the connection: Too many conn"),
        (Service(packet(b"\xff\x6a\x04Host 'x' is not allowed")), "Host 'x' is not allowed"),
        (Service(packet(GREETING), hangs_up=True), "closed the connection during the login"),
    ],
    ids=lambda value: value.banner[:12].decode("latin1") if isinstance(value, Service) else None,
)
async def test_another_protocol_is_recognised(service: Service, reason: str) -> None:
    async with listening(service) as target:
        with pytest.raises(ServerError, match=reason) as refused:
            await Session.open(target, statement_seconds=5, connect_seconds=DEADLINE)
        assert target.address in str(refused.value)


@pytest.mark.parametrize(
    ("banner", "reason"),
    [
        (b"", "accepts connections but sent no MySQL greeting within 240 s; is it a MySQL server?"),
        (packet(GREETING), "did not answer within 240 s"),
    ],
    ids=["waits for the client, as every HTTP server does", "greets"],
)
async def test_a_service_that_says_no_more_is_given_up(
    banner: bytes, reason: str, advance: Callable[[float], None]
) -> None:
    silent = asyncio.Event()

    async def say_no_more(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(banner)
        if banner:
            await reader.read(1)
        silent.set()
        await reader.read()

    async with listening(say_no_more) as target:
        opening = asyncio.create_task(Session.open(target, statement_seconds=DEADLINE, connect_seconds=DEADLINE))
        await silent.wait()
        advance(DEADLINE)
        with pytest.raises(ServerError, match=re.escape(f"{target.address} {reason}")):
            await opening


WITHOUT_TLS = GREETING.replace(b"\xff\xff", b"\xff\xf7", 1)
CLEAR_TEXT = b"mysql_clear_password\0"


@pytest.mark.parametrize(
    "asking",
    [
        packet(WITHOUT_TLS.replace(b"mysql_native_password\0", CLEAR_TEXT)),
        packet(WITHOUT_TLS) + b"\x16\0\0\x02\xfe" + CLEAR_TEXT,
    ],
    ids=["at once", "after the login's first packet"],
)
async def test_no_password_is_sent_in_clear_text(asking: bytes) -> None:
    received = bytearray()

    async def ask_for_it(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(asking)
        while sent := await reader.read(65536):
            received.extend(sent)

    async with listening(ask_for_it) as target:
        with pytest.raises(ServerError, match="asks for the password in clear text and offers no TLS; no password"):
            await Session.open(replace(target, password="hunter2"), statement_seconds=DEADLINE)
    assert b"hunter2" not in received


async def test_a_server_that_asks_for_a_file_gets_none(tmp_path: Path) -> None:
    """LOAD DATA LOCAL: a server may answer any statement with a request for a client's file."""
    wanted = tmp_path / "wanted"
    wanted.write_text("hunter2")
    received = bytearray()

    async def ask_for_it(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(packet(WITHOUT_TLS))
        await reader.read(65536)
        writer.write(b"\x07\0\0\x02" + b"\0\0\0\x02\0\0\0")  # logged in
        await reader.read(65536)
        name = b"\xfb" + bytes(wanted)
        writer.write(len(name).to_bytes(3, "little") + b"\x01" + name)
        while sent := await reader.read(65536):
            received.extend(sent)

    async with listening(ask_for_it) as target:
        with pytest.raises(ServerError):
            await Session.open(target, statement_seconds=5, connect_seconds=DEADLINE)
    assert not received


@pytest.mark.parametrize("mode", [None, "REQUIRED"])
async def test_where_no_tls_can_be_agreed_on_only_a_preferred_one_is_given_up(mode: str | None) -> None:
    """A server that accepts the request for TLS and then ends the connection, as servers with TLS 1.0 only do."""
    calls = 0

    async def offer_tls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal calls
        calls += 1
        writer.write(packet(GREETING))
        await reader.read(36)
        await reader.read(65536)
        writer.write(b"\x15\x03\x01\0\x02\x02\x46" if calls == 1 else b"\x08\0\0\x02\xff\x15\x04plain")

    async with listening(offer_tls) as target:
        with pytest.raises(ServerError):
            await Session.open(replace(target, ssl_mode=mode), statement_seconds=DEADLINE)
    assert calls == (2 if mode is None else 1)


# Connections that break


@asynccontextmanager
async def relayed(server: PrivateServer, spoil: Callable[[bytes], bytes | None]) -> AsyncIterator[Target]:
    """A relay to the server that passes answers through ``spoil``; an empty result cuts the connection."""

    async def upward(client: asyncio.StreamReader, server: asyncio.StreamWriter) -> None:
        while sent := await client.read(65536):
            server.write(sent)

    async def pass_on(client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection(server.host, server.port)
        up = asyncio.create_task(upward(client, to_server))
        try:
            while (got := await from_server.read(65536)) and (left := spoil(got)) is not None:
                to_client.write(left)
        finally:
            up.cancel()
            to_server.close()

    async with listening(pass_on) as way:
        yield replace(from_dsn(server.dsn), port=way.port)


MARK = b"a mark in the answer"
SPOILERS: dict[str, Callable[[bytes], bytes | None]] = {
    "cut before the answer": lambda _: None,
    "cut in the answer": lambda answer: answer[: len(answer) // 2],
    "another packet number": lambda answer: answer[:3] + b"\x09" + answer[4:],
    "a length that is not so": lambda answer: b"\x02\0\0" + answer[3:],
    "zeros": lambda answer: bytes(len(answer)),
    "noise": lambda answer: bytes((7 * n) % 251 for n in range(len(answer))),
}


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-11.8"], indirect=True)
@pytest.mark.parametrize("spoiler", SPOILERS.values(), ids=SPOILERS)
async def test_an_answer_that_is_damaged_on_the_way_is_an_error_and_ends_the_session(
    server: PrivateServer, spoiler: Callable[[bytes], bytes | None]
) -> None:
    def spoil(answer: bytes) -> bytes | None:
        return spoiler(answer) if MARK in answer else answer

    async with relayed(server, spoil) as way, connected(replace(way, ssl_mode="DISABLED")) as connection:
        assert await value(connection, "SELECT 1") == 1
        with pytest.raises(ServerError):
            await connection.query("test", f"SELECT '{MARK.decode()}'", 0.2)
        assert connection.closed


@pytest.mark.parametrize("server", ["mariadb-11.8"], indirect=True)
async def test_bytes_that_changed_on_the_way_are_an_error_at_worst(server: PrivateServer) -> None:
    chooser = random.Random(1)  # noqa: S311

    def spoil(answer: bytes) -> bytes | None:
        if MARK not in answer:
            return answer
        changed = bytearray(answer)
        for _ in range(chooser.choice([1, 1, 2, 5])):
            changed[chooser.randrange(len(changed))] = chooser.randrange(256)
        return bytes(changed)

    for _ in range(40):
        async with relayed(server, spoil) as target, connected(target) as connection:
            with contextlib.suppress(ServerError):
                await connection.query("test", f"SELECT '{MARK.decode()}', 1, 2.5, NOW()", 0.1)


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
async def test_closing_sends_a_close_message(server: PrivateServer, ask: Ask, account: Callable[..., Target]) -> None:
    target = account("secret")
    async with connected(target):
        pass
    quits = (
        "SELECT 1 FROM performance_schema.events_statements_summary_by_account_by_event_name"
        f" WHERE USER = '{target.user}' AND EVENT_NAME = 'statement/com/Quit' AND COUNT_STAR = 1"
    )
    await until(lambda: bool(ask(server, quits)))


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-11.8"], indirect=True)
async def test_an_abandoned_statement_is_ended_in_the_server(
    server: PrivateServer, ask: Ask, advance: Callable[[float], None]
) -> None:
    target = from_dsn(server.dsn)
    slow, other = [await Session.open(target, statement_seconds=DEADLINE) for _ in range(2)]
    try:
        hanging = asyncio.create_task(slow.query("test", "SELECT SLEEP(30.25)", DEADLINE))
        await until(lambda: running(server, ask, "SLEEP(30.25)"))
        advance(DEADLINE)
        with pytest.raises(ServerError):
            await hanging
        await other.cancel(slow)
        await until(lambda: not running(server, ask, "SLEEP(30.25)"))
    finally:
        await other.close()
