"""The sources of a server for people: on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console

from advisor.render.terminal import plain_table, words


@dataclass(frozen=True, slots=True)
class SourceCheck:
    """A source in ``innodb-advisor check``.

    Attributes:
        source: The collector's name.
        ok: Whether it can be read; None where the server has no such source.
        reason: Why it cannot be read.
        cure: What would change that.
        needed_by: The rules that are blind without it.
    """

    source: str
    ok: bool | None
    reason: str
    cure: str | None
    needed_by: tuple[str, ...]


def print_checks(out: Console, checks: Sequence[SourceCheck]) -> None:
    """One line per source."""
    table = plain_table("source", "", "why", "cure", "rules that need it")
    for check in checks:
        mark = words("–", "dim") if check.ok is None else words("ok", "green") if check.ok else words("no", "red")
        blind = ", ".join(check.needed_by) if check.ok is False else ""
        table.add_row(words(check.source), mark, words(check.reason), words(check.cure or ""), words(blind))
    out.print(table)
