from collections.abc import Callable

import pytest

from exporter.collectors import server_time
from exporter.collectors.server_time import SERVER_TIME
from exporter.rows import Rows
from exporter.sampling.sampler import Sampler
from exporter.server import identify
from exporter.snapshot import Snapshot
from lab.servers import PrivateServer
from tests.exporter.exposition import samples


def spent(picoseconds: int | str | None) -> Rows:
    return Rows.of(["picoseconds"], [[picoseconds]])


def test_the_time_of_all_sessions_is_summed() -> None:
    assert server_time.parse([spent(1_500_000_000_000), spent("500000000000")]) == 2.0


def test_a_session_without_a_time_is_refused() -> None:
    with pytest.raises(ValueError, match="NULL"):
        server_time.parse([spent(1), spent(None)])


def test_it_is_exposed() -> None:
    known = Snapshot(1.0, identify({"version": "9.7.4"}), "a@b").with_section(SERVER_TIME, 2.0)
    assert list(samples(SERVER_TIME, known)) == [("innodb_exporter_collector_server_seconds_total", (), 2.0)]


async def test_the_cost_to_a_real_server_grows_with_each_collection(
    server: PrivateServer, watch: Callable[..., Sampler]
) -> None:
    sampler = watch(server)
    first, second = (await sampler.collect())[SERVER_TIME], (await sampler.collect())[SERVER_TIME]
    assert first is not None
    assert second is not None
    assert 0 < first < second
