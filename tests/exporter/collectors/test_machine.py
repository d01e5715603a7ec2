import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from exporter.collectors import machine
from exporter.collectors.base import SourceUnavailable
from exporter.collectors.machine import MACHINE, Machine
from exporter.connection.target import Peer, Target, from_dsn
from exporter.linux import files, process
from exporter.recording.file import Recorder, replay
from exporter.rows import Rows
from exporter.sampling.collector_run import CollectorRun
from exporter.sampling.sampler import Sampler
from exporter.server import identify
from exporter.snapshot import ConfiguredMachine, Snapshot
from lab.harness.workloads import make_table, scan
from lab.servers import PrivateServer
from tests.exporter.exposition import exposed
from tests.exporter.trees import Tree
from tests.waiting import DEADLINE

Watch = Callable[..., Sampler]
StartServer = Callable[..., PrivateServer]

GIB = 1 << 30
NOTHING = ConfiguredMachine()
SAID = ConfiguredMachine(cores=3.0, memory_bytes=7 * GIB, storage="hdd")
FOUND = "block device of the data folder"
DISK = Machine(filesystem="ext4", device="nvme0n1", device_source=FOUND, rotational=False)


def read(root: Path, configured: ConfiguredMachine = NOTHING, **known: Any) -> Machine:
    """The machine of process 42, which is at the other end of a Unix socket."""
    snapshot = Snapshot(1.0, identify({"version": "9.7.4"}), "a@b", sections=known)
    return machine.parse([machine.read(root, process.find(root, Peer(pid=42), None), snapshot, configured)])


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """The server as process 42, in a cgroup of 2 cores and 4 GiB, its data on a partition of sda."""
    tree = Tree(tmp_path)
    tree.process(42)
    tree.write("proc/42/cgroup", "0::/db\n")
    tree.write("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    for name, text in {
        "cpu.max": "200000 100000",
        "cpu.stat": "usage_usec 1500000",
        "memory.max": f"{4 * GIB}",
        "memory.current": f"{3 * GIB}",
        "memory.stat": "inactive_file 4096",
    }.items():
        tree.write(f"sys/fs/cgroup/db/{name}", text)
    tree.write("proc/42/mountinfo", "36 35 8:1 / /data rw - xfs /dev/sda1 rw\n37 35 0:9 / / rw - overlay none rw\n")
    tree.write("sys/devices/sda/queue/rotational", "1\n")
    tree.write("sys/devices/sda/stat", "1 2 3 4 5 6 7 8 0 2000 5000\n")
    tree.write("sys/devices/sda/sda1/partition", "1\n")
    tree.link("sys/dev/block/8:1", "../../devices/sda/sda1")
    tree.link("proc/42/cwd", "/data/mysql")
    return tree


TRUE = Machine(
    cores=2.0,
    cores_source="cgroup cpu.max",
    host_cores=4,
    cpu_seconds=1.5,
    memory_bytes=4 * GIB,
    memory_source="cgroup memory.max",
    memory_available_bytes=GIB + 4096,
    host_memory_bytes=16 * GIB,
    filesystem="xfs",
    device="sda",
    device_source="block device of the data folder",
    rotational=True,
    disk_busy_seconds=2.0,
    disk_queue_seconds=5.0,
)


def test_everything_is_read_from_the_servers_process(tree: Tree) -> None:
    assert read(tree.root) == TRUE


def test_the_configuration_does_not_replace_what_was_read(tree: Tree) -> None:
    section = read(tree.root, SAID, innodb_metrics={"cpu_n": 64})
    assert section == Machine(**{**{name: getattr(TRUE, name) for name in TRUE.__slots__}, "storage_configured": "hdd"})


def test_the_setting_names_the_data_folder_where_the_process_may_not_be_looked_into(tree: Tree) -> None:
    (tree.root / "proc/42/cwd").unlink()
    assert read(tree.root, variables={"datadir": "/data/mysql/"}).device == "sda"
    assert read(tree.root, variables={"datadir": "/var/lib/mysql/"}).filesystem == "overlay"
    assert read(tree.root).filesystem is None


