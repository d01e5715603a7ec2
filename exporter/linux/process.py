"""The server's process, where this machine's kernel shows it.

It is the one that holds the other end of the sidecar's own connection: another server on this machine, or a proxy
or tunnel to a server elsewhere, is never taken for it.
"""

from __future__ import annotations

import sys
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path, PurePosixPath

from exporter.connection.target import Peer
from exporter.linux import files

PROGRAMS = ("mysqld", "mariadbd", "mysqld-debug")
_ESTABLISHED = "01"
_LOOKS = 2


def find(root: Path, peer: Peer, port: int | None) -> int | None:
    """The process at the other end of a connection; None where it cannot be seen or be told apart.

    Args:
        root: Where this machine's files begin.
        peer: The connection.
        port: The port that the server says it listens on: another one than was called where a rule of the
            network leads from the one to the other.
    """
    if peer.pid is not None:
        return peer.pid if _is_server(root / "proc" / str(peer.pid)) else None
    if peer.own is None:
        return None
    # The kernel's table of connections may lack a line while others come and go.
    found = (_holder(root, peer.own, {peer.port, port}) for _ in range(_LOOKS))
    return next((pid for pid in found if pid is not None), None)


def _holder(root: Path, client: tuple[str, int], ports: set[int | None]) -> int | None:
    """The one server's process that holds the other end of the client's connection, or most likely does."""
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
            likely.append(int(pid))  # whose open files may not be seen, as those of another account
    found = sure or likely
    return found[0] if len(found) == 1 else None


def _is_server(process: Path) -> bool:
    """Whether it runs a server's program, if need be through the dynamic loader (``ld-linux-x86-64.so.2 … mysqld``)."""
    arguments = [PurePosixPath(each).name for each in (files.text(process / "cmdline") or "").split("\0")]
    if arguments[0].startswith("ld-"):
        return any(name in PROGRAMS for name in arguments)
    return arguments[0] in PROGRAMS


def _end(process: Path, client: tuple[str, int], ports: set[int | None]) -> tuple[str, str] | None:
    """Inode and user of the server's end of the client's connection, in the network that the process sees."""
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
    """An address of /proc/net/tcp: words of 32 bits in hexadecimal, each in the machine's byte order."""
    words = (int(code[place : place + 8], 16) for place in range(0, len(code), 8))
    return _plain(ip_address(b"".join(word.to_bytes(4, sys.byteorder) for word in words)))


def _plain(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """An IPv4 address that a socket for both kinds shows as an IPv6 one, as IPv4."""
    return (isinstance(address, IPv6Address) and address.ipv4_mapped) or address


def _sockets(process: Path) -> set[str] | None:
    """Inodes of the sockets that the process has open; None where that may not be seen."""
    try:
        links = [link for each in (process / "fd").iterdir() if (link := _link(each)) is not None]
    except OSError:
        return None
    return {link.removeprefix("socket:[").removesuffix("]") for link in links if link.startswith("socket:[")}


def _link(opened: Path) -> str | None:
    """What is open there; None where it was closed meanwhile, as a busy server does all the time."""
    try:
        return str(opened.readlink())
    except FileNotFoundError:
        return None


def _user(process: Path) -> str | None:
    """The effective user of the process, as a number."""
    users = files.fields(process / "status").get("Uid", "").split()
    return users[1] if len(users) > 1 else None
