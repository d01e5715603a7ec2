import asyncio
import secrets
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exporter.anonymisation import numbers
from exporter.collectors import COLLECTORS, DEFAULT
from exporter.collectors.base import Collector, fixed
from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.collectors.innodb_status import INNODB_STATUS
from exporter.collectors.pools import POOLS
from exporter.collectors.server_time import SERVER_TIME
from exporter.collectors.status import STATUS
from exporter.collectors.variables import VARIABLES
from exporter.connection.errors import ConnectionLost, ServerError
from exporter.connection.target import Target, from_dsn
from exporter.recording.file import Recorder, replay
from exporter.sampling.assembly import Answer
from exporter.sampling.collector_run import FIRST_REST, grant
from exporter.sampling.sampler import Sampler
from exporter.server import Server
from exporter.snapshot import Snapshot
from lab.servers import PrivateServer
from tests.waiting import DEADLINE, until

Advance = Callable[[float], None]
Ask = Callable[..., list[tuple[Any, ...]]]
Watch = Callable[..., Sampler]
StartServer = Callable[..., PrivateServer]

one = pytest.mark.parametrize("server", ["mariadb-11.8"], indirect=True)
NEEDS_PERFORMANCE_SCHEMA = {
    "instrumentation",
    "ddl",
    "builds",
    "table_scans",
    "table_io",
    "table_statements",
    "count_statements",
    "data_files",
    "table_files",
    "server_time",
}
ALWAYS_NEEDED = [collector for collector in COLLECTORS if collector.needed is None]


class Counts:
    """A log that counts."""

    def __init__(self) -> None:
        self.sessions = 0
        self.collections = 0
        self.answers: Counter[str] = Counter()

    def session(self, _server: Server, _account: str) -> None:
        self.sessions += 1

    def answer(self, answer: Answer) -> None:
        self.answers[answer.collector] += 1

    def collection(self, _at: float) -> None:
        self.collections += 1


def failures(snapshot: Snapshot) -> dict[str, str]:
    return {
        name: outcome.failure for name, outcome in snapshot.outcomes.items() if outcome.failure not in (None, "absent")
    }


def sessions(server: PrivateServer, ask: Ask, user: str) -> list[int]:
    rows = ask(server, "SELECT ID, USER FROM information_schema.PROCESSLIST")
    return sorted(number for number, name in rows if name == user)


HANGING = Collector(
    "hanging", fixed("SELECT GET_LOCK('hanging', 1000), RELEASE_LOCK('hanging')"), lambda _: 1, anonymise=numbers
)
"""A source that does not answer while it is held."""


@contextmanager
def held(server: PrivateServer) -> Iterator[None]:
    """Let the source HANGING hang."""
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT GET_LOCK('hanging', 0)")
        yield


def hangs(server: PrivateServer, ask: Ask) -> bool:
    return bool(ask(server, "SELECT 1 FROM information_schema.PROCESSLIST WHERE STATE = 'User lock'"))


@pytest.fixture
def account(server: PrivateServer, ask: Ask) -> Target:
    """A new account with all privileges."""
    user = f"sampler{secrets.token_hex(4)}"
    ask(server, f"CREATE USER {user}@localhost", f"GRANT ALL ON *.* TO {user}@localhost")
    return replace(from_dsn(server.dsn), user=user)


# Collections


async def test_every_source_of_a_server_is_collected(server: PrivateServer, watch: Watch) -> None:
    counts = Counts()
    sampler = watch(server, keep=counts)
    await sampler.collect()
    await until(lambda: counts.answers["parallel_readers"])
    snapshot = await sampler.collect()
    assert set(snapshot.outcomes) == {collector.name for collector in DEFAULT if collector.needed is None}
    assert failures(snapshot) == {}
    absent = {name for name, outcome in snapshot.outcomes.items() if outcome.failure == "absent"}
    expected = {
        "mysql-9.7": set[str](),
        "mysql-5.6": {"cached_indexes", "file_sizes", "parallel_readers", "variable_origins"},
    }
    assert absent == expected.get(server.name, {"cached_indexes", "parallel_readers"})
    for name in set(snapshot.outcomes) - absent:
        assert snapshot.sections.get(name) is not None, name
    for name in absent:
        assert snapshot.sections.get(name) is None, name