def test_the_configuration_fills_what_cannot_be_read(tmp_path: Path) -> None:
    assert read(tmp_path, SAID) == Machine(
        cores=3.0,
        cores_source="configuration",
        memory_bytes=7 * GIB,
        memory_source="configuration",
        storage_configured="hdd",
    )
    assert read(tmp_path, ConfiguredMachine(storage="ssd")) == Machine(storage_configured="ssd")


def test_a_recording_gets_the_configured_machine_by_the_same_precedence() -> None:
    blind = Snapshot(1.0, identify({"version": "9.7.4"}), "a@b")
    assert machine.configure(blind, SAID)[MACHINE] == Machine(
        cores=3.0,
        cores_source="configuration",
        memory_bytes=7 * GIB,
        memory_source="configuration",
        storage_configured="hdd",
    )
    of_process = Machine(cores=4, cores_source="cgroup cpu.max", memory_bytes=1, memory_source="x")
    assert machine.configure(blind.with_section(MACHINE, of_process), SAID)[MACHINE] == replace(
        of_process, storage_configured="hdd"
    )
    counted = machine.configure(blind.with_section(MACHINE, Machine(64, "INNODB_METRICS cpu_n")), SAID)[MACHINE]
    assert counted is not None
    assert (counted.cores, counted.cores_source) == (3.0, "configuration")
    assert machine.configure(blind, NOTHING) is blind


def test_without_either_the_servers_own_count_of_cores_is_taken(tmp_path: Path) -> None:
    assert read(tmp_path, innodb_metrics={"cpu_n": 8}) == Machine(cores=8.0, cores_source="INNODB_METRICS cpu_n")
    assert read(tmp_path, SAID, innodb_metrics={"cpu_n": 8}).cores_source == "configuration"


@pytest.mark.parametrize("known", [{}, {"innodb_metrics": {}}, {"innodb_metrics": {"cpu_n": 0}}])
def test_nothing_known_is_absent_with_a_cure(tmp_path: Path, known: dict[str, Any]) -> None:
    with pytest.raises(SourceUnavailable, match="cannot be seen from here") as lack:
        read(tmp_path, **known)
    assert lack.value.failure == "absent"
    assert lack.value.cure == "name them in the configuration: server: {cores: …, memory: …, storage: …}"


@pytest.mark.parametrize("rows", [[], [["weather", "fine"]], [["storage_configured", "tape"]], [["memory_bytes", "x"]]])
def test_an_answer_that_tells_nothing_is_refused(rows: list[list[Any]]) -> None:
    with pytest.raises((ValueError, KeyError)):
        machine.parse([Rows.of(["name", "value"], rows)])


def test_the_servers_machine_is_exposed_with_how_it_is_known() -> None:
    known = Snapshot(1.0, identify({"version": "9.7.4"}), "a@b")
    section = Machine(cores=1.5, cores_source="cgroup cpu.max", memory_bytes=7, memory_source="configuration")
    metrics = exposed(known.with_section(MACHINE, section))
    assert metrics["innodb_server_cores"] == {("cgroup cpu.max",): 1.5}
    assert metrics["innodb_server_memory_bytes"] == {("configuration",): 7}
    assert "innodb_server_memory_available_bytes" not in metrics
    bare = exposed(known.with_section(MACHINE, Machine(device="sda", memory_available_bytes=0)))
    assert bare["innodb_server_memory_available_bytes"] == {(): 0}
    assert not {"innodb_server_cores", "innodb_server_memory_bytes"} & set(bare)


