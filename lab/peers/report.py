"""docs/peers.md, from the record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from lab.gauntlet.record import MOST_WORSE, RoundFigure
from lab.harness import records
from lab.peers.advisers import MEMORY, REFERENCE
from lab.peers.record import FollowedChange, Measured, PeersRecord
from lab.peers.trial import GROUP
from lab.peers.trial import loads as chosen
from lab.reports.markdown import ran_on, table

_HEAD = f"""\
# The advice of others, followed and measured

Under the same loads five advisers look at a server, and each change that one of them asks for is followed alone,
measured, and taken back. The loads are those of [the gauntlet](proofs.md#the-gauntlet), and TPC-C. In a round every
client does the same amount of work, so pages a round are the same before and after but for the change.

| adviser | what it is |
| --- | --- |
| innodb-advisor | every rule of this repository, on the watched rounds; the first three findings |
| MySQLTuner | 2.6.0, Debian's package: the lines under "Variables to adjust" |
| pt-variable-advisor | 3.2.1 of percona-toolkit, Debian's package, on SHOW GLOBAL VARIABLES |
| 75 % of memory | the rule of thumb for innodb_buffer_pool_size |
| AWS's checks | the parameters for which [its reference of recommendations]({REFERENCE}) names one value |

- MySQLTuner and the rule of thumb are told that the machine has {MEMORY:,} MiB: the lab's has 24 GiB, and the data here
  50 to 150 MiB. innodb-advisor reads the lab's machine.
- The servers have their own defaults where the lab's usual ones differ in durability: nobody has to advise
  innodb_flush_log_at_trx_commit or sync_binlog. The options that are not defaults stand with each load.
- "No change" is the control: the server is started anew, the load is measured, and measured again. What differs there
  differs without advice, as the pool fills on.
- Tables into which rows are inserted grow from change to change, and the changes are followed from top to bottom.
- A sentence is followed where it names a setting of InnoDB and a value for it. "innodb_log_buffer_size (> 64M)" names
  none. The sentences are listed [below](#what-they-say), with those that are not followed.
- Reads and writes are pages of the buffer pool a round, the mean before and after, with two standard errors of their
  difference. Other work on the machine does not change them. The time is that of a round's work, the median: other
  work on the machine adds to it.
- Memory is the buffer pool's by its setting, and what is resident of the server, without pages of files.
- Harm is the gauntlet's: all reads, reads and writes together, or the reads of a table, rise by more than chance and
  {MOST_WORSE:.0%}.

`make lab EXPERIMENT=peers` measures all of it.

"""
_TITLES = ("adviser", "followed", "reads", "writes", "time", "pool, MiB", "resident, MiB", "harm")
_NOTHING, _CONTROL = "nothing to follow", "no change"
_SUM = f"""\
Reads fall or rise where they differ by more than chance and {MOST_WORSE:.0%}; the control's row has how often they do
without advice. A change that two advisers ask for counts for both. The memory is what the pool grows by: the median of
the changes that make it larger, and their number."""
_SUMMED = (
    *("adviser", "loads with a change", "changes refused", "changes followed"),
    *("reads halve", "reads fall", "neither", "reads rise", "harm", "pool, MiB more"),
)
_NAMED = 2
"""Loads of a sentence that are named; more of them are counted."""
Recorded = Mapping[str, PeersRecord]


def page() -> str:
    """The page."""
    record = records.load(GROUP)
    if record is None:
        return _HEAD
    recorded = {name: PeersRecord.model_validate(data) for name, data in records.data(record).items()}
    options = {f"{load.name}, {server}": load.options_on(server) for load, server in chosen()}
    sections = "".join(_section(name, load, options[name]) for name, load in recorded.items())
    return f"{_HEAD}{_sum(recorded)}{sections}{_said(recorded)}\n{ran_on(record)}\n"


def _sum(recorded: Recorded) -> str:
    """All loads, a line an adviser."""
    advisers = next(iter(recorded.values())).said
    rows = [_summed(adviser, recorded.values()) for adviser in ("", *advisers)]
    return f"## All {len(recorded)} loads\n\n{_SUM}\n\n{table(_SUMMED, rows)}\n"


def _summed(adviser: str, loads: Iterable[PeersRecord]) -> list[str]:
    """The row of an adviser; of the control if it is empty."""
    of_load = [[change for change in load.changes if adviser in (change.advisers or ("",))] for load in loads]
    changes = [change for changes in of_load for change in changes]
    followed = [change for change in changes if not change.refused]
    fell = [change.read for change in followed if _fell(change.read)]
    rise = sum(change.read.worse() for change in followed)
    grown = [change.pool.after - change.pool.before for change in followed if change.pool.after > change.pool.before]
    counts = (
        sum(map(bool, of_load)),
        len(changes) - len(followed),
        len(followed),
        sum(figure.after <= figure.before / 2 for figure in fell),
        *(len(fell), len(followed) - len(fell) - rise, rise),
        sum(bool(change.harm) for change in followed),
    )
    return [adviser or _CONTROL, *map(str, counts), f"{median(grown):,.0f} ({len(grown)})" if grown else ""]


def _fell(figure: RoundFigure) -> bool:
    """Whether it would have risen, had it gone the other way."""
    return RoundFigure(before=figure.after, after=figure.before, noise=figure.noise).worse()


def _section(name: str, load: PeersRecord, options: Mapping[str, str]) -> str:
    silent = [adviser for adviser in load.said if not any(adviser in change.advisers for change in load.changes)]
    rows = [_row(change) for change in load.changes] + [[adviser, _NOTHING, *[""] * 6] for adviser in silent]
    given = ", ".join(f"`{option.removeprefix('loose-')}={value}`" for option, value in options.items())
    return f"## {name}\n\n{load.about} Options: {given}.\n\n{table(_TITLES, rows)}\n"


def _row(change: FollowedChange) -> list[str]:
    followed = "; ".join(f"`{statement.removeprefix('SET GLOBAL ')}`" for statement in change.applied)
    if change.refused:
        return [", ".join(change.advisers), followed, *[""] * 5, f"refused: {change.refused}"]
    return [
        ", ".join(change.advisers) or _CONTROL,
        followed,
        f"{change.read} ± {change.read.noise:,.0f}",
        f"{change.written} ± {change.written.noise:,.0f}",
        _arrow(change.work, 1_000.0, " ms"),
        _arrow(change.pool),
        _arrow(change.resident),
        "; ".join(change.harm) or "no",
    ]


def _arrow(measured: Measured, factor: float = 1.0, unit: str = "") -> str:
    return f"{measured.before * factor:,.0f} → {measured.after * factor:,.0f}{unit}"


def _said(recorded: Recorded) -> str:
    """The sentences of each adviser, with the loads on which they are said."""
    of_adviser: dict[str, dict[str, list[str]]] = {}
    not_followed: dict[str, list[str]] = {}
    for name, load in recorded.items():
        for adviser, texts in load.said.items():
            sentences = of_adviser.setdefault(adviser, {})
            for text in dict.fromkeys(texts):
                sentences.setdefault(_sentence(text), []).append(name)
        for text, why in load.not_followed.items():
            not_followed.setdefault(f"{_sentence(text)}: {why}", []).append(name)
    listed = "".join(f"### {adviser}\n\n{_listed(sentences)}\n" for adviser, sentences in of_adviser.items())
    return f"## What they say\n\n{listed}### Not followed\n\n{_listed(not_followed)}"


def _listed(sentences: Mapping[str, Sequence[str]]) -> str:
    return "".join(
        f"- {text} ({'; '.join(names) if len(names) <= _NAMED else f'{len(names)} loads'})\n"
        for text, names in sentences.items()
    )


def _sentence(text: str) -> str:
    return f"`{text.rstrip('.')}`"
