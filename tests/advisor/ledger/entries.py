"""Entries of the ledger by hand."""

from __future__ import annotations

from typing import Any

from advisor.contract.recommendation import fingerprint
from advisor.ledger.entry import Baseline, Changed, Compared, Outcome, Promise, RememberedFinding, Result
from advisor.ledger.reading import Measure, Reading

RULE = "scan-exceeds-old-sublist"
SUBJECT = {"schema": "shop", "table": "orders"}
FINGERPRINT = fingerprint(RULE, SUBJECT)
PROMISE = Promise(
    setting="innodb_old_blocks_pct",
    to=64,
    quantity="pages read per pass",
    unit="pages",
    now=8645,
    predicted=0,
    error=0.01,
)
AT = 1_795_241_980.0


def remembered(**values: Any) -> RememberedFinding:
    return RememberedFinding.model_validate(
        {
            "fingerprint": FINGERPRINT,
            "rule": RULE,
            "subject": SUBJECT,
            "severity": "warning",
            "summary": "shop.orders (145 MiB) was scanned 5 times",
            "first_seen": AT - 600,
            "last_seen": AT,
            "settings": {"innodb_old_blocks_pct": 37},
            "promises": (PROMISE,),
            "rule_version": "1",
            "model_version": "2",
            **values,
        }
    )


def opened(name: str = "a" * 16, **values: Any) -> Outcome:
    """An outcome of a setting that took the advised value."""
    return Outcome.model_validate(
        {
            "id": name,
            "at": AT + 60,
            "changes": (
                Changed(
                    setting="innodb_old_blocks_pct",
                    before=37,
                    after=64,
                    undo=("SET GLOBAL innodb_old_blocks_pct = 37",),
                    undo_config="innodb_old_blocks_pct = 37",
                ),
            ),
            "rule": RULE,
            "fingerprint": FINGERPRINT,
            "subject": SUBJECT,
            "followed": True,
            "promise": PROMISE,
            "why": "the pool settles",
            **values,
        }
    )


def closed(name: str = "a" * 16, **values: Any) -> Outcome:
    """The same, measured."""
    measured = Compared(quantity="pages read per pass", unit="pages", subject=SUBJECT, before=8645, after=12, noise=20)
    return opened(
        name,
        **{
            "result": Result.KEPT,
            "why": "measured by the same work",
            "closed_at": AT + 960,
            "measured": measured,
            "error": 0.0014,
            "others": (Compared(quantity="pages read per second", before=6.06, after=6.1, noise=0.5),),
            **values,
        },
    )


def unasked(name: str = "b" * 16, **values: Any) -> Outcome:
    """A change that nobody advised, and that did harm."""
    changes = (Changed(setting="innodb_old_blocks_time", before=1000, after=0),)
    rest = Compared(quantity="pages read per second", before=6.0, after=900.0, noise=2.0, worse=True)
    return Outcome.model_validate(
        {
            "id": name,
            "at": AT + 3600,
            "changes": changes,
            "result": Result.UNPROMISED,
            "why": "nobody promised anything",
            "closed_at": AT + 4500,
            "others": (rest,),
            **values,
        }
    )


def baseline(of: str = "a" * 16) -> Baseline:
    """What was measured before the change of an outcome."""
    reads = Measure(quantity="pages read per second", unit="pages per second", amounts=(6.0,) * 4, bases=(10.0,) * 4)
    reading = Reading(began=AT - 600, at=AT, seconds=(150.0,) * 4, work=(), measures=(reads,))
    return Baseline(of=of, reading=reading)
