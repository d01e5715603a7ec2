from collections.abc import AsyncIterator, Callable, Iterator
from itertools import cycle
from typing import Any

import pytest

from exporter.connection.errors import ConnectionLost, Unreachable
from exporter.connection.pair import SessionPair
from exporter.connection.target import Target, TargetError, from_dsn
from lab.servers import Server

one = pytest.mark.parametrize("server", ["mariadb-10.11"], indirect=True)


@pytest.fixture
async def sessions_of() -> AsyncIterator[Callable[..., SessionPair]]:
    made: list[SessionPair] = []

    def make(*targets: Target) -> SessionPair:
        turns: Iterator[Target] = cycle(targets)
        made.append(SessionPair(lambda: next(turns), 5.0))
        return made[-1]

    yield make
    for sessions in made:
        await sessions.close()


@one
async def test_both_are_kept(server: Server, sessions_of: Callable[..., SessionPair]) -> None:
    sessions = sessions_of(from_dsn(server.dsn))
    first = await sessions.renew()
    second = await sessions.second()
    assert second is not first
    assert await sessions.second() is second
    assert sessions.open == [first, second]
    await sessions.close()
    assert sessions.open == []


async def test_two_servers_behind_one_address_are_not_mixed(
    start_server: Callable[..., Server], sessions_of: Callable[..., SessionPair]
) -> None:
    for name in ("mysql-9.7", "mariadb-10.11"):
        sessions = sessions_of(*(from_dsn(start_server(name).dsn) for _ in range(2)))
        first = await sessions.renew()
        assert await sessions.second() is first
        assert sessions.open == [first]


@one
async def test_without_the_first_there_is_no_second(server: Server, sessions_of: Callable[..., SessionPair]) -> None:
    sessions = sessions_of(from_dsn(server.dsn))
    with pytest.raises(ConnectionLost):
        await sessions.second()
    (await sessions.renew()).abort()
    with pytest.raises(ConnectionLost):
        await sessions.second()


async def test_a_description_that_cannot_be_read_now_is_an_unreachable_server() -> None:
    def gone() -> Any:
        raise TargetError("cannot read the password file pw: No such file or directory")

    with pytest.raises(Unreachable, match="cannot read the password file"):
        await SessionPair(gone, 5.0).renew()