@pytest.mark.parametrize(
    ("section", "labels"),
    [
        (DISK, ("ssd", "ext4", "nvme0n1", "false", FOUND)),
        (replace(DISK, storage_configured="hdd"), ("ssd", "ext4", "nvme0n1", "false", FOUND)),
        (replace(DISK, rotational=True), ("hdd", "ext4", "nvme0n1", "true", FOUND)),
        (replace(DISK, rotational=True, device="vda"), ("", "ext4", "vda", "true", FOUND)),
        (
            replace(DISK, rotational=True, device="vda", storage_configured="ssd"),
            ("ssd", "ext4", "vda", "true", "configuration"),
        ),
        (Machine(storage_configured="hdd"), ("hdd", "", "", "", "configuration")),
        (Machine(cores=1.0), None),
    ],
)
def test_what_holds_the_data_folder_is_exposed(section: Machine, labels: tuple[str, ...] | None) -> None:
    known = Snapshot(1.0, identify({"version": "9.7.4"}), "a@b").with_section(MACHINE, section)
    assert exposed(known).get("innodb_server_storage_info") == (None if labels is None else {labels: 1})


def test_counters_of_the_machine_are_exposed() -> None:
    known = Snapshot(1.0, identify({"version": "9.7.4"}), "a@b")
    section = Machine(cpu_seconds=3.5, disk_busy_seconds=2.5, disk_queue_seconds=0.0)
    metrics = exposed(known.with_section(MACHINE, section))
    assert metrics["innodb_server_cpu_seconds_total"] == {(): 3.5}
    assert metrics["innodb_server_disk_busy_seconds_total"] == {(): 2.5}
    assert metrics["innodb_server_disk_queue_seconds_total"] == {(): 0.0}


# Real servers


def busy_seconds() -> dict[str, float]:
    """/proc/diskstats names every device, and its tenth number is the time that it was busy."""
    lines = Path("/proc/diskstats").read_text(encoding="utf-8").splitlines()
    return {words[2]: int(words[12]) / 1e3 for words in map(str.split, lines)}


@pytest.mark.parametrize("over", ["TCP", "a Unix socket"])
async def test_a_real_server_is_found_through_its_connection(server: PrivateServer, watch: Watch, over: str) -> None:
    target = from_dsn(server.dsn) if over == "TCP" else Target(socket=str(server.socket))
    busy_before = busy_seconds()
    section = (await watch(target).collect())[MACHINE]
    assert section is not None
    assert 0 < (section.cores or 0) <= len(os.sched_getaffinity(server.pid))
    assert (section.cpu_seconds or 0) > 0
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < (section.memory_available_bytes or 0) < (section.memory_bytes or 0) <= physical
    assert section.filesystem is not None
    assert section.device_source is not None
    if section.device is not None:
        disks = section.device.split(", ")
        before, after = (sum(busy[disk] for disk in disks) / len(disks) for busy in (busy_before, busy_seconds()))
        assert before <= (section.disk_busy_seconds or 0) <= after


@pytest.mark.parametrize("server", ["mariadb-11.8"], indirect=True)
async def test_cores_are_those_of_the_server_and_not_the_sidecars(server: PrivateServer, watch: Watch) -> None:
    cores = os.sched_getaffinity(server.pid)
    os.sched_setaffinity(server.pid, {min(cores)})
    try:
        section = (await watch(server).collect())[MACHINE]
    finally:
        os.sched_setaffinity(server.pid, cores)
    assert section is not None
    assert section.cores == 1.0


@contextmanager
def control_group(controller: str, **limits: int) -> Iterator[Path]:
    """A cgroup of version 1 with these limits, if this machine allows one."""
    group = Path("/sys/fs/cgroup", controller, f"innodb-advisor-test-{os.getpid()}")
    try:
        group.mkdir()
    except OSError:
        pytest.skip("no cgroup of version 1 can be made here")
    try:
        for name, limit in limits.items():
            (group / f"{controller}.{name}").write_text(f"{limit}")
        yield group
    finally:
        group.rmdir()


async def test_a_quota_given_to_a_real_server_while_it_runs_is_seen(start_server: StartServer, watch: Watch) -> None:
    with control_group("cpu", cfs_quota_us=50_000, cfs_period_us=100_000) as group:
        server = start_server("mariadb-11.8")
        (group / "cgroup.procs").write_text(str(server.pid))
        section = (await watch(server).collect())[MACHINE]
        server.stop()
    assert section is not None
    assert (section.cores, section.cores_source) == (0.5, "cgroup cpu.cfs_quota_us")


