"""Folders of files that stand for a machine: /proc, /sys and cgroups."""

from __future__ import annotations

import sys
from ipaddress import ip_address
from pathlib import Path

MYSQLD = "/usr/sbin/mysqld\0--datadir=/var/lib/mysql\0"
_TCP_HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"


class Tree:
    """A machine's files."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, path: str, text: str = "") -> Path:
        """A file, with its parent folders."""
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def link(self, path: str, to: str) -> None:
        """A symbolic link."""
        link = self.root / path.lstrip("/")
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(to)

    def process(self, pid: int, program: str = MYSQLD, *, cpus: str = "0-3", user: int = 27) -> None:
        """A process, on a machine of four CPUs and 16 GiB."""
        self.write(f"proc/{pid}/cmdline", program)
        self.write(
            f"proc/{pid}/status", f"Name:\tmysqld\nUid:\t{user}\t{user}\t{user}\t{user}\nCpus_allowed_list:\t{cpus}\n"
        )
        self.write(f"proc/{pid}/cgroup", "0::/\n")
        self.write("sys/devices/system/cpu/online", "0-3\n")
        self.write("proc/meminfo", "MemTotal:       16777216 kB\nMemFree:  1 kB\nMemAvailable:    8388608 kB\n")
        self.write(
            "proc/stat",
            "cpu  1 1 1 1 1 1 1 1 0 0\n"
            + "".join(f"cpu{cpu} {100 * cpu} 0 100 9000 700 0 0 0 50 0\n" for cpu in range(4))
            + "intr 7\nbtime 1700000000\n",
        )

    def connection(
        self, pid: int, server: tuple[str, int], client: tuple[str, int], *, inode: int, user: int = 27
    ) -> None:
        """The server's end of a connection, in a process's network namespace."""
        kinds = {4: "tcp", 6: "tcp6"}
        name = f"proc/{pid}/net/{kinds[ip_address(server[0]).version]}"
        before = (self.root / name).read_text(encoding="utf-8") if (self.root / name).exists() else _TCP_HEAD
        line = (
            f"   0: {_code(server)} {_code(client)} 01 00000000:00000000 00:00000000 00000000 {user:5} 0 {inode} 1 x\n"
        )
        self.write(name, before + line)

    def opened(self, pid: int, *inodes: int) -> None:
        """A process's open files: a file, then sockets."""
        self.link(f"proc/{pid}/fd/1", "/var/log/mysql/error.log")
        for number, inode in enumerate(inodes, 10):
            self.link(f"proc/{pid}/fd/{number}", f"socket:[{inode}]")


def _code(end: tuple[str, int]) -> str:
    packed = ip_address(end[0]).packed
    words = (packed[place : place + 4] for place in range(0, len(packed), 4))
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words) + f":{end[1]:04X}"
