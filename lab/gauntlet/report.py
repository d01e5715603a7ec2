"""The gauntlet's section of docs/proofs.md, and its lines on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lab.gauntlet.record import LEAST_KEPT, MOST_WORSE, PRICE, WITHIN, FollowedAdvice, GauntletRecord, broken
from lab.gauntlet.workload import SERVERS
from lab.harness import records
from lab.reports.markdown import ran_on, table

_HEAD = f"""\
## The gauntlet

Workloads that no rule was made for: those of reports of wrong or missing advice, others that nobody tuned a rule to,
and random mixes. Each is a load in rounds. In a round every client does the same amount of work, all at the same time,
so the mix is the same before and after. The sidecar's sampler watches, all rules judge, and every finding and every
alternative is followed alone under the load, measured, and taken back. Figures are pages (or merges) a round.

- A prediction is within its own stated error if promised and measured saving differ by at most this error's share of
  the current value, or by chance: two standard errors of the rounds, and ten pages. At least {WITHIN:.0%} must be.
- Advice is in vain if it saves nothing, or less than {LEAST_KEPT:.0%} of its promise.
- Advice harms if all reads, or reads and writes together, rise by more than chance and {MOST_WORSE:.0%}, or those of a
  table that it is not about by more than that and {PRICE:.0%} of what it saves in all.

`make gauntlet` runs all of it. CI runs three workloads at every change.

"""
_TITLES = (
    *("workload", "server", "rule", "followed", "quantity", "before", "promised", "after"),
    *("stated error", "within", "all reads", "all writes", "harm", "in vain"),
)
_KEPT = "No bound is broken."
_EXPECTED = ("workload", "load", "expected", *SERVERS)


def section() -> str:
    """The section; empty while there are no records."""
    recorded = {server: record for server in SERVERS if (record := records.load(f"gauntlet/{server}")) is not None}
    if not recorded:
        return ""
    runs = {
        (name, server): GauntletRecord.model_validate(data)
        for server, record in recorded.items()
        for name, data in records.data(record).items()
    }
    rows = [_row(name, server, entry) for (name, server), record in runs.items() for entry in record.entries]
    promises = [entry.promise for record in runs.values() for entry in record.entries if entry.promise]
    summary = (
        f"{len(runs)} runs, {len(rows)} findings and alternatives followed."
        f" {sum(promise.within for promise in promises)} of {len(promises)} predictions are within their own stated"
        " error.\n"
    )
    failures = broken((f"{name} on {server}", record) for (name, server), record in runs.items())
    verdict = "\n".join(["Broken bounds:\n", *(f"- {text}" for text in failures)]) if failures else _KEPT
    expected = [_expected(name, runs) for name in dict.fromkeys(name for name, _ in runs)]
    return (
        f"{_HEAD}{summary}\n{verdict}\n\n{table(_TITLES, rows)}\n### The workloads\n\n"
        f"{table(_EXPECTED, expected)}\n" + "\n\n".join(ran_on(record) for record in recorded.values()) + "\n"
    )


def line(name: str, record: GauntletRecord) -> Iterator[str]:
    """A workload's outcome, in lines of text."""
    said = ", ".join(record.said) or "silent"
    yield f"{name}: {record.read:,.0f} (± {record.noise:,.0f}) pages a round of {record.seconds:.1f} s; {said}"
    for entry in record.entries:
        cells = zip(_TITLES[2:], _row(name, "", entry)[2:], strict=True)
        yield "  " + " | ".join(f"{title} {cell}" for title, cell in cells if cell)


def _row(name: str, server: str, entry: FollowedAdvice) -> list[str]:
    rule = f"`{entry.rule}`{', an alternative' if entry.alternative else ''}"
    cells = ["not a rate", "", "", "", "", ""]
    if (promise := entry.promise) is not None:
        cells = [
            promise.quantity,
            f"{promise.measured.before:,.0f}",
            f"{promise.now * promise.per_round:,.0f} → {promise.predicted * promise.per_round:,.0f}",
            f"{promise.measured.after:,.0f}",
            "none" if promise.error is None else f"{promise.error:.0%}",
            "yes" if promise.within else f"no, {promise.off:.0%} off",
        ]
    vain = "" if promise is None else "yes" if promise.in_vain else "no"
    followed = "; ".join(f"`{statement.removeprefix('SET GLOBAL ')}`" for statement in entry.applied)
    both = [str(entry.read), str(entry.written)]
    return [name, server, rule, followed, *cells, *both, "; ".join(entry.harm) or "no", vain]


def _expected(name: str, runs: Mapping[tuple[str, str], GauntletRecord]) -> list[str]:
    on = {server: record for server in SERVERS if (record := runs.get((name, server))) is not None}
    first = next(iter(on.values()))
    return [name, first.about, first.expectation, *(_outcome(on[server]) if server in on else "" for server in SERVERS)]


def _outcome(record: GauntletRecord) -> str:
    said = ", ".join(f"`{rule}`" for rule in dict.fromkeys(record.said)) or "silent"
    return f"{said} ({'; '.join(record.unexpected)})" if record.unexpected else said
