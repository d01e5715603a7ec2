from pathlib import Path

import pytest

from exporter.linux import disks
from exporter.linux.disks import FolderStorage
from tests.exporter.trees import Tree

DATADIR = "/var/lib/mysql"
SOURCE = "block device of the data folder"
STAT = " 676507  42342 27745986 442627 349047 226023 55583608 179099  0  {busy}  {queue}  16076 2 3 4 5 6\n"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def disk(tree: Tree, name: str, number: str, *, rotational: int, busy: int = 4000, queue: int = 9000) -> None:
    tree.write(f"sys/devices/pci/{name}/queue/rotational", f"{rotational}\n")
    tree.write(f"sys/devices/pci/{name}/stat", STAT.format(busy=busy, queue=queue))
    device(tree, f"pci/{name}", number)


def device(tree: Tree, path: str, number: str) -> None:
    tree.write(f"sys/devices/{path}/dev", f"{number}\n")
    tree.link(f"sys/dev/block/{number}", f"../../devices/{path}")
    tree.link(f"sys/class/block/{Path(path).name}", f"../../devices/{path}")


def partition(tree: Tree, of: str, name: str, number: str) -> None:
    tree.write(f"sys/devices/pci/{of}/{name}/partition", "1\n")
    tree.write(f"sys/devices/pci/{of}/{name}/stat", STAT.format(busy=1, queue=1))
    device(tree, f"pci/{of}/{name}", number)


def virtual(tree: Tree, name: str, number: str, *parts: str) -> None:
    """A mapped device or an array; its own rotational flag is not read."""
    tree.write(f"sys/devices/virtual/block/{name}/queue/rotational", "0\n")
    tree.write(f"sys/devices/virtual/block/{name}/stat", STAT.format(busy=1, queue=1))
    for part in parts:
        tree.link(f"sys/devices/virtual/block/{name}/slaves/{Path(part).name}", f"../../../../{part}")
    device(tree, f"virtual/block/{name}", number)


def mounted(tree: Tree, *mounts: tuple[str, str, str, str]) -> None:
    """Mounts of process 42: number, point, type and source."""
    lines = (
        f"36 35 {number} / {point} rw,noatime shared:1 - {kind} {source} rw" for number, point, kind, source in mounts
    )
    tree.write("proc/42/mountinfo", "\n".join(lines) + "\n")


def storage_of(tree: Tree, folder: str = DATADIR) -> FolderStorage:
    storage = disks.under(tree.root, 42, folder)
    assert storage is not None
    return storage


def test_a_file_system_on_a_whole_disk(tree: Tree) -> None:
    disk(tree, "vda", "254:0", rotational=1)
    mounted(tree, ("254:0", "/", "ext4", "/dev/vda"))
    assert storage_of(tree) == FolderStorage("ext4", "vda", SOURCE, True, 4.0, 9.0)


def test_a_partition_belongs_to_its_disk(tree: Tree) -> None:
    disk(tree, "nvme0n1", "259:0", rotational=0)
    partition(tree, "nvme0n1", "nvme0n1p2", "259:2")
    mounted(tree, ("259:2", "/", "xfs", "/dev/nvme0n1p2"))
    assert storage_of(tree) == FolderStorage("xfs", "nvme0n1", SOURCE, False, 4.0, 9.0)


def test_the_innermost_mount_counts_and_of_two_at_one_place_the_later(tree: Tree) -> None:
    disk(tree, "sda", "8:0", rotational=1)
    disk(tree, "sdb", "8:16", rotational=0)
    root, data = ("8:0", "/", "ext4", "/dev/sda"), ("8:16", "/var/lib", "xfs", "/dev/sdb")
    mounted(tree, data, root)
    assert storage_of(tree).device == "sdb"
    assert storage_of(tree, "/var/library/mysql").device == "sda"
    mounted(tree, root, data, ("8:0", "/var/lib", "ext4", "/dev/sda"))
    assert storage_of(tree).device == "sda"


def test_a_name_with_a_space_is_written_in_octal(tree: Tree) -> None:
    disk(tree, "sdb", "8:16", rotational=0)
    mounted(tree, ("8:16", "/my\\040data", "xfs", "/dev/sdb"))
    assert storage_of(tree, "/my data/mysql").device == "sdb"


