"""A hostile program that speaks MySQL's protocol: it accepts every login, and answers statements by an attack.

Protocol: https://dev.mysql.com/doc/dev/mysql-server/latest/PAGE_PROTOCOL.html
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass

from lab.processes.background_server import BackgroundServer
from lab.processes.ports import HOST

MIB = 1 << 20
LARGEST_PACKET = (1 << 24) - 1
_PIECE = 65_536
_TEXT, _UTF8MB4 = 0xFD, 45
_CAPABILITIES = 0x00FF_F7FF  # everything but TLS
GREETING = (
    b"\x0a9.7.4\0"
    b"\x01\0\0\0"
    + b"a" * 8
    + b"\0"
    + (_CAPABILITIES & 0xFFFF).to_bytes(2, "little")
    + b"\x2d\x02\0"
    + (_CAPABILITIES >> 16).to_bytes(2, "little")
    + b"\x15"
    + b"\0" * 10
    + b"b" * 12
    + b"\0mysql_native_password\0"
)
OK, MORE_RESULTS = b"\0\0\0\x02\0\0\0", b"\0\0\0\x0a\0\0\0"
EOF = b"\xfe\0\0\x02\0"
_COLLECTOR = re.compile(r"/\* innodb-advisor:(\w+) \*/")
_SETTING = re.compile(r"SESSION (\w+) = ('[^']*'|\S+?)(?=,|$)")
_ALIAS = re.compile(r"\bAS (\w+)", re.IGNORECASE)


@dataclass(frozen=True)
class Huge:
    """A packet of 16 MiB that another one continues, made piece by piece.

    Attributes:
        head: Its first bytes; the rest repeats `filling`.
        filling: A text.
    """

    head: bytes = b""
    filling: bytes = b"x"

    def pieces(self) -> Iterator[bytes]:
        """Its payload."""
        yield self.head
        left = LARGEST_PACKET - len(self.head)
        piece = (self.filling * (1 + _PIECE // len(self.filling)))[:_PIECE]
        while left:
            yield piece[:left]
            left -= len(piece[:left])


Payload = bytes | Huge
Attack = Callable[[str, str], "Iterator[Payload] | None"]
"""From a collector's name and its statement to the payloads of the answer's packets; None for an honest answer."""


def error(code: int, text: bytes) -> bytes:
    """An ERR packet."""
    return b"\xff" + code.to_bytes(2, "little") + b"#HY000" + text


def length(number: int) -> bytes:
    """A length-encoded integer."""
    if number < 251:
        return bytes([number])
    for mark, size in ((b"\xfc", 2), (b"\xfd", 3)):
        if number < 1 << 8 * size:
            return mark + number.to_bytes(size, "little")
    return b"\xfe" + number.to_bytes(8, "little")


def column(name: str, kind: int = _TEXT) -> bytes:
    """The description of a column."""
    names = b"".join(length(len(part)) + part for part in (b"def", b"", b"", b"", name.encode(), b""))
    return names + b"\x0c" + _UTF8MB4.to_bytes(2, "little") + b"\xff\xff\0\0" + bytes([kind]) + b"\0\0\0\0\0"


def row(values: Sequence[bytes | None]) -> bytes:
    """A row; None is NULL."""
    return b"".join(b"\xfb" if value is None else length(len(value)) + value for value in values)


def result_set(columns: Sequence[str], rows: Sequence[Sequence[bytes | None]], kind: int = _TEXT) -> Iterator[Payload]:
    """The packets of a result."""
    yield length(len(columns))
    for name in columns:
        yield column(name, kind)
    yield EOF
    for values in rows:
        yield row(values)
    yield EOF


def aliases(sql: str) -> list[str]:
    """The columns that a statement asks for, as far as it names them."""
    selected = sql.partition(" FROM ")[0]
    return list(dict.fromkeys(_ALIAS.findall(selected))) or ["Variable_name", "Value"]


class HostileServer(BackgroundServer):
    """Accepts every login, and answers statements by an attack.

    Attributes:
        greeting: The payload of its first packet, or what makes the bytes of a handshake of its own.
        attack: Answers statements; a change takes effect at once.
        sent: Bytes that it sent.
        answered: How often each collector was answered by an attack.
    """

    def __init__(self, attack: Attack = lambda _collector, _sql: None) -> None:
        super().__init__()
        self.greeting: bytes | Callable[[], AsyncIterator[bytes]] = GREETING
        self.attack = attack
        self.sent = 0
        self.answered: dict[str, int] = {}
        self._began = time.monotonic()

    @property
    def dsn(self) -> str:
        """For the sidecar."""
        return f"mysql://root@{HOST}:{self.port}/"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Speak with a client."""
        if not isinstance(self.greeting, bytes):
            async for piece in self.greeting():
                await self._send(writer, piece)
            await reader.read()
            return
        await self._send(writer, _packet(self.greeting, 0))
        await _received(reader)  # whoever it is, and whatever the password
        await self._send(writer, _packet(OK, 2))
        settings: dict[str, str] = {}
        while (command := await _received(reader))[:1] == b"\x03":
            sql = command[1:].decode()
            match = _COLLECTOR.search(sql)
            collector = match[1] if match else ""
            answer = self.attack(collector, sql)
            if answer is None:
                answer = self._honest(collector, sql, settings)
            else:
                self.answered[collector] = self.answered.get(collector, 0) + 1
            for number, payload in enumerate(answer, 1):
                if isinstance(payload, Huge):
                    await self._send(writer, b"\xff\xff\xff" + bytes([number % 256]))
                    for piece in payload.pieces():
                        await self._send(writer, piece)
                else:
                    await self._send(writer, _packet(payload, number))

    async def _send(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        writer.write(data)
        self.sent += len(data)
        await writer.drain()
        await asyncio.sleep(0)  # drain() alone does not let others run while the other side reads

    def _honest(self, collector: str, sql: str, settings: dict[str, str]) -> Iterator[Payload]:
        """The start of a session, and a status; nothing else is here."""
        if "*/ SET " in sql:
            settings |= {name: value.strip("'") for name, value in _SETTING.findall(sql)}
            return iter([OK])
        if collector == "session":
            session = {"account": "root@localhost", "id": "7"} | settings
            names = aliases(sql)
            return result_set(names, [[session[name].encode() for name in names]])
        if collector == "identity":
            values = {
                "version": "9.7.4",
                "version_comment": "hostile",
                "performance_schema": "ON",
                "port": str(self.port),
            }
            return result_set(
                ["Variable_name", "Value"], [[name.encode(), value.encode()] for name, value in values.items()]
            )
        if collector == "status":
            uptime = str(int(time.monotonic() - self._began) + 1).encode()
            return result_set(["VARIABLE_NAME", "VARIABLE_VALUE"], [[b"Uptime", uptime], [b"Threads_running", b"1"]])
        return iter([error(1146, b"there is no such table")])


def _packet(payload: bytes, number: int) -> bytes:
    return len(payload).to_bytes(3, "little") + bytes([number % 256]) + payload


async def _received(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readexactly(4)
    return await reader.readexactly(int.from_bytes(head[:3], "little"))
