"""Bounds of an answer: whoever answers at the server's address may send rows without end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Bound:
    """The most of an answer that is read.

    Attributes:
        size: Bytes.
        values: Of all rows together.
    """

    size: int
    values: int

    @property
    def reads(self) -> int:
        """Reads from the stream: two a row and a column, for its length and its content."""
        return 2 * self.values + 200


LOGIN: Final = Bound(64 << 10, 0)
"""A whole login: the greeting, a switch of the plugin and a public key are less than 4 KiB."""
USUAL: Final = Bound(1 << 20, 10_000)
"""500 rows of tables, or the settings and counters of a server, of which there are some hundreds."""
LARGE: Final = Bound(4 << 20, 100_000)
"""A row for each index of the server, or long texts: InnoDB's status ends at 1 MiB."""


class AnswerTooLarge(Exception):
    """The server sends more than anything that the sidecar asks for could be."""
