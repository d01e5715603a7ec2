"""The sections of docs/proofs.md on advice that is followed by hand, and on changes without advice."""

from __future__ import annotations

from collections.abc import Iterator

from advisor.contract.recommendation import tidy
from lab.harness import records
from lab.outcomes.changed import CHANGES, WINDOWS, ChangesRecord
from lab.outcomes.followed import MOST_OFF, OUTCOMES, OutcomeRecord
from lab.proofs.harm import WINDOW
from lab.reports.markdown import ran_on, table

_TITLES = ("load, server", "followed", "promised", "outcome", "the ledger measured", "the lab counted", "closed after")
_HEAD = f"""\

## Outcomes

`make outcomes` follows advice by hand under a load that goes on, while the sidecar's sampler and its ledger watch. The
ledger has to close an outcome whose measurement is within {MOST_OFF:.0%} of the lab's own count: pages that the
server's status counts, for the work that the clients count. Where a batch job begins at the same time, the outcome has
to be `not comparable`. A window has {WINDOW:g} s here, and five minutes in production.

"""


_CHANGES_TITLES = ("load, server", "changed", "watched", "changes compared", "harm reported after", "harm")
_CHANGES_HEAD = f"""\

## Changes by hand

The same command changes settings that no finding asked for. The ledger must report harm within three windows. Ordinary
work is recorded for {WINDOWS} windows on each server. A change of a setting that did not happen is then put into each
window of the recording: it has no effect, so that any reported harm would be wrong.

"""


def section() -> str:
    """Both sections; without those that have no record yet."""
    return _followed() + _changed()


def _followed() -> str:
    record = records.load(OUTCOMES)
    if record is None:
        return ""
    outcomes = {name: OutcomeRecord(**data) for name, data in records.data(record).items()}
    loads = "".join(
        f"- {name.rpartition(', ')[0]}: {outcome.about}\n" for name, outcome in outcomes.items() if "mysql" in name
    )
    rows = (_row(name, outcome) for name, outcome in outcomes.items())
    return f"{_HEAD}{loads}\n{table(_TITLES, rows)}\n{ran_on(record)}\n"


def _changed() -> str:
    record = records.load(CHANGES)
    if record is None:
        return ""
    changes = {name: ChangesRecord(**data) for name, data in records.data(record).items()}
    abouts = {name.rpartition(", ")[0]: change.about for name, change in changes.items()}
    loads = "".join(f"- {name}: {about}\n" for name, about in abouts.items())
    rows = ((name, *_changes_row(change)) for name, change in changes.items())
    return f"{_CHANGES_HEAD}{loads}\n{table(_CHANGES_TITLES, rows)}\n{ran_on(record)}\n"


def _changes_row(record: ChangesRecord) -> Iterator[str]:
    yield f"`{record.changed}`" if record.reported_after is not None else record.changed
    yield f"{record.windows} windows"
    yield f"{record.compared} of {record.changes}"
    yield "–" if record.reported_after is None else f"{record.reported_after:.1f} windows"
    yield "; ".join(record.harm) or "none"


def _row(name: str, record: OutcomeRecord) -> tuple[str, ...]:
    outcome, measured = record.outcome, record.outcome.measured
    promise = outcome.promise
    return (
        name,
        "; ".join(f"`{statement}`" for statement in record.applied),
        "–" if promise is None else f"{promise.quantity}: {_change(promise.now, promise.predicted)}",
        outcome.result.value if record.comparable else f"{outcome.result.value}: {outcome.why}",
        "–" if measured is None else _change(measured.before, measured.after),
        _change(*record.counted),
        f"{record.windows:.1f} windows",
    )


def _change(before: float, after: float) -> str:
    return f"{tidy(float(f'{before:.3g}')):,} → {tidy(float(f'{after:.3g}')):,}"
