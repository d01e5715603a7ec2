"""docs/peers.md, from the record."""

from __future__ import annotations

from collections.abc import Iterator

from lab.gauntlet.record import MOST_WORSE
from lab.harness import records
from lab.peers.advisers import MEMORY, REFERENCE
from lab.peers.record import FollowedChange, Measured, PeersRecord
from lab.peers.trial import GROUP
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
  innodb_flush_log_at_trx_commit or sync_binlog. The pool has 16 or 32 MiB.
- A sentence is followed where it names a setting of InnoDB and a value for it. "innodb_log_buffer_size (> 64M)" names
  none. The sentences are listed [below](#what-they-say), with those that are not followed.
- In inserts-read-indexes on MySQL 9.7 innodb_change_buffering is `none` from the start, as AWS's check wants it; in the
  others it is 9.7's default, `all`.
- Reads and writes are pages of the buffer pool a round, the mean before and after, with two standard errors of their
  difference. Other work on the machine does not change them. The time is that of a round's work, the median: other
  work on the machine adds to it.
- Memory is the buffer pool's by its setting, and what is resident of the server, without pages of files.
- Harm is the gauntlet's: all reads, reads and writes together, or the reads of a table, rise by more than chance and
  {MOST_WORSE:.0%}.

`make lab EXPERIMENT=peers` measures all of it.

"""
_TITLES = ("adviser", "followed", "reads", "writes", "time", "pool, MiB", "resident, MiB", "harm")
_NOTHING = "nothing to follow"


def page() -> str:
    """The page."""
    record = records.load(GROUP)
    if record is None:
        return _HEAD
    loads = {name: PeersRecord.model_validate(data) for name, data in records.data(record).items()}
    sections = "".join(_section(name, load) for name, load in loads.items())
    said = "".join(_said(name, load) for name, load in loads.items())
    return f"{_HEAD}{sections}## What they say\n\n{said}{ran_on(record)}\n"


def _section(name: str, load: PeersRecord) -> str:
    silent = [adviser for adviser in load.said if not any(adviser in change.advisers for change in load.changes)]
    rows = [_row(change) for change in load.changes] + [[adviser, _NOTHING, *[""] * 6] for adviser in silent]
    return f"## {name}\n\n{load.about}\n\n{table(_TITLES, rows)}\n"


def _row(change: FollowedChange) -> list[str]:
    followed = "; ".join(f"`{statement.removeprefix('SET GLOBAL ')}`" for statement in change.applied)
    if change.refused:
        return [", ".join(change.advisers), followed, *[""] * 5, f"refused: {change.refused}"]
    return [
        ", ".join(change.advisers),
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


def _said(name: str, load: PeersRecord) -> str:
    return f"### {name}: what is said\n\n{''.join(_sentences(load))}\n"


def _sentences(load: PeersRecord) -> Iterator[str]:
    for adviser, texts in load.said.items():
        yield f"- {adviser}: {'; '.join(map(_sentence, texts)) or 'nothing'}\n"
    for text, why in load.not_followed.items():
        yield f"- not followed: {_sentence(text)}: {why}\n"


def _sentence(text: str) -> str:
    return f"`{text.rstrip('.')}`"