def test_a_mapped_device_on_encryption_on_partitions_leads_to_all_disks(tree: Tree) -> None:
    disk(tree, "sda", "8:0", rotational=0, busy=1000, queue=3000)
    disk(tree, "sdb", "8:16", rotational=1, busy=3000, queue=5000)
    partition(tree, "sda", "sda1", "8:1")
    virtual(tree, "dm-0", "253:0", "pci/sda/sda1")
    virtual(tree, "dm-1", "253:1", "virtual/block/dm-0", "pci/sdb")
    mounted(tree, ("253:1", DATADIR, "ext4", "/dev/mapper/vg-data"))
    assert storage_of(tree) == FolderStorage("ext4", "sda, sdb", SOURCE, True, 2.0, 8.0)


def test_a_raid_is_as_its_disks_are(tree: Tree) -> None:
    disk(tree, "sda", "8:0", rotational=0)
    disk(tree, "sdb", "8:16", rotational=0)
    virtual(tree, "md0", "9:0", "pci/sda", "pci/sdb")
    mounted(tree, ("9:0", DATADIR, "ext4", "/dev/md0"))
    assert storage_of(tree) == FolderStorage("ext4", "sda, sdb", SOURCE, False, 4.0, 18.0)


def test_two_partitions_of_one_disk_are_one_disk(tree: Tree) -> None:
    disk(tree, "sda", "8:0", rotational=1)
    partition(tree, "sda", "sda1", "8:1")
    partition(tree, "sda", "sda2", "8:2")
    virtual(tree, "dm-0", "253:0", "pci/sda/sda1", "pci/sda/sda2")
    mounted(tree, ("253:0", DATADIR, "ext4", "/dev/dm-0"))
    assert (storage_of(tree).device, storage_of(tree).queue_seconds) == ("sda", 9.0)


@pytest.mark.parametrize("source", ["/dev/sda2", "/dev/mapper/vg-data"])
def test_btrfs_names_its_device(tree: Tree, source: str) -> None:
    disk(tree, "sda", "8:0", rotational=1)
    partition(tree, "sda", "sda2", "8:2")
    virtual(tree, "dm-3", "253:3", "pci/sda/sda2")
    tree.write("sys/devices/virtual/block/dm-3/dm/name", "vg-data\n")
    mounted(tree, ("0:41", DATADIR, "btrfs", source))
    assert storage_of(tree) == FolderStorage("btrfs", "sda", SOURCE, True, 4.0, 9.0)


@pytest.mark.parametrize(
    ("kind", "source"), [("overlay", "overlay"), ("tmpfs", "tmpfs"), ("nfs4", "nas:/db"), ("zfs", "tank/db")]
)
def test_a_file_system_without_a_block_device_says_so(tree: Tree, kind: str, source: str) -> None:
    disk(tree, "sda", "8:0", rotational=1)
    mounted(tree, ("8:0", "/", "ext4", "/dev/sda"), ("0:52", DATADIR, kind, source))
    storage = storage_of(tree)
    assert (storage.filesystem, storage.device, storage.rotational) == (kind, None, None)
    assert storage.source == f"the data folder is on {kind}, whose block device cannot be told"


def test_a_disk_that_does_not_say_is_not_known_to_be_either(tree: Tree) -> None:
    disk(tree, "sda", "8:0", rotational=0)
    device(tree, "pci/sdb", "8:16")
    virtual(tree, "md0", "9:0", "pci/sda", "pci/sdb")
    mounted(tree, ("9:0", DATADIR, "ext4", "/dev/md0"))
    assert storage_of(tree) == FolderStorage("ext4", "sda, sdb", SOURCE, None, None, None)


def test_a_device_that_sysfs_does_not_show_is_not_known(tree: Tree) -> None:
    mounted(tree, ("8:0", "/", "ext4", "/dev/sda"))
    assert storage_of(tree).device is None


def test_mounts_that_cannot_be_read_tell_nothing(tree: Tree) -> None:
    assert disks.under(tree.root, 42, DATADIR) is None
    tree.write("proc/42/mountinfo", "nonsense\n\n1 2 3\n")
    assert disks.under(tree.root, 42, DATADIR) is None


def test_this_machines_own_disk_is_found(tmp_path: Path) -> None:
    """A device that the kernel shows, or a file system without one."""
    storage = disks.under(Path("/"), 1, str(tmp_path))
    if storage is not None and storage.device is not None:
        for name in storage.device.split(", "):
            assert Path("/sys/block", name).is_dir()
        assert (storage.busy_seconds or 0) <= float(Path("/proc/uptime").read_text().split()[0]) + 1