async def test_what_the_page_cache_holds_of_a_real_servers_tables_is_available(
    start_server: StartServer, watch: Watch
) -> None:
    """MySQL 5.6 reads through the page cache. What it reads there twice becomes active."""
    with control_group("memory", limit_in_bytes=GIB) as group:
        server = start_server("mysql-5.6", innodb_buffer_pool_size="8M")
        (group / "cgroup.procs").write_text(str(server.pid))
        with server.connect() as connection:
            make_table(connection, "orders", 2000)
            for _ in range(3):
                scan(connection, "orders")
        section = (await watch(server).collect())[MACHINE]
        stat = files.fields(group / "memory.stat")
        server.stop()
    active, anonymous = (int(stat[f"total_{name}"]) for name in ("active_file", "rss"))
    assert active > 2000 * 8_192
    assert section is not None
    assert section.memory_source == "cgroup memory.limit_in_bytes"
    assert (section.memory_available_bytes or 0) > GIB - anonymous - active / 2


@asynccontextmanager
async def forwarded(server: PrivateServer) -> AsyncIterator[Target]:
    """The server through a port that another process listens on, as through a tunnel to another machine."""

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection(server.host, server.port)
        await asyncio.gather(copy(reader, there[1]), copy(there[0], writer))

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield Target(port=listener.sockets[0].getsockname()[1])
    finally:
        listener.close()


async def test_a_server_behind_a_tunnel_is_not_looked_for_here(server: PrivateServer, watch: Watch) -> None:
    async with forwarded(server) as target:
        bare, configured = watch(target), watch(target, machine=SAID)
        snapshot = await bare.collect()
        assert snapshot[MACHINE] is None
        assert snapshot.outcomes["machine"].failure == "absent"
        assert "configuration" in (snapshot.outcomes["machine"].cure or "")
        assert (await configured.collect())[MACHINE] == read(Path("/nowhere"), SAID)
        for sampler in (bare, configured):
            await sampler.close()


async def test_what_was_read_is_recorded_and_replayed(server: PrivateServer, watch: Watch, tmp_path: Path) -> None:
    with Recorder(tmp_path / "r.jsonl") as recorder:
        snapshot = await watch(server, keep=recorder, machine=SAID).collect()
    [replayed] = replay(tmp_path / "r.jsonl")
    section = snapshot[MACHINE]
    assert replayed[MACHINE] == section
    assert section is not None
    assert section.storage_configured == "hdd"


@pytest.mark.parametrize("server", ["mariadb-11.8"], indirect=True)
async def test_another_machines_files_give_another_machine(server: PrivateServer, watch: Watch, tree: Tree) -> None:
    """The root that the folders of files above replace."""
    assert (await watch(server, root=tree.root).collect())[MACHINE] != TRUE  # this connection is not in the tree
    (tree.root / "proc/42").rename(tree.root / f"proc/{server.pid}")
    assert (await watch(Target(socket=str(server.socket)), root=tree.root).collect())[MACHINE] == TRUE


async def test_files_that_hang_end_at_the_deadline() -> None:
    """Each collector is run on its own, so no other source waits for them."""
    released = threading.Event()

    def hang(*_: object) -> Rows:
        assert released.wait(DEADLINE)
        return Rows((), ())

    run = CollectorRun(0.0, NOTHING, time.time, Path("/"))
    session: Any = SimpleNamespace(server=None, peer=Peer())
    collector = replace(MACHINE, queries=lambda _: (), precondition=None, host_reader=hang)
    known = Snapshot(1.0, identify({"version": "9.7.4"}), "a@b")
    answer = await run.run(collector, (session,), lambda: known)
    released.set()
    assert answer.failure == "deadline"
    assert "files were not read within" in answer.reason
