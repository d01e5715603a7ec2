"""The reads and writes of changes to secondary indexes, where the upgrade moves the change buffer's settings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from advisor.contract.changes import refuses
from advisor.contract.recommendation import Evidence, tidy
from advisor.contract.settings import json_value
from advisor.contract.templates import value_text
from advisor.contract.upgrade import Cause, NotForetold, OptionLine, UpgradeEffect, UpgradeStatement
from advisor.facts.change_buffer import buffer_settings, buffered_work
from advisor.models.change_buffer import Buffer, Changes, unbuffered_reads
from advisor.upgrade.upgrade import Upgrade

BUFFERING, MAX_SIZE, IO_CAPACITY = (
    "innodb_change_buffering",
    "innodb_change_buffer_max_size",
    "innodb_io_capacity",
)
_METRICS = "information_schema.INNODB_METRICS"
_EMPTIED = "change_buffer_emptied_by_upgrade"
_MANUAL = "https://dev.mysql.com/doc/refman/8.4/en/innodb-change-buffer.html"


@dataclass(frozen=True, slots=True)
class _Bounds:
    """What is said of the change buffer, and how sure it is."""

    least_pages: float = 10.0
    """Pages a second: fewer have no cost that was measurable (change-buffering-without-benefit)."""
    buffered: float = 0.2
    """Error of the reads of buffered changes: measured -4 to +15 % (MySQL 5.6, 8.0 and 9.7 and MariaDB 10.11, inserts
    and updates; tests/live/test_upgrade_change_buffer.py)."""
    merged_less: float = 0.3
    """Error of the merges downward, as in change-buffer-too-small."""
    merged_more: float = 1.0
    """And upward: where reads slow the clients down, fewer changes wait for a page (measured: up to 1.9 times)."""
    worth: float = 1.15
    """Reads relative to those with the line from which on it is worth its pages, as in the choice of a size."""
    drained: float = 0.2
    """Error of the pages of a first start: MariaDB 11.8.9 read 1,741 for a buffer of 10.11.18, 1,843 by the model."""
    attributed: float = 0.4
    """Share of the most reads of writes that must be theirs for certain, as in change-buffering-would-help."""


_BOUNDS = _Bounds()


@dataclass(frozen=True, slots=True)
class ChangeReads:
    """Pages that changes read a second, before and after, with the interval."""

    now: float
    predicted: float
    low: float
    high: float

    @property
    def more(self) -> float:
        """Pages read a second more."""
        return self.predicted - self.now


def change_buffer(upgrade: Upgrade) -> Iterator[UpgradeEffect | NotForetold]:
    """Buffering that ends or begins, and a buffer of another size or with other merges."""
    buffers, will = _buffers(upgrade, after=False), _buffers(upgrade, after=True)
    if buffers is None or will is None:
        return
    if buffers and not will:
        yield from _ends(upgrade)
    elif will and not buffers:
        yield from _begins(upgrade)
    elif buffers:
        yield from _resized(upgrade)
    if upgrade.gains(_EMPTIED):
        yield from _emptied(upgrade)


def _buffers(upgrade: Upgrade, *, after: bool) -> bool | None:
    """Whether changes are buffered; None where the setting is not known."""
    server = upgrade.after if after else upgrade.before
    if not server.has("change_buffer"):
        return False
    value = upgrade.value(BUFFERING, after=after)
    return None if value is None else value != "none"


def _ends(upgrade: Upgrade) -> Iterator[UpgradeEffect | NotForetold]:
    """Each change that is buffered now reads its page, if that is not in the pool by then."""
    ibuf, pool, merges = upgrade.facts.ibuf, upgrade.facts.pool, upgrade.facts.ibuf.merges_per_second
    buffered = ibuf.buffered_per_second
    if merges is None or buffered is None:
        yield NotForetold(
            what="the pages that changes of secondary indexes read without the change buffer",
            reason="how many changes are buffered is not known: INNODB_METRICS, or the sizes of the indexes, were not"
            " read, or the window is too short",
            cure="record with PROCESS and SELECT on mysql.innodb_index_stats for some minutes of a busy hour",
        )
        return
    low = buffered * (1.0 - _BOUNDS.buffered)
    changes, leaf_pages = ibuf.index_changes_per_second, ibuf.written_leaf_pages
    if changes and leaf_pages and pool.old_pages is not None and pool.pages_read_per_second is not None:
        others = max(0.0, pool.pages_read_per_second - merges)
        low = min(low, unbuffered_reads(Changes(changes, leaf_pages, 0.0), pool.old_pages, others))
    reads = ChangeReads(merges, buffered, low, buffered * (1.0 + _BOUNDS.buffered))
    removed = upgrade.loses("change_buffer")
    keep = not removed and reads.low > merges and refuses(upgrade.after, BUFFERING, "all") is None
    yield from _effects(
        upgrade,
        reads,
        cause=Cause.REMOVAL if removed else Cause.DEFAULT,
        setting=BUFFERING,
        summary=f"Changes of secondary indexes are no longer buffered: each reads its page, {_a_second(buffered)} in"
        f" place of {_a_second(merges)} by merges",
        evidence=(
            _evidence(
                "buffered_per_second", buffered, "changes per second", f"{_METRICS}, ibuf_merges_* and ibuf_size"
            ),
            _evidence("merges_per_second", merges, "merges per second", f"{_METRICS}, ibuf_merges"),
        ),
        keep=tuple(_lines(upgrade, buffered / max(merges, 1.0))) if keep else (),
    )


def _begins(upgrade: Upgrade) -> Iterator[UpgradeEffect | NotForetold]:
    """A read serves several changes; by the same facts as the rule change-buffering-would-help."""
    ibuf, buffer = upgrade.facts.ibuf, _buffer_after(upgrade)
    least, most = ibuf.least_write_reads_per_second, ibuf.most_write_reads_per_second
    if most is not None and most < _BOUNDS.least_pages:
        return
    work = buffered_work(upgrade.window, ibuf)
    new, read, most_read = ibuf.write_reads_per_second, ibuf.entry_reads_per_second, ibuf.most_entry_reads_per_second
    if least is None or most is None or new is None or read is None or most_read is None or not (work and buffer):
        yield NotForetold(
            what="the pages that the change buffer saves",
            reason="who reads the pages of secondary indexes is not known: the reads, rows and sizes of tables and"
            " indexes were not all read",
            cure="record with PROCESS and SELECT on performance_schema and mysql.innodb_index_stats",
        )
        return
    if least < _BOUNDS.attributed * most:
        yield NotForetold(
            what="the pages that the change buffer saves",
            reason=f"inserts and updates may read {_a_second(most)} pages of secondary indexes; all but"
            f" {_a_second(least)} may also be the reads of queries, or of other indexes of the same tables",
        )
        return
    state = work.under(buffer)
    saved = new - state.reads_per_second
    error = max(0.5 * new + most - new, most_read - saved)
    reads = ChangeReads(read, read - saved, max(0.0, read - saved - error), min(read, read - saved + error))
    yield from _effects(
        upgrade,
        reads,
        cause=Cause.DEFAULT,
        setting=BUFFERING,
        summary=f"Changes of secondary indexes are buffered: one read serves"
        f" {value_text(tidy(state.operations_per_merge))} of them",
        evidence=(
            _evidence("entry_reads_per_second", read, "pages per second", "reads, rows and time by table and index"),
            _evidence("operations_per_merge", state.operations_per_merge, "", "change buffer model"),
        ),
        model="change_buffer",
    )


def _resized(upgrade: Upgrade) -> Iterator[UpgradeEffect | NotForetold]:
    """Merges with another maximum or innodb_io_capacity: by the model, and by what it gives of the measured ones."""
    ibuf, before, after = upgrade.facts.ibuf, buffer_settings(upgrade.window), _buffer_after(upgrade)
    merges, changes = ibuf.merges_per_second, ibuf.buffered_per_second
    if before is None or after is None or before == after or not merges or merges < _BOUNDS.least_pages:
        return
    work = buffered_work(upgrade.window, ibuf)
    if work is None or changes is None:
        yield NotForetold(
            what="the merges of the change buffer with its new settings",
            reason="there is no model of MariaDB's merges"
            if upgrade.after.mariadb
            else "the sizes of the indexes are not known",
            cure=None if upgrade.after.mariadb else "record with SELECT on mysql.innodb_index_stats",
        )
        return
    work = replace(work, changes=replace(work.changes, per_second=changes))  # those too by which the buffer grew
    now, then = work.under(before), work.under(after)
    estimates = (then.reads_per_second, min(changes, then.reads_per_second * merges / now.reads_per_second))
    reads = ChangeReads(
        merges,
        sum(estimates) / 2.0,
        min(estimates) * (1.0 - _BOUNDS.merged_less),
        min(changes, max(estimates) * (1.0 + _BOUNDS.merged_more)),
    )
    kept = work.under(replace(after, max_size_pct=before.max_size_pct))
    keep: tuple[OptionLine, ...] = ()
    if then.reads_per_second > _BOUNDS.worth * kept.reads_per_second and before.max_size_pct > after.max_size_pct:
        keep = (
            _line(
                upgrade,
                MAX_SIZE,
                f"a merge then applies {value_text(tidy(kept.operations_per_merge))} changes"
                f" and not {value_text(tidy(then.operations_per_merge))}",
            ),
        )
    moved = [name for name in (MAX_SIZE, IO_CAPACITY) if upgrade.settings[name].moves]
    yield from _effects(
        upgrade,
        reads,
        cause=Cause.DEFAULT,
        setting=moved[0],
        summary=f"With the new {' and '.join(moved)} a merge of the change buffer applies"
        f" {value_text(tidy(changes / reads.predicted))} changes, in place of"
        f" {value_text(tidy(ibuf.operations_per_merge or 1.0))}",
        evidence=(
            _evidence("merges_per_second", merges, "merges per second", f"{_METRICS}, ibuf_merges"),
            _evidence("operations_per_merge", ibuf.operations_per_merge or 1.0, "", f"{_METRICS}, ibuf_merges_*"),
            _evidence("operations_per_merge_by_the_model", now.operations_per_merge, "", "change buffer model, today"),
        ),
        keep=keep,
        model="change_buffer",
    )


def _emptied(upgrade: Upgrade) -> Iterator[UpgradeEffect | NotForetold]:
    """The first start without a change buffer applies all changes that wait in it, and reads their pages."""
    ibuf = upgrade.facts.ibuf
    if ibuf.size_pages is None or ibuf.size_pages <= 1.0:
        return
    slow = UpgradeStatement(
        sql="SET GLOBAL innodb_fast_shutdown = 0",
        reason="the shutdown before the upgrade then empties the change buffer, and the first start has nothing to do",
    )
    drained = (
        {}
        if ibuf.drain_reads is None
        else {
            "quantity": "pages that the first start reads",
            "unit": "pages",
            "now": 0,
            "predicted": tidy(ibuf.drain_reads),
            "low": tidy((1.0 - _BOUNDS.drained) * ibuf.drain_reads),
            "high": tidy((1.0 + _BOUNDS.drained) * ibuf.drain_reads),
            "model": "change_buffer",
        }
    )
    yield UpgradeEffect(
        cause=Cause.REMOVAL,
        name=_EMPTIED,
        summary=f"The first start applies all changes in the {value_text(tidy(ibuf.size_pages))} pages of the change"
        " buffer, and reads the pages that they are for",
        evidence=(_evidence("ibuf_size", ibuf.size_pages, "pages", f"{_METRICS}, ibuf_size"),),
        better=False,
        before=(slow,),
        references=("https://jira.mariadb.org/browse/MDEV-29694",),
        **drained,
    )


def _effects(
    upgrade: Upgrade,
    reads: ChangeReads,
    *,
    cause: Cause,
    setting: str,
    summary: str,
    evidence: tuple[Evidence, ...],
    keep: tuple[OptionLine, ...] = (),
    model: str | None = None,
) -> Iterator[UpgradeEffect | NotForetold]:
    """The reads, and the writes that come with them: a page that a change read is written before it leaves the pool."""
    if abs(reads.more) < _BOUNDS.least_pages:
        return
    moved = upgrade.settings[setting]
    better = None if reads.low <= reads.now <= reads.high else reads.high < reads.now
    of_setting = {
        "cause": cause,
        "name": setting,
        "from_": json_value(moved.before),
        "to": json_value(moved.after),
        "unit": "pages per second",
        "model": model or "buffered changes",
        "pages_per_second": tidy(reads.more),
        "better": better,
        "references": (_MANUAL,) if not upgrade.after.mariadb else ("https://jira.mariadb.org/browse/MDEV-27734",),
    }
    yield UpgradeEffect(
        **of_setting,
        summary=summary,
        evidence=evidence,
        quantity="pages read per second for changes of secondary indexes",
        now=tidy(reads.now),
        predicted=tidy(reads.predicted),
        low=tidy(reads.low),
        high=tidy(reads.high),
        keep=keep,
    )
    written = upgrade.facts.io.pages_written_per_second
    if written is not None:
        others = max(0.0, written - reads.now)
        yield UpgradeEffect(
            **of_setting,
            summary="Each page that a change reads is written before it leaves the pool: writes change as the reads do",
            evidence=(_evidence("pages_written_per_second", written, "pages per second", "INNODB_BUFFER_POOL_STATS"),),
            quantity="pages written per second",
            now=tidy(written),
            predicted=tidy(others + reads.predicted),
            low=tidy(min(reads.low, others + reads.low)),
            high=tidy(others + reads.high),
        )


def _lines(upgrade: Upgrade, changes_per_read: float) -> Iterator[OptionLine]:
    """Buffering as it is today, with today's maximum."""
    yield _line(
        upgrade, BUFFERING, f"one read serves {value_text(tidy(changes_per_read))} changes of secondary indexes"
    )
    if upgrade.settings[MAX_SIZE].moves:
        yield _line(upgrade, MAX_SIZE, "the change buffer as large as today")


def _line(upgrade: Upgrade, name: str, why: str) -> OptionLine:
    return OptionLine(line=f"{name} = {json_value(upgrade.value(name, after=False))}", reason=why)


def _buffer_after(upgrade: Upgrade) -> Buffer | None:
    """The buffer's settings on the new version; None where one is not known."""
    before = buffer_settings(upgrade.window)
    max_size, io_capacity = (upgrade.number(name, after=True) for name in (MAX_SIZE, IO_CAPACITY))
    if before is None or max_size is None or io_capacity is None:
        return None
    return replace(before, max_size_pct=max_size, io_capacity=io_capacity)


def _a_second(pages: float) -> str:
    return f"{pages:,.0f} a second"


def _evidence(name: str, value: float, unit: str, source: str) -> Evidence:
    return Evidence(name=name, value=tidy(value), unit=unit, source=source)
