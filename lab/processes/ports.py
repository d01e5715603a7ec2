"""Ports of the loopback address for what comes and goes, and is to be found at the same port each time."""

import contextlib
import errno
import random
import socket
from pathlib import Path

HOST = "127.0.0.1"
_OUTGOING = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOWEST = 10_000  # below it are the usual ports of databases and exporters


def free_port() -> int:
    """A port that nobody listens on now, and that the system gives to no outgoing connection.

    One that it does give to them (ip(7), ip_local_port_range; what binding to port 0 finds) may be taken by any
    connection of the machine while its server restarts, for a minute after that connection is closed.

    Raises:
        OSError: There is none.
    """
    try:
        first_outgoing = int(_OUTGOING.read_text().split()[0])
    except OSError:  # no Linux
        first_outgoing = 32_768
    ports = list(range(_LOWEST, first_outgoing)) or [0]
    random.shuffle(ports)
    for port in ports:
        with contextlib.suppress(OSError), socket.create_server((HOST, port)) as listener:
            found: int = listener.getsockname()[1]
            return found
    raise OSError(errno.EADDRINUSE, f"no port of {HOST} is free")
