from collections.abc import Callable

import pytest

from exporter.collectors.parallel_readers import (
    LONGEST_GAP,
    PARALLEL_READERS,
    ParallelReaders,
    add,
    parse,
    shifted_to_zero,
)
from exporter.rows import Rows
from exporter.sampling.sampler import Sampler
from exporter.server import identify
from exporter.snapshot import Snapshot
from lab.harness import workloads
from lab.servers import PrivateServer
from tests.exporter.collectors.refusal import refusal
from tests.exporter.exposition import exposed
from tests.waiting import until


def integrated(*samples: tuple[float, int]) -> ParallelReaders | None:
    last: tuple[float, ParallelReaders] | None = None
    for at, threads in samples:
        sample = parse([Rows.of(["threads"], [[threads]])])
        last = at, sample if last is None else add(last[1], sample, at - last[0])
    return None if last is None else last[1]


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([], None),
        ([(10, 0)], ParallelReaders(0, 0.0, 0)),
        ([(10, 4)], ParallelReaders(4, 0.0, 1)),
        ([(10, 0), (11, 4), (12, 4), (13, 0)], ParallelReaders(0, 8.0, 1)),
        ([(10, 4), (11, 4), (12, 0), (13, 4)], ParallelReaders(4, 8.0, 2)),
        ([(10, 2), (10.5, 6)], ParallelReaders(6, 2.0, 1)),
        ([(10, 4), (10 + LONGEST_GAP, 4)], ParallelReaders(4, 4 * LONGEST_GAP, 1)),
    ],
)
def test_threads_are_summed_over_time(samples: list[tuple[float, int]], expected: ParallelReaders | None) -> None:
    assert integrated(*samples) == expected


def test_a_long_gap_is_not_integrated() -> None:
    assert integrated((10, 4), (10 + LONGEST_GAP + 0.1, 4)) == ParallelReaders(4, 0.0, 1)


def test_a_clock_that_is_set_back_subtracts_nothing() -> None:
    assert integrated((10, 4), (11, 4), (5, 4), (6, 4)) == ParallelReaders(4, 8.0, 1)


@pytest.mark.parametrize(
    ("variables", "failure"),
    [
        ({"version": "8.0.13", "performance_schema": "ON"}, "absent"),
        ({"version": "11.8.6-MariaDB", "performance_schema": "ON"}, "absent"),
        ({"version": "8.0.14", "performance_schema": "ON"}, "absent"),
        ({"version": "8.0.16", "performance_schema": "ON"}, "absent"),
        ({"version": "8.0.17", "performance_schema": "OFF"}, "disabled"),
        ({"version": "8.0.17", "performance_schema": "ON"}, None),
    ],
)
def test_only_servers_with_parallel_reads_are_asked(variables: dict[str, str], failure: str | None) -> None:
    assert refusal(PARALLEL_READERS, **variables) == failure


def test_a_sample_holds_the_number_of_threads() -> None:
    assert parse([Rows.of(["threads"], [[4]])]).threads == 4


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
async def test_parallel_reads_of_a_real_server_are_seen(server: PrivateServer, watch: Callable[..., Sampler]) -> None:
    with server.connect() as connection:
        workloads.make_table(connection, "counted", 1500)
    sampler = watch(server)

    await sampler.collect()
    with workloads.BackgroundLoad(server.connect) as load:
        for _ in range(2):
            load.repeat(lambda connection: workloads.count(connection, "counted"), 0.0)

        async def seen() -> ParallelReaders | None:
            section = (await sampler.collect())[PARALLEL_READERS]
            return section if section is not None and section.thread_seconds > 0 else None

        section: ParallelReaders = await until(seen)
    assert section.reads_observed > 0


def test_threads_and_their_sums_are_exposed() -> None:
    known = Snapshot(1.0, identify({"version": "9.7.4"}), "a@b")
    metrics = exposed(known.with_section(PARALLEL_READERS, ParallelReaders(4, 8.5, 2)))
    assert metrics["innodb_parallel_read_threads"] == {(): 4}
    assert metrics["innodb_parallel_read_thread_seconds_total"] == {(): 8.5}
    assert metrics["innodb_parallel_reads_observed_total"] == {(): 2}


def test_counts_of_earlier_sidecars_lead_up_to_0() -> None:
    newest_first = [ParallelReaders(0, 2.0, 1), ParallelReaders(4, 1.0, 1), ParallelReaders(0, 7.0, 3)]
    shifted = shifted_to_zero(newest_first)
    assert [(readers.thread_seconds, readers.reads_observed) for readers in shifted] == [(0.0, 0), (-1.0, 0), (-1.0, 0)]
    assert [readers.threads for readers in shifted] == [0, 4, 0]
