"""Answers of a hostile MySQL server to a statement, as payloads of packets: each attacks its reader."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from lab.programs.hostile_mysql import (
    EOF,
    MORE_RESULTS,
    OK,
    Huge,
    Payload,
    aliases,
    column,
    error,
    length,
    result_set,
    row,
)

Answer = Callable[[str], Iterator[Payload]]
"""From the statement to the payloads."""

_DECIMAL, _LONGLONG, _GEOMETRY, _TIME, _JSON = 0x00, 0x08, 0xFF, 0x0B, 0xF5
ESCAPES = "\x1b[2J\x1b]0;owned\x07\u202e<script>`{{ .Values }}`\nERROR all is well\r"
"""A text that clears a terminal, sets its title, turns lines around, and begins a line of a log."""


def rows_without_end(sql: str) -> Iterator[Payload]:
    """Rows until the client stops reading."""
    yield from _head(sql)
    for number in itertools.count():
        yield row([str(number).encode()] * len(aliases(sql)))


def empty_rows_without_end(sql: str) -> Iterator[Payload]:
    """Rows of five bytes that become objects of a hundred."""
    yield from _head(sql)
    yield from itertools.repeat(row([b""] * len(aliases(sql))))


def a_row_of_gigabytes(sql: str) -> Iterator[Payload]:
    """One value of 4 GiB, in packets of 16 MiB."""
    yield from _head(sql)
    yield Huge(length(4 << 30))
    yield from itertools.repeat(Huge(), 256)


def columns_without_end(_sql: str) -> Iterator[Payload]:
    """2^60 columns."""
    yield length(1 << 60)
    yield from itertools.repeat(column("c"))


def no_columns(_sql: str) -> Iterator[Payload]:
    """A result whose number of columns is not that of its rows."""
    return result_set([], [[]] * 3)


def fewer_values(sql: str) -> Iterator[Payload]:
    """Rows shorter than the columns."""
    return result_set(aliases(sql), [[b"1"]])


def more_values(sql: str) -> Iterator[Payload]:
    """Rows longer than the columns."""
    return result_set(aliases(sql), [[b"1"] * 99])


def other_columns(_sql: str) -> Iterator[Payload]:
    """Columns that the statement does not ask for."""
    return result_set(["owned"], [[b"1"]])


def nulls(sql: str) -> Iterator[Payload]:
    """NULL everywhere."""
    return result_set(aliases(sql), [[None] * len(aliases(sql))] * 3)


def numbers_out_of_range(sql: str) -> Iterator[Payload]:
    """Decimals of a billion digits in twelve bytes, and texts that are no numbers."""
    values = (b"1e999999999", b"-1e999999999", b"1e-999999999", b"NaN", b"Infinity")
    return result_set(aliases(sql), [[value] * len(aliases(sql)) for value in values], _DECIMAL)


def long_integers(sql: str) -> Iterator[Payload]:
    """Integers of a hundred thousand digits."""
    return result_set(aliases(sql), [[b"9" * 100_000] * len(aliases(sql))], _LONGLONG)


def odd_types(sql: str) -> Iterator[Payload]:
    """A time, a geometry and JSON where a count is expected."""
    names = aliases(sql)
    yield length(len(names))
    for name, kind in zip(names, itertools.cycle((_TIME, _GEOMETRY, _JSON, 0x77))):
        yield column(name, kind)
    yield from (EOF, row([b"-838:59:59.999999"] * len(names)), EOF)


def invalid_utf8(sql: str) -> Iterator[Payload]:
    """Bytes that are no text."""
    return result_set(aliases(sql), [[b"\xff\xfe\xc3\x28\xed\xa0\x80"] * len(aliases(sql))])


def results_without_end(_sql: str) -> Iterator[Payload]:
    """One result after the other."""
    return itertools.repeat(MORE_RESULTS)


def a_file(_sql: str) -> Iterator[Payload]:
    """A request for a file of the client's."""
    return iter((b"\xfb/etc/passwd", OK))


def an_error_of_its_own(_sql: str) -> Iterator[Payload]:
    """An error whose text is the attacker's, and long."""
    return iter([error(1146, (ESCAPES + "x" * 65_536).encode())])


def comments_without_end(sql: str) -> Iterator[Payload]:
    """Texts on which a regular expression may work for hours."""
    text = b"SELECT COUNT ( * ) FROM ... " + b"/*" * 100_000
    return result_set(aliases(sql), [[text] * len(aliases(sql))])


def a_status_of_mebibytes(_sql: str) -> Iterator[Payload]:
    """A status of 1 GiB, in one value."""
    yield from itertools.islice(result_set(["Type", "Name", "Status"], []), 5)
    text = b"\n-----\nINNODB MONITOR OUTPUT\n"
    yield Huge(length(0) + length(0) + length(1 << 30), text)
    yield from itertools.repeat(Huge(filling=text), 64)


ANSWERS: dict[str, Answer] = {
    answer.__name__.replace("_", " "): answer
    for answer in (
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

    def answer(sql: str) -> Iterator[Payload]:
        columns, number = aliases(sql), next(answers)
        rows = []
        for index in range(500):
            name = f"n{number}_{index}_".encode().ljust(prefix_bytes, b"x")
            rows.append([name if _may_be_name(column) else str(index + number).encode() for column in columns])
        return result_set(columns, rows)

    return answer


def _may_be_name(column: str) -> bool:
    return any(part in column.lower() for part in ("name", "schema", "table", "index", "text", "event"))


def _head(sql: str) -> Iterator[Payload]:
    """The packets of a result before its first row."""
    columns = aliases(sql)
    return itertools.islice(result_set(columns, []), len(columns) + 2)
