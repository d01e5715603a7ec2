"""The machine's storage and load come from measured reads, its disks or the configuration."""

from __future__ import annotations

import pytest

from advisor.facts.machine import machine
from advisor.observe.window import Window
from exporter.collectors.data_files import FileReads
from exporter.collectors.machine import Machine
from exporter.snapshot import ReadOutcome, Snapshot
from tests.advisor.building import BOOTED, pool, snapshot, variables

RANDOM_SETTINGS = variables(innodb_flush_method="O_DIRECT", innodb_read_ahead_threshold="56")
ROTATIONAL = Machine(rotational=True, device="sda", device_source="block device of the data folder")
SOLID = Machine(rotational=False, device="nvme0n1", device_source="block device of the data folder")


def reading(
    reads: int, seconds: float, ahead: int = 0, *, disk: Machine | None = None, settings: dict[str, str] | None = None
) -> Window:
    """A window of a minute with these reads of data files, their total time, and reads by read-ahead among them."""

    def at(second: float, part: int) -> Snapshot:
        return snapshot(
            second,
            variables=settings or RANDOM_SETTINGS,
            status={"uptime": second, "innodb_buffer_pool_read_ahead_rnd": 0.0},
            pools=(pool(read_ahead=ahead * part),),
            data_files=FileReads(reads * part, reads * part * 16_384, seconds * part),
            machine=disk,
        )

    return Window((at(100, 0), at(160, 1)))


@pytest.mark.parametrize(
    ("window", "storage"),
    [
        (reading(1_000, 0.1), "ssd"),
        (reading(1_000, 0.1, disk=ROTATIONAL), "ssd"),  # whatever the disk says of itself
        (reading(1_000, 0.8), "ssd"),  # behind a network
        (reading(1_000, 0.8, disk=ROTATIONAL), "hdd"),  # short runs of pages can be as fast on a hard disk
        (reading(1_000, 8.0), "hdd"),
        (reading(1_000, 8.0, disk=SOLID), "ssd"),  # many requests at a time
        (reading(1_000, 2.0), None),
        (reading(100, 0.01), None),  # too few
        (reading(1_000, 0.1, ahead=500), None),  # read in order
        (reading(1_000, 0.1, settings=RANDOM_SETTINGS | {"innodb_read_ahead_threshold": "0"}), None),
        (reading(1_000, 0.1, settings=RANDOM_SETTINGS | {"innodb_flush_method": "fsync"}), None),  # from the page cache
        (reading(1_000, 0.1, disk=Machine(filesystem="tmpfs")), None),
        (reading(0, 0.0, disk=SOLID), "ssd"),
        (reading(0, 0.0, disk=ROTATIONAL), "hdd"),
        (reading(0, 0.0, disk=Machine(rotational=True, device="vda")), None),  # virtual disks say so by default
        (reading(0, 0.0, disk=Machine(rotational=True, device="vda", storage_configured="ssd")), "ssd"),
        (reading(0, 0.0, disk=Machine(storage_configured="hdd")), "hdd"),
        (reading(0, 0.0), None),
    ],
)
def test_random_reads_tell_the_storage_or_else_its_disks_or_the_configuration(
    window: Window, storage: str | None
) -> None:
    host = machine(window)
    assert host.storage == storage
    assert (host.storage_source is None) is (storage is None)


def test_reads_by_read_ahead_are_not_waited_for() -> None:
    host = machine(reading(1_000, 0.1, ahead=900))
    assert host.waited_reads == 100
    assert host.read_seconds_per_read == pytest.approx(0.001)
    assert host.random_read_share == pytest.approx(0.1)


def test_counters_of_the_machine_are_rates_between_its_readings() -> None:
    """The machine is read less often than the rest, so that snapshots repeat its values."""

    def at(second: float, read: float, cpu: float) -> Snapshot:
        outcomes = {"machine": ReadOutcome(BOOTED + read, 0.01)}
        return snapshot(second, outcomes=outcomes, machine=Machine(cores=4.0, cpu_seconds=cpu, disk_busy_seconds=cpu))

    host = machine(Window((at(100, 100, 50.0), at(105, 100, 50.0), at(110, 110, 70.0), at(115, 110, 70.0))))
    assert host.cpu_busy == pytest.approx(0.5)
    assert host.disk_busy == pytest.approx(2.0)
    assert machine(Window((at(100, 100, 50.0), at(105, 100, 50.0)))).cpu_busy is None
