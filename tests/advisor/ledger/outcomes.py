"""Outcomes by hand."""

from __future__ import annotations

from typing import Any

from advisor.ledger.entry import Changed, Compared, Outcome, Promise, Result, outcome_id

RULE = "scan-exceeds-old-sublist"
DAY = 86_400.0
PER_PASS = "pages read per pass"
CHANGES = (Changed(setting="innodb_old_blocks_pct", before=37, after=64),)


def outcome(predicted: float, after: float, *, stated: float | None = 0.05, **fields: Any) -> Outcome:
    """A closed outcome of a scan that read 1,000 pages a pass; kept if it is within the stated error."""
    at = float(fields.pop("at", DAY))
    off = (after - predicted) / 1000
    known: dict[str, Any] = {
        "id": outcome_id(at, CHANGES),
        "at": at,
        "changes": CHANGES,
        "rule": RULE,
        "fingerprint": "a63178a321b3b23c",
        "subject": {"schema": "shop", "table": "orders"},
        "followed": True,
        "promise": Promise(
            setting="innodb_old_blocks_pct",
            to=64,
            quantity=PER_PASS,
            unit="pages",
            now=1000,
            predicted=predicted,
            error=stated,
        ),
        "result": Result.KEPT if abs(off) <= (stated or 0.0) else Result.MISSED,
        "closed_at": at + 60,
        "measured": Compared(quantity=PER_PASS, unit="pages", before=1000, after=after, noise=1),
        "error": off,
    }
    return Outcome(**(known | fields))


def worse(name: str = "pages read per second") -> Compared:
    """A quantity that rose."""
    return Compared(
        quantity=name,
        unit="pages per second",
        subject={"schema": "shop", "table": "items"},
        before=5,
        after=95,
        noise=2,
        worse=True,
    )
