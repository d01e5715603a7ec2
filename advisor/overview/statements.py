"""The statements behind a table, from two looks at the server's digests."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from advisor.contract.recommendation import Frozen, Number, tidy
from exporter.collectors.table_digests import Digest, TableDigests

MOST_STATEMENTS = 10
_ENOUGH_SECONDS = 60.0
"""Span from which on one execution makes a rate."""


class Statement(Frozen):
    """A normalised statement, without literals."""

    digest: str
    schema_: str | None = Field(alias="schema", description="The default schema of the sessions that ran it.")
    text: str = Field(description="Cut where it is long.")
    per_hour: Number | None = Field(
        description="Executions in an hour, by those since `since`; null where it ran once, less than a minute ago."
    )
    rows_examined_per_call: Number | None = Field(
        description="Null where it did not run since then. 0 where parallel readers counted the rows."
    )
    seconds_per_call: Number | None = Field(description="Null where it did not run since then.")
    no_index: bool = Field(description="Whether a table was read without an index, or all of it was counted.")
    since: float = Field(description="Unix seconds: an earlier look, or when the server saw the statement first.")
    last_seen: float = Field(description="Unix seconds, by the server's clock.")


class TableStatements(Frozen):
    """The statements behind a table: without an index first, then by the time they take; last the ones that rest."""

    statements: tuple[Statement, ...]
    more_statements: int = Field(description="Statements beyond these that name the table.")
    lacks: str | None = Field(description="Why they are not known, and the cure; null where they are.")


def statements(now: TableDigests | None, before: TableDigests | None) -> TableStatements:
    """The statements of a look at the digests.

    Args:
        now: The look; None where no statement names the table.
        before: An earlier one, since which executions are counted. A statement that it has not is counted since the
            server saw it first.
    """
    if now is None:
        return TableStatements(statements=(), more_statements=0, lacks=None)
    earlier = {} if before is None else {(digest.schema, digest.digest): digest for digest in before.digests}
    since = now.now if before is None else before.now
    ranked = sorted(
        (_statement(digest, earlier.get((digest.schema, digest.digest)), since, now.now) for digest in now.digests),
        key=lambda statement: (statement.per_hour == 0, not statement.no_index, -_busy(statement), statement.digest),
    )
    more = max(0, len(ranked) - MOST_STATEMENTS)
    return TableStatements(statements=tuple(ranked[:MOST_STATEMENTS]), more_statements=more, lacks=None)


def unknown(why: str) -> TableStatements:
    """No statements, and why."""
    return TableStatements(statements=(), more_statements=0, lacks=why)


def earlier(looks: Sequence[TableDigests], now: float, longest: float) -> TableDigests | None:
    """The oldest look of the last ``longest`` seconds that is no repetition of the newest one."""
    return next((look for look in looks if now - longest <= look.now < now), None)


def _statement(digest: Digest, before: Digest | None, looked: float, now: float) -> Statement:
    runs, took, rows, since = digest.executions, digest.seconds, digest.rows_examined, digest.first_seen
    if before is not None and before.first_seen == digest.first_seen and before.executions <= digest.executions:
        runs, took, rows = runs - before.executions, took - before.seconds, rows - before.rows_examined
        since = looked
    span = now - since
    rate = None
    if span > 0 and (runs != 1 or span >= _ENOUGH_SECONDS):
        rate = tidy(runs * 3600.0 / span)
    return Statement(
        digest=digest.digest,
        schema_=digest.schema,
        text=digest.text,
        per_hour=rate,
        rows_examined_per_call=tidy(max(0, rows) / runs) if runs else None,
        seconds_per_call=tidy(max(0.0, took) / runs) if runs else None,
        no_index=digest.without_index,
        since=since,
        last_seen=digest.last_seen,
    )


def _busy(statement: Statement) -> float:
    """Seconds of work in an hour."""
    return float(statement.per_hour or 0.0) * float(statement.seconds_per_call or 0.0)
