"""The server's process, if this machine's kernel shows it.

It is the process at the other end of the sidecar's connection: never another server on this machine, nor a proxy or
tunnel to a server elsewhere.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path, PurePosixPath

from exporter.connection.target import Peer
from exporter.linux import files

PROGRAMS = ("mysqld", "mariadbd", "mysqld-debug")
_ESTABLISHED = "01"
_ATTEMPTS = 2
SEARCH_AGAIN = 60.0
"""Seconds until the next search after one that found nothing."""
_STARTED = 19
"""Place of starttime behind the process's name in /proc/PID/stat (proc_pid_stat(5))."""


def find(root: Path, peer: Peer, port: int | None) -> int | None:
    """The process at the other end of a connection; None if it cannot be seen, or several are possible.

    Args:
        root: The root of the host's file system.
        peer: The connection's ends.
        port: The port that the server says it listens on. It differs from the connection's if the network translates
            ports.
    """
    if peer.pid is not None:
        return peer.pid if _is_server(root / "proc" / str(peer.pid)) else None
    if peer.own is None:
        return None
    # The kernel's table of connections may miss a line while others come and go.
    pids = (_holder(root, peer.own, {peer.port, port}) for _ in range(_ATTEMPTS))
    return next((pid for pid in pids if pid is not None), None)


class Finder:
    """``find`` that remembers its result: the process stays the same while the connection lasts.

    A search looks at every process, and reads the tables of connections of every server: 30 ms with ten servers on the
    machine.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Nothing is found yet.

        Args:
            clock: Seconds, monotonic.
        """
        self._clock = clock
        self._asked: tuple[Path, Peer, int | None] | None = None
        self._found: tuple[int, str | None] | None = None  # the process and its start
        self._again = 0.0

    def __call__(self, root: Path, peer: Peer, port: int | None) -> int | None:
        """As ``find``."""
        asked = (root, peer, port)
        if asked != self._asked or not self._stands(root):
            pid = find(root, peer, port)
            self._asked, self._again = asked, self._clock() + SEARCH_AGAIN
            self._found = None if pid is None else (pid, _started(root / "proc" / str(pid)))
        return None if self._found is None else self._found[0]

    def _stands(self, root: Path) -> bool:
        """Whether the last result still holds."""
        if self._found is None:
            return self._clock() < self._again
        pid, started = self._found
        process = root / "proc" / str(pid)
        return _is_server(process) and _started(process) == started


def _started(process: Path) -> str | None:
    """The start of a process: another process of the same number has another."""
    words = (files.text(process / "stat") or "").rpartition(")")[2].split()
    return words[_STARTED] if len(words) > _STARTED else None


def _holder(root: Path, client: tuple[str, int], ports: set[int | None]) -> int | None:
    """The one server process that holds the other end of the client's connection, or most likely holds it."""
    sure: list[int] = []
    likely: list[int] = []
    for pid in filter(str.isdecimal, files.names(root / "proc")):
        process = root / "proc" / pid
        if not _is_server(process) or (end := _end(process, client, ports)) is None:
            continue
        inode, user = end
        held = _sockets(process)
        if held is not None and inode in held:
            sure.append(int(pid))
        elif held is None and user == _user(process):
            likely.append(int(pid))  # a process of another account, whose open files cannot be read
    pids = sure or likely
    return pids[0] if len(pids) == 1 else None


def _is_server(process: Path) -> bool:
    """Whether it runs a server's program, directly or by the dynamic loader (``ld-linux-x86-64.so.2 … mysqld``)."""
    arguments = [PurePosixPath(word).name for word in (files.text(process / "cmdline") or "").split("\0")]
    if arguments[0].startswith("ld-"):
        return any(name in PROGRAMS for name in arguments)
    return arguments[0] in PROGRAMS


def _end(process: Path, client: tuple[str, int], ports: set[int | None]) -> tuple[str, str] | None:
    """Inode and user of the server's end of the client's connection, in the process's network namespace."""
    address, client_port = _plain(ip_address(client[0].partition("%")[0])), client[1]
    for table in ("tcp", "tcp6"):
        for line in (files.text(process / "net" / table) or "").splitlines()[1:]:
            words = line.split()
            if len(words) < 10 or words[3] != _ESTABLISHED:
                continue
            # The port first: there may be thousands of lines.
            if int(words[2][-4:], 16) != client_port or int(words[1][-4:], 16) not in ports:
                continue
            if _address(words[2][:-5]) == address:
                return words[9], words[7]
    return None


def _address(code: str) -> IPv4Address | IPv6Address:
    """An address of /proc/net/tcp: hexadecimal words of 32 bits, each in the machine's byte order."""
    words = (int(code[start : start + 8], 16) for start in range(0, len(code), 8))
    return _plain(ip_address(b"".join(word.to_bytes(4, sys.byteorder) for word in words)))


def _plain(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The address as IPv4 if it is an IPv4-mapped IPv6 address."""
    return (isinstance(address, IPv6Address) and address.ipv4_mapped) or address


def _sockets(process: Path) -> set[str] | None:
    """Inodes of the process's open sockets; None if they cannot be read."""
    try:
        links = [link for opened in (process / "fd").iterdir() if (link := _link(opened)) is not None]
    except OSError:
        return None
    return {link.removeprefix("socket:[").removesuffix("]") for link in links if link.startswith("socket:[")}


def _link(opened: Path) -> str | None:
    """The open file; None if it was closed since, as happens all the time in a busy server."""
    try:
        return str(opened.readlink())
    except FileNotFoundError:
        return None


def _user(process: Path) -> str | None:
    """The effective user of the process, as a number."""
    users = files.fields(process / "status").get("Uid", "").split()
    return users[1] if len(users) > 1 else None
