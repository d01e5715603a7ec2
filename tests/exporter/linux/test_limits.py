import os
from pathlib import Path

import pytest

from exporter.linux import limits
from tests.exporter.trees import Tree

GIB = 1 << 30
TICKS = os.sysconf("SC_CLK_TCK")
CGROUP2 = "30 23 0:26 {root} {point} rw,nosuid - cgroup2 cgroup2 rw\n"
CGROUP1 = "3{n} 23 0:3{n} {root} /sys/fs/cgroup/{name} rw - cgroup cgroup rw,{name}\n"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A machine of four CPUs and 16 GiB, half of it available, and the server as process 42."""
    tree = Tree(tmp_path)
    tree.process(42)
    return tree


def version_2(tree: Tree, path: str, **files: str) -> None:
    """The server in a cgroup of version 2 that the sidecar can see, with files named with _ for a dot."""
    tree.write("proc/42/cgroup", f"0::{path}\n")
    tree.write("proc/self/mountinfo", CGROUP2.format(root="/", point="/sys/fs/cgroup"))
    for name, text in files.items():
        tree.write(f"sys/fs/cgroup{path}/{name.replace('_', '.', 1)}", text)


def test_without_limits_the_machine_counts(tree: Tree) -> None:
    version_2(tree, "/mysql", cpu_max="max 100000\n", memory_max="max\n", memory_current="5\n")
    cpu, memory = limits.cpu(tree.root, 42), limits.memory(tree.root, 42)
    assert cpu is not None
    assert (cpu.cores, cpu.source) == (4.0, "cpu affinity")
    assert cpu.seconds == pytest.approx((0 + 100 + 200 + 300 + 4 * 100) / TICKS)  # neither idle nor iowait
    assert memory == limits.Memory(16 * GIB, "MemTotal", 8 * GIB)


def test_affinity_leaves_fewer_cores_and_their_time_only(tree: Tree) -> None:
    tree.process(42, cpus="1,3")
    version_2(tree, "/db", cpu_max="max 100000")
    cpu = limits.cpu(tree.root, 42)
    assert cpu is not None
    assert (cpu.cores, cpu.source) == (2.0, "cpu affinity")
    assert cpu.seconds == pytest.approx((100 + 300 + 2 * 100) / TICKS)


def test_cpus_that_could_be_plugged_in_are_not_there(tree: Tree) -> None:
    tree.process(42, cpus="0-127")
    version_2(tree, "/db", cpu_max="max 100000")
    assert getattr(limits.cpu(tree.root, 42), "cores", None) == 4.0


def test_a_quota_of_version_2_counts_the_groups_own_time(tree: Tree) -> None:
    version_2(tree, "/kubepods/pod/db", cpu_max="150000 100000\n", cpu_stat="usage_usec 2500000\nuser_usec 1\n")
    assert limits.cpu(tree.root, 42) == limits.Cpu(1.5, "cgroup cpu.max", 2.5)


def test_the_least_of_the_quotas_on_the_way_up_counts(tree: Tree) -> None:
    version_2(tree, "/kubepods/pod/db", cpu_max="300000 100000\n", cpu_stat="usage_usec 1000000\n")
    tree.write("sys/fs/cgroup/kubepods/pod/cpu.max", "200000 100000\n")
    tree.write("sys/fs/cgroup/kubepods/pod/cpu.stat", "usage_usec 7000000\n")
    assert limits.cpu(tree.root, 42) == limits.Cpu(2.0, "cgroup cpu.max", 7.0)


def test_a_quota_above_the_machines_cores_is_none(tree: Tree) -> None:
    version_2(tree, "/db", cpu_max="6400000 100000\n")
    assert getattr(limits.cpu(tree.root, 42), "source", None) == "cpu affinity"


def test_pages_of_files_are_available_unless_a_process_maps_them(tree: Tree) -> None:
    stat = f"anon 1\nfile_mapped 4096\ninactive_anon 3\nactive_file {GIB // 2}\ninactive_file {GIB // 2 + 4096}\n"
    version_2(tree, "/db", memory_max=f"{4 * GIB}\n", memory_current=f"{3 * GIB}\n", memory_stat=stat)
    assert limits.memory(tree.root, 42) == limits.Memory(4 * GIB, "cgroup memory.max", 2 * GIB)


def test_what_the_machine_has_left_bounds_what_a_group_can_take(tree: Tree) -> None:
    version_2(tree, "/db", memory_max=f"{15 * GIB}\n", memory_current="0\n", memory_stat="inactive_file 0\n")
    assert limits.memory(tree.root, 42) == limits.Memory(15 * GIB, "cgroup memory.max", 8 * GIB)


def test_a_limit_above_the_group_is_shared_with_others(tree: Tree) -> None:
    version_2(tree, "/pod/db", memory_max=f"{4 * GIB}\n", memory_current=f"{GIB}\n", memory_stat="inactive_file 0\n")
    tree.write("sys/fs/cgroup/pod/memory.max", f"{5 * GIB}\n")
    tree.write("sys/fs/cgroup/pod/memory.current", f"{4 * GIB}\n")
    assert limits.memory(tree.root, 42) == limits.Memory(4 * GIB, "cgroup memory.max", GIB)


def test_the_throttle_below_the_limit_counts(tree: Tree) -> None:
    version_2(tree, "/db", memory_max=f"{4 * GIB}", memory_high=f"{3 * GIB}", memory_current="0", memory_stat="x 1")
    assert limits.memory(tree.root, 42) == limits.Memory(3 * GIB, "cgroup memory.high", 3 * GIB)


def test_what_is_left_is_not_known_where_the_use_is_not(tree: Tree) -> None:
    version_2(tree, "/db", memory_max=f"{4 * GIB}\n")
    assert limits.memory(tree.root, 42) == limits.Memory(4 * GIB, "cgroup memory.max", None)


def version_1(tree: Tree) -> None:
    tree.write("proc/42/cgroup", "5:memory:/docker/db\n4:cpu,cpuacct:/docker/db\n1:name=systemd:/x\n0::/x\n")
    mounts = [("1", "/", "memory"), ("2", "/", "cpu"), ("3", "/", "cpuacct")]
    tree.write("proc/self/mountinfo", "".join(CGROUP1.format(n=n, root=root, name=name) for n, root, name in mounts))
    tree.write("sys/fs/cgroup/cpu/docker/db/cpu.cfs_quota_us", "50000\n")
    tree.write("sys/fs/cgroup/cpu/docker/db/cpu.cfs_period_us", "100000\n")
    tree.write("sys/fs/cgroup/cpu/docker/cpu.cfs_quota_us", "-1\n")
    tree.write("sys/fs/cgroup/cpu/docker/cpu.cfs_period_us", "100000\n")
    tree.write("sys/fs/cgroup/cpuacct/docker/db/cpuacct.usage", "1500000000\n")
    tree.write("sys/fs/cgroup/memory/docker/db/memory.limit_in_bytes", f"{2 * GIB}\n")
    tree.write("sys/fs/cgroup/memory/docker/db/memory.usage_in_bytes", f"{GIB}\n")
    stat = f"inactive_file 7\ntotal_mapped_file 0\ntotal_inactive_file 4096\ntotal_active_file {GIB // 2 - 4096}\n"
    tree.write("sys/fs/cgroup/memory/docker/db/memory.stat", stat)
    tree.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")


def test_version_1_has_its_own_files(tree: Tree) -> None:
    version_1(tree)
    assert limits.cpu(tree.root, 42) == limits.Cpu(0.5, "cgroup cpu.cfs_quota_us", 1.5)
    assert limits.memory(tree.root, 42) == limits.Memory(2 * GIB, "cgroup memory.limit_in_bytes", 2 * GIB - GIB // 2)


def test_limits_of_the_sidecars_own_group_are_not_the_servers(tree: Tree) -> None:
    """Kubernetes with a shared process namespace: each container sees only its own cgroup, as the root."""
    tree.write("proc/42/cgroup", "0::/../cri-db.scope\n")
    tree.write("proc/self/cgroup", "0::/\n")
    tree.write("proc/self/mountinfo", CGROUP2.format(root="/", point="/sys/fs/cgroup"))
    tree.write("sys/fs/cgroup/cpu.max", "10000 100000\n")
    tree.write("sys/fs/cgroup/memory.max", "67108864\n")
    assert limits.cpu(tree.root, 42) is None
    assert limits.memory(tree.root, 42) is None


def test_the_servers_group_is_seen_in_the_servers_own_file_system(tree: Tree) -> None:
    test_limits_of_the_sidecars_own_group_are_not_the_servers(tree)
    tree.write("proc/42/mountinfo", CGROUP2.format(root="/../cri-db.scope", point="/sys/fs/cgroup"))
    tree.write("proc/42/root/sys/fs/cgroup/cpu.max", "250000 100000\n")
    tree.write("proc/42/root/sys/fs/cgroup/cpu.stat", "usage_usec 3000000\n")
    tree.write("proc/42/root/sys/fs/cgroup/memory.max", f"{GIB}\n")
    assert limits.cpu(tree.root, 42) == limits.Cpu(2.5, "cgroup cpu.max", 3.0)
    assert getattr(limits.memory(tree.root, 42), "bytes", None) == GIB


def test_a_mount_of_the_sidecars_own_group_only_is_not_looked_into(tree: Tree) -> None:
    """Docker with version 1: no namespace, but each container has its own group mounted as if it were the root."""
    version_1(tree)
    own = "".join(CGROUP1.format(n=n, root="/docker/own", name=name) for n, name in enumerate(("memory", "cpu")))
    tree.write("proc/self/mountinfo", own)
    tree.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "67108864\n")
    assert limits.cpu(tree.root, 42) is None
    assert limits.memory(tree.root, 42) is None


def test_a_process_that_is_not_there_has_no_limits(tree: Tree) -> None:
    assert limits.cpu(tree.root, 43) is None
    assert limits.cpu(tree.root / "nowhere", 42) is None
    assert limits.memory(tree.root / "nowhere", 42) is None


@pytest.mark.parametrize("name", ["cpu.max", "memory.max", "memory.current"])
def test_files_that_hold_something_else_are_no_limits(tree: Tree, name: str) -> None:
    version_2(tree, "/db", cpu_max="max 100000", memory_max="max")
    tree.write(f"sys/fs/cgroup/db/{name}", "\x00 what\nis this\n")
    assert getattr(limits.cpu(tree.root, 42), "cores", None) == 4.0
    assert getattr(limits.memory(tree.root, 42), "bytes", None) == 16 * GIB


def test_this_machine_has_the_limits_that_python_sees() -> None:
    cpu, memory = limits.cpu(Path("/"), os.getpid()), limits.memory(Path("/"), os.getpid())
    if cpu is not None:
        assert 0 < cpu.cores <= len(os.sched_getaffinity(0))
        assert cpu.seconds is None or cpu.seconds > 0
    if memory is not None:
        assert (
            0
            < (memory.available_bytes or 1)
            <= memory.bytes
            <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        )
