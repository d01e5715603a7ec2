"""The steady load's section of docs/proofs.md."""

from __future__ import annotations

from lab.harness import records
from lab.reports.markdown import table
from lab.steady.record import FOR_SECONDS, NAME, Steady, SteadyRecord

_TITLES = (
    *("finding", "first seen after", "came", "answers with it", "answers without it afterwards"),
    *("longest since its rule made it", "its alert began", "its alert fired after"),
)
_HEAD = f"""\

## A steady load

`make steady` runs the load of `make run` for an hour: scans of a table beside point lookups that never change. A real
sidecar is asked for `/advise` every two seconds, and a Prometheus with the shipped alerts scrapes it. Each finding must
come once and stay. Its alert must begin once, and fire after {FOR_SECONDS / 60:.0f} minutes (`for: 10m`).

"""


def section() -> str:
    """The section; empty while there is no record."""
    found = records.load(NAME)
    if found is None:
        return ""
    record = SteadyRecord.model_validate(found)
    return (
        f"{_HEAD}{table(_TITLES, (_row(name, each) for name, each in record.findings.items()))}\n"
        f"The recorded run took {record.seconds / 60:.0f} minutes, with {record.polls} answers; {record.unanswered}"
        f" requests got none. Measured on {record.date}, {record.machine['cores']} cores,"
        f" {record.machine['memory_gib']:g} GiB, Linux {record.machine['kernel']}: MySQL {record.version}.\n"
    )


def _row(name: str, found: Steady) -> tuple[str, ...]:
    rule, _, subject = name.partition(" ")
    return (
        f"`{rule}` {subject}".strip(),
        f"{found.first:.0f} s",
        _times(found.came),
        str(found.polls),
        str(found.missing),
        f"{found.oldest:.0f} s",
        _times(found.alerts),
        "did not fire" if found.fired_after is None else f"{found.fired_after:.0f} s",
    )


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"
