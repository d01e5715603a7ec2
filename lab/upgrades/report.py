"""docs/upgrade.md, from the record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lab import upgrades
from lab.gauntlet.record import LEAST_KEPT
from lab.gauntlet.record import WITHIN as WITHIN_SHARE
from lab.harness import records
from lab.reports.markdown import ran_on, table
from lab.upgrades.measure import GROUP
from lab.upgrades.record import LARGER, MOST_TIMES, WITHIN, ForetoldFigure, UpgradedLoad
from lab.upgrades.recorded import LOADS
from lab.upgrades.routes import ROUTES
from lab.upgrades.workloads import WORKLOADS

_HEAD = f"""\
# Upgrades, foretold and measured

`innodb-advisor upgrade --to 8.4` says from a watched window, or from a recording alone, what an upgrade will do to the
server. Here the same load ran before and after real upgrades. The lab counted both; the forecast had the recording of
before, and nothing else.

- A prediction holds if it is within {WITHIN:.0%} of what was measured, if the measured value is inside the stated
  interval, or if both differ by chance: two standard errors of the rounds, and ten pages.
- A figure of which nothing was foretold must stay as it is: a change of more than a tenth ({LARGER:.0%}), and of more
  than three standard errors, has to be foretold, or named as not known.
- At least {WITHIN_SHARE:.0%} of the predictions must hold. None of the others may be of a change of which less than
  {LEAST_KEPT:.0%} came.
- All figures are those of a round: the same work before and after.

`make lab EXPERIMENT=upgrades` measures what was not measured before, forecasts anew, and judges.
`make proofs` does one of them, as CI does.

"""
_LIMITS = """\
## What this does not show

- A change is named as not known where the forecast names one of reads, or of writes, that no model answers for. It need
  not be the cause.
- Seconds. Other work shares the machine, and the pools are too small for the load of a dump to be throttled: it is over
  before the clients are there. What was measured of that is in `advisor/upgrade/warm_up.py`.
- System tables: `mariadb-upgrade` did not run, since its client is in another package. InnoDB does not depend on it.
- The tables of 5.7.44's recordings: they are made here after the recordings' statistics, and do not equal them page by
  page.

"""
_RECORDINGS = f"""
The recordings of 8.0.43 are of the scenarios of `lab/captures`, each of which is recorded on 9.7 too. A round is the
time between two collections, or as many statements or inserted rows. Where a load without a pace of its own was more
than {MOST_TIMES:g} times as fast on one of both, or mixed its work in another way, it is not the same load, and judges
nothing.

"""
_TITLES = ("load", "from", "to", "a round's", "before", "foretold", "interval", "measured", "so it is")


def page() -> str:
    """The page."""
    record = records.load(GROUP)
    if record is None:
        return _HEAD
    measured = upgrades.upgrades(record["parts"])
    failures = list(upgrades.broken(record["parts"]))
    figures = [figure for upgraded in measured for figure in upgraded.judged()]
    numbers = [figure for figure in figures if figure.predicted is not None]
    changed = [figure for figure in figures if figure.changed]
    summary = (
        f"{len(measured)} upgrades of a load, of which {sum(not upgraded.other_load for upgraded in measured)} are of"
        f" the same load. {len(changed)} of {len(figures)} figures changed by more than a tenth and chance:"
        f" {sum(figure.predicted is not None for figure in changed)} were foretold with a number, and"
        f" {sum(figure.predicted is None and figure.unknown for figure in changed)} were named as not known."
        f" {sum(figure.held for figure in numbers)} of {len(numbers)} predicted figures hold.\n"
    )
    verdict = (
        "\n".join(["Broken bounds:\n", *(f"- {text}" for text in failures)]) if failures else "No bound is broken."
    )
    sections = [_section(f"## {route.name}\n\n{route.about}\n\n", route.name, measured) for route in ROUTES]
    sections.append(_section(f"## Recordings of servers that no registry has\n{_RECORDINGS}", "recordings", measured))
    return f"{_HEAD}{summary}\n{verdict}\n\n{''.join(sections)}{_LIMITS}{_loads()}\n{_origin(record)}\n"


def _origin(record: Mapping[str, Any]) -> str:
    commits = sorted({of_part["commit"] for of_part in records.data(record).values()})
    return f"{ran_on(record)} The forecasts are those of commit {', '.join(commits)}."


def _section(head: str, begin: str, measured: Sequence[UpgradedLoad]) -> str:
    rows = [row for upgraded in measured if upgraded.name.startswith(begin) for row in _rows(upgraded)]
    return f"{head}{table(_TITLES, rows)}\n"


def _rows(upgraded: UpgradedLoad) -> Iterator[list[str]]:
    load = upgraded.name.partition(", ")[2]
    of_load = [load, f"{upgraded.before.server}, {upgraded.before.version}", upgraded.after.version]
    if upgraded.other_load:
        yield [*of_load, "", "", "", "", "", f"not the same load: {upgraded.other_load}"]
        return
    for figure in upgraded.foretold():
        if figure.predicted is not None or figure.measured.before or figure.measured.after:
            yield [*of_load, *_cells(figure)]


def _cells(figure: ForetoldFigure) -> list[str]:
    predicted = "as before" if figure.predicted is None else f"{figure.predicted:,.0f}"
    interval = "" if figure.high is None else f"{figure.low or 0.0:,.0f} … {figure.high:,.0f}"
    before, after = f"{figure.measured.before:,.0f}", f"{figure.measured.after:,.0f} ± {figure.measured.noise:,.0f}"
    return [figure.what, before, predicted, interval, after, figure.verdict]


def _loads() -> str:
    loads = [workload.load for workload in WORKLOADS] + [workload.load for workload, _ in LOADS.values()]
    return "## The loads\n\n" + table(("load", "a round"), [[load.name, load.about] for load in loads])
