import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from pymysql.err import ProgrammingError

from exporter.collectors import ddl
from exporter.collectors.ddl import DDL, Ddl, Stage
from exporter.rows import Rows
from exporter.sampling.sampler import Sampler
from exporter.server import identify
from exporter.snapshot import Snapshot
from lab.harness import workloads
from lab.servers import PrivateServer
from tests.exporter.collectors.refusal import refusal
from tests.exporter.exposition import exposed
from tests.waiting import until

Ask = Callable[..., list[tuple[Any, ...]]]
EVENTS = ("event_name", "completed", "estimated")


def parsed(threads: int, used: int | None, enabled: str, *stages: tuple[object, ...]) -> Ddl:
    return ddl.parse(
        [
            builds(),
            Rows.of(["threads"], [[threads]]),
            Rows.of(["bytes"], [[used]]),
            Rows.of(["enabled"], [[enabled]]),
            Rows.of(EVENTS, stages),
        ]
    )


def builds(*row: int) -> Rows:
    return Rows.of(["builds", "picoseconds"], [row] if row else [])


@pytest.mark.parametrize(
    ("version", "performance_schema", "failure"),
    [
        ("8.0.27", "OFF", "disabled"),
        ("11.8.6-MariaDB", "OFF", "disabled"),
        ("8.0.27", "ON", None),
        ("8.0.26", "ON", None),
        ("11.8.6-MariaDB", "ON", None),
    ],
)
def test_only_servers_with_performance_schema_are_asked(
    version: str, performance_schema: str, failure: str | None
) -> None:
    assert refusal(DDL, version=version, performance_schema=performance_schema) == failure


def test_without_parallel_builds_completed_builds_are_known() -> None:
    assert ddl.queries(identify({"version": "8.0.26", "performance_schema": "ON"})) == (ddl.BUILDS_SQL,)
    assert ddl.parse([builds(7, 2_500_000_000_000)]) == Ddl(None, None, None, 7, 2.5)


def test_builds_that_are_not_counted_are_not_known() -> None:
    assert ddl.parse([builds()]) == Ddl(None, None, None, None, None)


def test_another_answer_is_refused() -> None:
    with pytest.raises(KeyError, match="builds"):
        ddl.parse([Rows.of(["a", "b"], [[1, 2]])])


def test_stages_are_not_known_while_the_consumer_is_off() -> None:
    assert parsed(0, 0, "NO") == Ddl(threads=0, memory_bytes=0, stages=None)
    assert parsed(0, 0, "YES") == Ddl(threads=0, memory_bytes=0, stages=())


def test_memory_that_is_not_instrumented_is_not_known() -> None:
    assert parsed(0, None, "YES").memory_bytes is None


def test_a_stage_has_the_servers_name_without_its_path() -> None:
    stages = parsed(4, 10, "YES", ("stage/innodb/alter table (merge sort)", 7, 9)).stages
    assert stages == (Stage("alter table (merge sort)", 7, 9),)


def test_a_stage_without_work_units_has_none_done() -> None:
    stages = parsed(4, 10, "YES", ("stage/innodb/alter table (flush)", None, None)).stages
    assert stages == (Stage("alter table (flush)", 0, 0),)


async def test_builds_done_are_counted_with_their_time_on_a_real_server(
    server: PrivateServer, ask: Ask, watch: Callable[..., Sampler]
) -> None:
    with server.connect() as connection:
        workloads.make_table(connection, "built", 50)
    sampler = watch(server)
    before = (await sampler.collect())[DDL]
    table, failed = f"{workloads.SCHEMA}.built", f"ALTER TABLE {workloads.SCHEMA}.not_there ADD KEY (id)"
    ask(server, f"ALTER TABLE {table} ADD KEY a (filler(20))", f"CREATE INDEX b ON {table} (filler(30))")
    with pytest.raises(ProgrammingError):
        ask(server, failed)
    after = (await sampler.collect())[DDL]
    ask(server, f"DROP TABLE {table}")
    assert before is not None
    assert after is not None
    assert (after.builds or 0) - (before.builds or 0) == 2
    assert (after.build_seconds or 0) > (before.build_seconds or 0)


async def test_an_instrument_that_is_off_counts_no_builds(
    server: PrivateServer, ask: Ask, watch: Callable[..., Sampler]
) -> None:
    switch = "UPDATE performance_schema.setup_instruments SET {} = '{}' WHERE NAME = 'statement/sql/create_index'"
    sampler = watch(server)
    for column in ("ENABLED", "TIMED"):
        ask(server, switch.format(column, "NO"))
        without = (await sampler.collect())[DDL]
        ask(server, switch.format(column, "YES"))
        assert without is not None
        assert (without.builds, without.build_seconds) == (None, None)


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
async def test_an_index_build_on_a_real_server_is_seen(
    server: PrivateServer, ask: Ask, watch: Callable[..., Sampler]
) -> None:
    with server.connect() as connection:
        workloads.make_table(connection, "altered", 2500)
    consumers = "UPDATE performance_schema.setup_consumers SET ENABLED = '{}' WHERE NAME LIKE 'events_stages_%'"
    sampler = watch(server)
    unwatched = (await sampler.collect())[DDL]
    ask(server, consumers.format("YES"))
    table, first = f"{workloads.SCHEMA}.altered", "alter table (read PK and internal sort)"
    stages: set[str] = set()

    async def built() -> bool:
        """Build once; whether threads, memory and the first stage were seen in one of the looks meanwhile."""
        alter = threading.Thread(
            target=ask, args=(server, f"ALTER TABLE {table} ADD KEY a (filler(700)), ADD KEY b (filler(200))")
        )
        alter.start()
        looks: list[Ddl] = []
        while alter.is_alive():
            if (section := (await sampler.collect())[DDL]) is not None:
                looks.append(section)
            await asyncio.sleep(0.02)
        alter.join()
        ask(server, f"ALTER TABLE {table} DROP KEY a, DROP KEY b")
        stages.update(stage.name for section in looks for stage in section.stages or ())
        threads = any(section.threads for section in looks)
        memory = any((section.memory_bytes or 0) > 64 * 1024 for section in looks)
        return threads and memory and first in stages

    seen: bool = await until(built)  # a build may pass between two looks
    ask(server, consumers.format("NO"))
    assert seen
    assert unwatched is not None
    assert (unwatched.threads, unwatched.stages) == (0, None)
    assert stages <= {
        f"alter table ({name})"
        for name in ("read PK and internal sort", "merge sort", "insert", "log apply index", "flush", "end")
    }


def test_stages_of_an_alter_are_exposed() -> None:
    known = Snapshot(1.0, identify({"version": "9.7.4"}), "a@b")
    building = Ddl(threads=4, memory_bytes=10, stages=(Stage("alter table (insert)", 7, 10),))
    metrics = exposed(known.with_section(DDL, building))
    assert metrics["innodb_ddl_stage_work"] == {
        ("alter table (insert)", "completed"): 7,
        ("alter table (insert)", "estimated"): 10,
    }
    assert (metrics["innodb_ddl_threads_active"], metrics["innodb_ddl_memory_bytes"]) == ({(): 4}, {(): 10})