@pytest.mark.parametrize("name", ["mysql-9.7", "mariadb-11.8"])
async def test_what_needs_performance_schema_is_disabled_where_that_is_off(
    name: str, start_server: StartServer, watch: Watch
) -> None:
    snapshot = await watch(start_server(name, performance_schema="OFF")).collect()
    also = {"parallel_readers"} if name == "mysql-9.7" else set()
    assert failures(snapshot) == dict.fromkeys(NEEDS_PERFORMANCE_SCHEMA | also, "disabled")
    for section in NEEDS_PERFORMANCE_SCHEMA | also:
        assert snapshot.sections.get(section) is None
        assert snapshot.outcomes[section].reason == "performance_schema is OFF"
        assert "performance_schema = ON" in (snapshot.outcomes[section].cure or "")
    assert snapshot[POOLS] is not None
    assert not snapshot.server.performance_schema


@one
async def test_concurrent_callers_share_one_collection(server: PrivateServer, watch: Watch) -> None:
    counts = Counts()
    sampler = watch(server, keep=counts)
    snapshots = await asyncio.gather(*(sampler.collect() for _ in range(100)))
    assert len({id(snapshot) for snapshot in snapshots}) == 1
    assert (counts.sessions, counts.collections) == (1, 1)
    assert counts.answers["pools"] == 1
    assert list(sampler.history) == [snapshots[0]]


@one
async def test_a_recent_snapshot_needs_no_new_collection(server: PrivateServer, watch: Watch) -> None:
    now = 1000.0
    counts = Counts()
    sampler = watch(server, keep=counts, clock=lambda: now)
    first = await sampler.collect(max_age=5.0)
    now = 1004.9
    assert await sampler.collect(max_age=5.0) is first
    now = 1005.1
    assert await sampler.collect(max_age=5.0) is not first
    assert counts.collections == 2


@one
async def test_a_clock_that_is_set_back_does_not_make_an_old_one_recent(server: PrivateServer, watch: Watch) -> None:
    now = 10_000.0
    sampler = watch(server, clock=lambda: now)
    first = await sampler.collect(max_age=5.0)
    now = 6_400.0
    assert await sampler.collect(max_age=5.0) is not first


@one
async def test_a_cancelled_caller_does_not_cancel_the_collection_for_others(
    server: PrivateServer, watch: Watch
) -> None:
    sampler = watch(server)
    impatient, patient = (asyncio.create_task(sampler.collect()) for _ in range(2))
    await asyncio.sleep(0)
    impatient.cancel()
    assert (await patient)[POOLS] is not None
    with pytest.raises(asyncio.CancelledError):
        await impatient


@one
async def test_the_history_is_bounded(server: PrivateServer, watch: Watch) -> None:
    now = [1_700_000_000.0]
    sampler = watch(server, interval=10, history_seconds=30, clock=lambda: now[0])
    snapshots = []
    for _ in range(6):
        snapshots.append(await sampler.collect())
        now[0] += 10
    assert list(sampler.history) == snapshots[-4:]
    assert sampler.latest is snapshots[-1]


@one
async def test_frequent_collections_do_not_shorten_the_history(server: PrivateServer, watch: Watch) -> None:
    now = [1_700_000_000.0]
    sampler = watch(server, interval=10, history_seconds=30, clock=lambda: now[0])
    for _ in range(13):
        latest = await sampler.collect()
        now[0] += 2.5
    assert [snapshot.at - 1_700_000_000 for snapshot in sampler.history] == [0.0, 10.0, 20.0, 30.0]
    assert sampler.latest is latest


@one
async def test_costly_sources_are_read_less_often(server: PrivateServer, watch: Watch) -> None:
    counts = Counts()
    sampler = watch(server, keep=counts, monotonic=lambda: 0.0)
    snapshots = [await sampler.collect() for _ in range(3)]
    for collector in ALWAYS_NEEDED:
        assert counts.answers[collector.name] == (1 if collector.every else 3), collector.name
    assert snapshots[2][INDEX_SIZES] is snapshots[0][INDEX_SIZES] is not None


