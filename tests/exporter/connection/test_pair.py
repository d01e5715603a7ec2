from collections.abc import AsyncIterator, Callable, Iterator
from itertools import cycle
from typing import Any

import pytest

from exporter.connection.errors import ConnectionLost, ServerError
from exporter.connection.pair import SessionPair
from exporter.connection.target import Target, TargetError, from_dsn
from lab.servers import PrivateServer
from tests.waiting import DEADLINE

one = pytest.mark.parametrize("server", ["mariadb-11.8"], indirect=True)


@pytest.fixture
async def sessions_of() -> AsyncIterator[Callable[..., SessionPair]]:
    made: list[SessionPair] = []

    def make(*targets: Target) -> SessionPair:
        turns: Iterator[Target] = cycle(targets)
        made.append(SessionPair(lambda: next(turns), DEADLINE))
        return made[-1]

    yield make
    for sessions in made:
        await sessions.close()


@one
async def test_both_are_kept(server: PrivateServer, sessions_of: Callable[..., SessionPair]) -> None:
    sessions = sessions_of(from_dsn(server.dsn))
    first = await sessions.renew()
    second = await sessions.second()
    assert second is not first
    assert await sessions.second() is second
    assert sessions.open == [first, second]
    await sessions.close()
    assert sessions.open == []


@pytest.mark.parametrize(
    "server", ["mariadb-11.8", pytest.param("mysql-9.7", marks=pytest.mark.thorough)], indirect=True
)
async def test_two_servers_behind_one_address_are_not_mixed(
    server: PrivateServer, start_server: Callable[..., PrivateServer], sessions_of: Callable[..., SessionPair]
) -> None:
    sessions = sessions_of(from_dsn(server.dsn), from_dsn(start_server(server.name).dsn))
    first = await sessions.renew()
    assert await sessions.second() is first
    assert sessions.open == [first]


@one
async def test_without_the_first_there_is_no_second(
    server: PrivateServer, sessions_of: Callable[..., SessionPair]
) -> None:
    sessions = sessions_of(from_dsn(server.dsn))
    with pytest.raises(ConnectionLost):
        await sessions.second()
    (await sessions.renew()).abort()
    with pytest.raises(ConnectionLost):
        await sessions.second()


async def test_a_description_that_cannot_be_read_now_is_an_unreachable_server() -> None:
    def gone() -> Any:
        raise TargetError("cannot read the password file pw: No such file or directory")

    with pytest.raises(ServerError, match="cannot read the password file"):
        await SessionPair(gone, DEADLINE).renew()
