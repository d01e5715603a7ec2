"""The temporary files of index builds, where the upgrade brings parallel builds or changes their buffers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from advisor.contract.recommendation import Evidence, tidy
from advisor.contract.templates import binary
from advisor.contract.upgrade import Cause, NotForetold, OptionLine, UpgradeEffect
from advisor.facts.ddl import LargestBuild, largest_build
from advisor.models.ddl import BUILD_PEAK
from advisor.upgrade.upgrade import Upgrade

BUFFER, THREADS, SORT_BUFFER = "innodb_ddl_buffer_size", "innodb_parallel_read_threads", "innodb_sort_buffer_size"
_BEHAVIOUR = "parallel_ddl"


@dataclass(frozen=True, slots=True)
class _Bounds:
    """Which builds matter: as in the rule ddl-buffer-starved."""

    large_bytes: float = 2.0**30
    """Entries of an index whose build is worth a word although none was seen."""
    least_written: float = 2.0**27
    error: float = 0.3
    worth: float = 0.6
    """Bytes with the line relative to those without: more are not worth the memory."""
    sort_buffers: float = 3.0
    """Memory of a build before 8.0.27 at its peak, in times of innodb_sort_buffer_size (its page in the manual)."""


_BOUNDS = _Bounds()


def index_builds(upgrade: Upgrade) -> Iterator[UpgradeEffect | NotForetold]:
    """Bytes that a build of the largest index writes to temporary files, before and after."""
    largest = largest_build(upgrade.window)
    if not upgrade.after.has(_BEHAVIOUR):
        return
    seen = upgrade.facts.ddl.seen
    if largest is None or not (seen or largest.build.file_bytes >= _BOUNDS.large_bytes):
        return
    now, predicted = (_written_bytes(upgrade, largest, after=after) for after in (False, True))
    if now is None or predicted is None:
        yield NotForetold(
            what="the temporary files of index builds",
            reason=f"{THREADS} or {BUFFER} is not known, before or after",
        )
        return
    if now == predicted or max(now, predicted) < _BOUNDS.least_written:
        return
    gains = upgrade.gains(_BEHAVIOUR)
    low, high = (predicted * (1.0 + error) for error in (-_BOUNDS.error, _BOUNDS.error))
    index = largest.index
    yield UpgradeEffect(
        cause=Cause.BEHAVIOUR if gains else Cause.DEFAULT,
        name=_BEHAVIOUR if gains else next(name for name in (BUFFER, THREADS) if upgrade.settings[name].moves),
        subject={"schema": index.schema, "table": index.table, "index": index.index},
        summary=_summary(upgrade, largest, now, predicted),
        evidence=tuple(_evidence(upgrade, largest)),
        quantity="bytes that a build of the largest index writes to temporary files",
        unit="bytes",
        now=tidy(now),
        predicted=tidy(predicted),
        low=tidy(low),
        high=tidy(high),
        model="ddl",
        better=None if low <= now <= high else high < now,
        keep=tuple(_lines(upgrade, largest, predicted)),
        references=("https://dev.mysql.com/doc/refman/8.4/en/online-ddl-parallel-thread-configuration.html",),
    )


def _written_bytes(upgrade: Upgrade, largest: LargestBuild, *, after: bool) -> float | None:
    """By the one sort or the other; None where a setting is not known."""
    server = upgrade.after if after else upgrade.before
    if not server.has(_BEHAVIOUR):
        sort_buffer = upgrade.number(SORT_BUFFER, after=after)
        return None if sort_buffer is None else largest.build.sorted_bytes(sort_buffer)
    buffer, threads = (upgrade.number(name, after=after) for name in (BUFFER, THREADS))
    return None if buffer is None or threads is None else largest.build.written_bytes(buffer, threads)


def _summary(upgrade: Upgrade, largest: LargestBuild, now: float, predicted: float) -> str:
    index, threads = largest.index, upgrade.number(THREADS, after=True) or 1.0
    sorts = f"{threads:.0f} threads sort" if threads > 1.0 else "One thread sorts"
    return (
        f"{sorts} the entries of a build like that of {index.schema}.{index.table}.{index.index} in {BUFFER}"
        f" together: it writes {binary(predicted)} to temporary files, and {binary(now)} today"
    )


def _evidence(upgrade: Upgrade, largest: LargestBuild) -> Iterator[Evidence]:
    ddl = upgrade.facts.ddl
    sizes = "mysql.innodb_index_stats"
    yield Evidence(name="index_bytes", value=tidy(largest.build.file_bytes), unit="bytes", source=sizes)
    if ddl.builds:
        statements = "performance_schema.events_statements_summary_global_by_event_name"
        yield Evidence(name="alter_statements", value=tidy(ddl.builds), source=statements)
        if ddl.build_seconds is not None:
            yield Evidence(name="alter_seconds", value=tidy(ddl.build_seconds), unit="seconds", source=statements)
    for name, after in (("memory_of_a_build", False), ("memory_of_a_build_after", True)):
        server, buffer = (upgrade.after, BUFFER) if after else (upgrade.before, BUFFER)
        times = BUILD_PEAK
        if not server.has(_BEHAVIOUR):
            buffer, times = SORT_BUFFER, _BOUNDS.sort_buffers
        size = upgrade.number(buffer, after=after)
        if size is not None:
            yield Evidence(name=name, value=tidy(times * size), unit="bytes", source=f"{times:g} times {buffer}")


def _lines(upgrade: Upgrade, largest: LargestBuild, predicted: float) -> Iterator[OptionLine]:
    """A buffer that leaves one merge pass, where it saves enough."""
    threads, buffer = upgrade.number(THREADS, after=True), upgrade.number(BUFFER, after=True)
    enough = None if threads is None else largest.enough_buffer(threads)
    if threads is None or buffer is None or enough is None or enough <= buffer:
        return
    written = largest.build.written_bytes(enough, threads)
    if written <= _BOUNDS.worth * predicted:
        yield OptionLine(
            line=f"{BUFFER} = {tidy(enough)}",
            reason=f"a build of the largest index then writes {binary(written)} to temporary files, and takes up to"
            f" {binary(BUILD_PEAK * enough)} of memory; set it in the session of each large ALTER TABLE instead,"
            " where builds run at the same time",
        )
