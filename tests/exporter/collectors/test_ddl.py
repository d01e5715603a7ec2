import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from exporter.collectors import ddl
from exporter.rows import Rows
from exporter.sampler import Sampler
from exporter.server import identify
from exporter.snapshot import Ddl, Stage
from lab import workloads
from lab.servers import Server

Ask = Callable[..., list[tuple[Any, ...]]]
EVENTS = ("event_name", "completed", "estimated")


def parsed(threads: int, used: int | None, enabled: str, *stages: tuple[object, ...]) -> Ddl:
    return ddl.parse(
        [
            Rows.of(["threads"], [[threads]]),
            Rows.of(["bytes"], [[used]]),
            Rows.of(["enabled"], [[enabled]]),
            Rows.of(EVENTS, stages),
        ]
    )


@pytest.mark.parametrize(
    ("version", "performance_schema", "failure"),
    [
        ("8.0.26", "ON", "absent"),
        ("8.0.27", "ON", None),
        ("8.0.27", "OFF", "disabled"),
        ("11.8.6-MariaDB", "ON", "absent"),
    ],
)
def test_it_is_asked_where_builds_are_parallel(version: str, performance_schema: str, failure: str | None) -> None:
    server = identify({"version": version, "performance_schema": performance_schema})
    assert getattr(ddl.queries(server), "failure", None) == failure


def test_stages_are_not_known_while_the_server_does_not_watch_them() -> None:
    assert parsed(0, 0, "NO") == Ddl(threads=0, memory_bytes=0, stages=None)
    assert parsed(0, 0, "YES") == Ddl(threads=0, memory_bytes=0, stages=())


def test_memory_that_is_not_instrumented_is_not_known() -> None:
    assert parsed(0, None, "YES").memory_bytes is None


def test_a_stage_is_named_as_the_server_does_without_its_path() -> None:
    stages = parsed(4, 10, "YES", ("stage/innodb/alter table (merge sort)", 7, 9)).stages
    assert stages == (Stage("alter table (merge sort)", 7, 9),)


def test_a_stage_without_work_units_has_none_done() -> None:
    stages = parsed(4, 10, "YES", ("stage/innodb/alter table (flush)", None, None)).stages
    assert stages == (Stage("alter table (flush)", 0, 0),)


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
async def test_an_index_build_on_a_real_server_is_seen(server: Server, ask: Ask, watch: Callable[..., Sampler]) -> None:
    with server.connect() as connection:
        workloads.make_table(connection, "altered", 2500)
    consumers = "UPDATE performance_schema.setup_consumers SET ENABLED = '{}' WHERE NAME LIKE 'events_stages_%'"
    sampler = watch(server)
    unwatched = (await sampler.collect()).ddl
    ask(server, consumers.format("YES"))
    alter = threading.Thread(
        target=ask,
        args=(server, f"ALTER TABLE {workloads.SCHEMA}.altered ADD KEY a (filler(700)), ADD KEY b (filler(200))"),
    )
    alter.start()
    seen = []
    while alter.is_alive():
        seen.append((await sampler.collect()).ddl)
        await asyncio.sleep(0.02)
    alter.join()
    ask(server, consumers.format("NO"), f"DROP TABLE {workloads.SCHEMA}.altered")
    assert unwatched == Ddl(threads=0, memory_bytes=unwatched.memory_bytes if unwatched else None, stages=None)
    assert max(one.threads or 0 for one in seen if one) > 0
    assert max(one.memory_bytes or 0 for one in seen if one) > 64 * 1024
    stages = {stage.name for one in seen if one for stage in one.stages or ()}
    assert "alter table (read PK and internal sort)" in stages
    assert stages <= {
        f"alter table ({name})"
        for name in ("read PK and internal sort", "merge sort", "insert", "log apply index", "flush", "end")
    }
