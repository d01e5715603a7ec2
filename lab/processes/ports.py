"""Ports of the loopback address for servers that restart on the same port."""

import contextlib
import errno
import random
import socket
from pathlib import Path

HOST = "127.0.0.1"
_OUTGOING = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOWEST = 10_000  # below it are the usual ports of databases and exporters


def free_port() -> int:
    """A free port outside the range of outgoing connections.

    The system gives ports of that range (ip(7), ip_local_port_range) to outgoing connections, and to servers that bind
    port 0. Any connection could take such a port while its server restarts, and hold it for a minute after its end.

    Raises:
        OSError: No port is free.
    """
    try:
        first_outgoing = int(_OUTGOING.read_text().split()[0])
    except OSError:  # not Linux
        first_outgoing = 32_768
    ports = list(range(_LOWEST, first_outgoing)) or [0]
    random.shuffle(ports)
    for port in ports:
        with contextlib.suppress(OSError), socket.create_server((HOST, port)) as listener:
            return int(listener.getsockname()[1])
    raise OSError(errno.EADDRINUSE, f"no port of {HOST} is free")