@one
async def test_it_runs_once_an_interval_until_it_is_cancelled(
    server: PrivateServer, watch: Watch, advance: Advance
) -> None:
    counts, loop = Counts(), asyncio.get_running_loop()
    sampler = watch(server, keep=counts, interval=3600.0, clock=loop.time, monotonic=loop.time)
    running = asyncio.create_task(sampler.run())
    for collections in (1, 2, 3):
        await until(lambda: counts.collections)
        assert (counts.sessions, counts.collections) == (1, 1), collections
        counts.collections = 0
        advance(3600.0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


# Sessions


async def test_there_are_two_sessions_at_most_and_they_are_kept(
    server: PrivateServer, watch: Watch, ask: Ask, account: Target
) -> None:
    sampler = watch(account)
    seen = []
    for _ in range(5):
        await asyncio.gather(*(sampler.collect() for _ in range(20)))
        seen.append(sessions(server, ask, account.user))
    assert len(seen[-1]) == 2
    assert all(set(some) <= set(seen[-1]) for some in seen)
    await sampler.close()
    await until(lambda: sessions(server, ask, account.user) == [])


@one
async def test_a_session_that_was_ended_is_replaced(
    server: PrivateServer, watch: Watch, ask: Ask, account: Target
) -> None:
    sampler = watch(account)
    await sampler.collect()
    first, _ = sessions(server, ask, account.user)
    ask(server, f"KILL {first}")
    await until(lambda: first not in sessions(server, ask, account.user))
    with pytest.raises(ConnectionLost):
        await sampler.collect()
    assert sampler.latest is None
    assert (await sampler.collect())[POOLS] is not None
    assert first not in sessions(server, ask, account.user)


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
async def test_the_second_session_is_replaced_without_a_gap(
    server: PrivateServer, watch: Watch, ask: Ask, account: Target
) -> None:
    sampler = watch(account)
    await sampler.collect()
    first, second = sessions(server, ask, account.user)
    ask(server, f"KILL {second}")
    await until(lambda: second not in sessions(server, ask, account.user))
    for _ in range(3):
        assert failures(await sampler.collect()) == {}
    kept, new = sessions(server, ask, account.user)
    assert kept == first
    assert new != second


@one
async def test_one_session_is_enough_where_there_may_be_no_two(
    server: PrivateServer, watch: Watch, ask: Ask, account: Target
) -> None:
    ask(server, f"ALTER USER {account.user}@localhost WITH MAX_USER_CONNECTIONS 1")
    sampler = watch(account)
    for _ in range(3):
        assert set(failures(await sampler.collect())) <= NEEDS_PERFORMANCE_SCHEMA
        assert len(sessions(server, ask, account.user)) == 1


@one
async def test_a_scrape_runs_quick_collectors_only(server: PrivateServer, watch: Watch) -> None:
    counts = Counts()
    now = 1_700_000_000.0
    sampler = watch(server, keep=counts, clock=lambda: now)
    first = await sampler.glance()  # nothing was known yet
    assert first[INDEX_SIZES] is not None
    assert all(counts.answers[collector.name] == 1 for collector in ALWAYS_NEEDED)
    now += 7
    glances = await asyncio.gather(*(sampler.glance() for _ in range(20)))
    assert all(counts.answers[collector.name] == 1 + collector.quick for collector in ALWAYS_NEEDED)
    assert len({id(snapshot) for snapshot in glances}) == 1
    assert glances[0][VARIABLES] is first[VARIABLES] is not None
    assert glances[0].at - glances[0].read_at["variables"] == 7
    assert glances[0].at == glances[0].read_at["status"] == now
    assert len(sampler.history) == 1


@one
async def test_a_scrape_does_not_wait_for_slow_collectors(server: PrivateServer, watch: Watch, ask: Ask) -> None:
    sampler = watch(server, collectors=(*COLLECTORS, HANGING))
    await sampler.collect()
    with held(server):
        collection = asyncio.create_task(sampler.collect())
        await until(lambda: hangs(server, ask))
        glance = await sampler.glance()
        assert not collection.done()
    assert glance[INDEX_SIZES] is not None
    assert (await collection)[INDEX_SIZES] is not None


# Failures


@pytest.mark.parametrize("server", ["mariadb-11.8", "mysql-5.6"], indirect=True)
async def test_a_statement_that_hangs_costs_its_own_collector_only_and_rests(
    server: PrivateServer, watch: Watch, ask: Ask, advance: Advance
) -> None:
    counts, now = Counts(), 0.0
    sampler = watch(server, keep=counts, collectors=(HANGING, *COLLECTORS), monotonic=lambda: now)
    with held(server):
        collection = asyncio.create_task(sampler.collect())
        await until(lambda: hangs(server, ask))
        advance(2 * DEADLINE)
        snapshot = await collection
        assert failures(snapshot) == {"hanging": "deadline"}
        assert snapshot[SERVER_TIME] is not None  # it comes after
        await until(lambda: not hangs(server, ask))  # the statement is ended in the server, too
        assert failures(await sampler.collect()) == {"hanging": "deadline"}
    assert (counts.answers["hanging"], counts.answers["server_time"], counts.sessions) == (1, 2, 1)
    now += FIRST_REST
    await sampler.collect()
    assert counts.answers["hanging"] == 2


@pytest.mark.parametrize("name", ["mysql-9.7", "mariadb-10.11"])
async def test_a_restart_is_survived_and_seen_and_recorded(
    name: str, start_server: StartServer, watch: Watch, ask: Ask, tmp_path: Path
) -> None:
    server = start_server(name)
    path = tmp_path / "recording.jsonl"
    ask(server, *["SELECT 1"] * 1000)
    with Recorder(path) as recorder:
        sampler = watch(server, keep=recorder)
        before = await sampler.collect()
        if name == "mysql-9.7":
            server.kill()  # a crash: its own shutdown waits long for sessions
        server.restart()
        with pytest.raises(ConnectionLost, match="broke"):
            await sampler.collect()
        assert sampler.latest is None
        after = await sampler.collect()
        await sampler.close()
    then, now = before[STATUS], after[STATUS]
    assert then is not None
    assert now is not None
    assert now["questions"] < then["questions"]  # its counts began anew
    assert failures(after) == failures(before)
    assert sampler.problem is None
    assert list(replay(path)) == list(sampler.history) == [before, after]


async def test_a_server_that_is_away_is_unreachable_until_it_is_back(start_server: StartServer, watch: Watch) -> None:
    server, now = start_server("mariadb-11.8"), 0.0
    sampler = watch(server, monotonic=lambda: now)
    await sampler.collect()
    server.kill()
    for _ in range(2):
        with pytest.raises(ServerError):
            await sampler.collect()
    assert sampler.latest is None
    server.restart()
    with pytest.raises(ServerError) as away:
        await sampler.collect()  # it is not asked again at once
    assert sampler.problem is away.value
    now += 1.0
    snapshot = await sampler.collect()
    assert snapshot[POOLS] is not None
    assert sampler.history[-1] is snapshot


async def test_a_server_that_is_away_is_asked_at_growing_pauses(watch: Watch) -> None:
    calls, now = 0, 0.0

    async def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal calls
        calls += 1
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as service:
        sampler = watch(Target(port=service.sockets[0].getsockname()[1]), interval=10.0, monotonic=lambda: now)
        for attempt, pause in enumerate((1.0, 2.0, 4.0, 8.0, 10.0, 10.0), 1):
            for wait in (0.0, 0.5, pause - 0.75):
                now += wait
                with pytest.raises(ServerError, match="without a MySQL greeting"):
                    await sampler.collect()
                assert calls == attempt
            now += 0.25


@one
async def test_a_source_that_fails_takes_no_other_with_it(server: PrivateServer, watch: Watch, ask: Ask) -> None:
    ask(server, "RENAME TABLE mysql.innodb_index_stats TO mysql.elsewhere")
    try:
        snapshot = await watch(server).collect()
    finally:
        ask(server, "RENAME TABLE mysql.elsewhere TO mysql.innodb_index_stats")
    outcome = snapshot.outcomes["index_sizes"]
    assert snapshot[INDEX_SIZES] is None
    assert (outcome.failure, outcome.cure) == ("failed", None)
    assert "error 1146: Table 'mysql.innodb_index_stats' doesn't exist" in outcome.reason
    assert {name for name, failure in failures(snapshot).items() if failure != "disabled"} == {"index_sizes"}
    assert snapshot[POOLS] is not None
    assert snapshot[INNODB_STATUS] is not None


@one
async def test_a_source_that_is_locked_takes_no_other_with_it(server: PrivateServer, watch: Watch) -> None:
    with server.connect() as other, other.cursor() as cursor:
        cursor.execute("LOCK TABLES mysql.innodb_index_stats WRITE")
        snapshot = await watch(server).collect()
    assert "error 1205: Lock wait timeout exceeded" in snapshot.outcomes["index_sizes"].reason
    assert snapshot[INDEX_SIZES] is None
    assert snapshot[POOLS] is not None


# Privileges


async def test_a_privilege_that_is_missing_is_reported_with_the_grant_that_cures_it(
    server: PrivateServer, watch: Watch, ask: Ask
) -> None:
    user = "o'neil \\ `co`"
    name = "'o''neil \\\\ `co`'@'localhost'"
    ask(server, f"CREATE USER {name}")
    bare = replace(from_dsn(server.dsn), user=user)
    counts = Counts()
    sampler = watch(bare, keep=counts)
    await sampler.collect()
    await until(lambda: counts.answers["parallel_readers"])
    snapshot = await sampler.collect()
    needs = {collector.name: collector.privilege for collector in DEFAULT if collector.privilege}
    for source, outcome in snapshot.outcomes.items():
        if outcome.failure == "absent":
            continue
        if source not in needs:
            assert outcome.failure is None, source
            continue
        assert outcome.failure == "privilege", source
        assert "denied" in outcome.reason
        assert outcome.cure == f"GRANT {needs[source]} TO {name}"
        assert snapshot.sections.get(source) is None
    cures = {outcome.cure for outcome in snapshot.outcomes.values() if outcome.cure}
    assert len(cures) == 3
    ask(server, *sorted(cures))
    fresh_counts = Counts()
    fresh = watch(bare, keep=fresh_counts)
    await fresh.collect()
    await until(lambda: fresh_counts.answers["parallel_readers"])
    assert failures(await fresh.collect()) == {}
    ask(server, f"DROP USER {name}")


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-11.8"], indirect=True)
async def test_a_grant_is_noticed_without_a_restart_of_the_sidecar(
    server: PrivateServer, watch: Watch, ask: Ask
) -> None:
    """MySQL and MariaDB apply a GRANT of PROCESS to new sessions only."""
    name = "'later'@'localhost'"
    ask(server, f"CREATE USER {name}")
    counts, now = Counts(), 0.0
    sampler = watch(replace(from_dsn(server.dsn), user="later"), grant_seconds=3, keep=counts, monotonic=lambda: now)
    snapshot = await sampler.collect()
    assert failures(snapshot)["pools"] == "privilege"
    ask(server, *sorted({outcome.cure for outcome in snapshot.outcomes.values() if outcome.cure}))
    ask(server, f"GRANT SELECT ON performance_schema.* TO {name}")
    if server.name == "mysql-9.7":
        assert failures(await sampler.collect())["pools"] == "privilege"
    now += 3
    assert failures(await sampler.collect()) in ({}, {"parallel_readers": "privilege"})
    assert counts.sessions == 1  # of a server that is still the same
    await until(lambda: len(sessions(server, ask, "later")) == 2)  # the old ones are gone
    connections = sessions(server, ask, "later")
    now += 3
    await sampler.collect()
    assert sessions(server, ask, "later") == connections  # nothing is missing any more
    ask(server, f"DROP USER {name}")


@pytest.mark.parametrize(
    ("account", "statement"),
    [
        ("watcher@%", "GRANT PROCESS ON *.* TO 'watcher'@'%'"),
        ("a@b@10.0.0.1", "GRANT PROCESS ON *.* TO 'a@b'@'10.0.0.1'"),
        ("o'neil@localhost", "GRANT PROCESS ON *.* TO 'o''neil'@'localhost'"),
        ("@localhost", "GRANT PROCESS ON *.* TO ''@'localhost'"),
    ],
)
def test_a_grant_names_the_account_as_the_server_does(account: str, statement: str) -> None:
    pools = next(collector for collector in COLLECTORS if collector.name == "pools")
    assert grant(pools, account) == statement


def test_there_is_no_grant_for_what_needs_none() -> None:
    status = next(collector for collector in COLLECTORS if collector.name == "status")
    assert grant(status, "watcher@%") is None


# Own cost


async def test_the_samplers_own_cost_grows(server: PrivateServer, watch: Watch) -> None:
    sampler = watch(server)
    costs = [(await sampler.collect())[SERVER_TIME] for _ in range(3)]
    assert all(cost is not None for cost in costs)
    assert 0 < (costs[0] or 0) < (costs[1] or 0) < (costs[2] or 0)
