"""The conclusion of E5: runs compared with the published ones and the model's."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from advisor.models.change_buffer import Buffer, Changes, Steady, steady
from lab.experiments.base import Cell, Column, Conclusion, Expectation
from lab.experiments.e5.experiment import FITS, RANDOM, SETTINGS, TOO_LARGE
from lab.harness.records import Data

PUBLISHED = {"none": 858.01, "all": 866.13}
"""Transactions a second: seed 004, MySQL 8.4.1, means of three runs of ten minutes."""
PUBLISHED_RUN = {"transactions": 514_659, "ignored_errors": 715}
"""Its example run with none."""
PUBLISHED_MERGES = {"merges": 1281, "merged_delete_marks": 1281}
"""Merges of its example run with all; no inserts and no deletes."""
DEFAULT_TABLE_SIZE = 10_000
"""Rows of sysbench's load without --table-size (oltp_common.lua)."""
RESIDENT = 0.02
"""The most pages read per transaction if all of them are in the pool."""
MORE_PAGES = 1.65
"""The largest ratio to the model's: small pools read the buffer's own pages again (change-buffering-would-help)."""

COLUMNS = (
    Column("regime"),
    Column("innodb_change_buffering"),
    Column("published, transactions/s", ",.1f"),
    Column("ours, transactions/s"),
    Column("published, all / none", ".2f"),
    Column("ours, all / none", ".2f"),
    Column("pages read"),
    Column("pages a transaction", ".3f"),
    Column("model, pages a transaction", ".3f"),
    Column("merges"),
    Column("inserts merged"),
    Column("delete marks"),
    Column("deletes"),
    Column("published, operations a merge", ".2f"),
    Column("ours, operations a merge", ".2f"),
    Column("model, operations a merge", ".2f"),
)


@dataclass(frozen=True)
class LoadResult:
    """The runs of a load under one setting: sums, and the median of the speeds.

    Attributes:
        per_second: Transactions a second, or rows if the lab inserts them itself.
        cached: Leaf pages in the pool, of the indexes with random keys; None if not measured.
    """

    per_second: float
    seconds: float
    transactions: float
    pages_read: float
    merges: float
    merged_inserts: float
    merged_delete_marks: float
    merged_deletes: float
    undo_reads: float
    system_reads: float
    ignored_errors: float
    cached: float | None

    @property
    def pages_a_transaction(self) -> float:
        """Pages read per transaction."""
        return self.pages_read / self.transactions

    @property
    def operations(self) -> float:
        """Changes applied by merges."""
        return self.merged_inserts + self.merged_delete_marks + self.merged_deletes

    @property
    def operations_a_merge(self) -> float | None:
        """Operations per merge; None without merges."""
        return self.operations / self.merges if self.merges else None


@dataclass(frozen=True)
class Regime:
    """A load on one table.

    Attributes:
        name: In words.
        published: Published transactions a second by setting; None without any.
        by_setting: The results by setting.
        faster: Speed with all by speed with none: the median over pairs of consecutive runs.
        changes_each: A transaction's changes to random places of the indexes.
        leaf_pages: Leaf pages of these indexes.
        entry_bytes: Bytes of an entry.
        buffer: The settings that limit the change buffer.
    """

    name: str
    published: Mapping[str, float] | None
    by_setting: Mapping[str, LoadResult]
    faster: float
    changes_each: float
    leaf_pages: float
    entry_bytes: float
    buffer: Buffer

    def fewer_pages(self) -> float:
        """Pages a transaction with none, by those with all."""
        none, buffered = (self.by_setting[each].pages_a_transaction for each in SETTINGS)
        return none / buffered

    def model(self, setting: str) -> Steady | None:
        """Fed with the rate of changes to leaf pages that are not in the pool; None where that is not known.

        With all, these are the changes that merges applied, as the advisor takes them.
        """
        found = self.by_setting[setting]
        if found.cached is None:
            return None
        absent = self.leaf_pages - found.cached
        changes = found.operations
        buffer = self.buffer
        if setting == "none":
            changes = found.transactions * self.changes_each * absent / self.leaf_pages
            buffer = replace(buffer, max_size_pct=0.0)
        return steady(buffer, Changes(changes / found.seconds, absent, self.entry_bytes))

    def foretold_pages(self, setting: str) -> float | None:
        """A transaction, by the model."""
        found, model = self.by_setting[setting], self.model(setting)
        return None if model is None else model.reads_per_second * found.seconds / found.transactions


def conclude(parts: Mapping[str, Data]) -> Conclusion:
    """One row a load and setting."""
    typed = _regime(parts[FITS], "typed", "fits: as published, its first 10,000 rows", 4.0, PUBLISHED)
    whole = _regime(parts[FITS], "whole", "fits: all of its rows", 4.0)
    inserts = _regime(parts[TOO_LARGE], "oltp_insert", "does not fit: oltp_insert, one index", 1.0)
    random = _regime(parts[RANDOM], "insert_rows", "does not fit: rows with three random keys", 3.0)
    regimes = (typed, whole, inserts, random)
    return Conclusion(
        columns=COLUMNS,
        rows=tuple(_row(regime, setting) for regime in regimes for setting in SETTINGS),
        checks=tuple(_checks(typed, whole, inserts, random)),
        differences=tuple(_differences(typed, whole, inserts, random, _built(parts[FITS]))),
        plot={
            "regimes": [regime.name for regime in regimes],
            "published": PUBLISHED,
            "per_second": {each: [round(r.by_setting[each].per_second) for r in regimes] for each in SETTINGS},
            "pages": {each: [round(r.by_setting[each].pages_a_transaction, 4) for r in regimes] for each in SETTINGS},
            "model_pages": {each: [_rounded(r.foretold_pages(each)) for r in regimes] for each in SETTINGS},
        },
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _regime(
    part: Data, load: str, name: str, changes_each: float, published: Mapping[str, float] | None = None
) -> Regime:
    pairs = zip(*(part["runs"][load][setting] for setting in SETTINGS), strict=True)
    return Regime(
        name=name,
        published=published,
        by_setting={setting: _setting(part["runs"][load][setting]) for setting in SETTINGS},
        faster=statistics.median(_speed(buffered) / _speed(none) for none, buffered in pairs),
        changes_each=changes_each,
        leaf_pages=part["random_leaf_pages"],
        entry_bytes=part["entry_bytes"],
        buffer=Buffer(part["pool_pages"], part["page_bytes"], part["max_size_pct"], part["io_capacity"]),
    )


def _speed(run: Mapping[str, float]) -> float:
    return run["transactions"] / run["seconds"]


def _setting(runs: list[Mapping[str, float]]) -> LoadResult:
    def total(name: str) -> float:
        return sum(run.get(name, 0.0) for run in runs)

    return LoadResult(
        per_second=statistics.median(_speed(run) for run in runs),
        seconds=total("seconds"),
        transactions=total("transactions"),
        pages_read=total("pages_read"),
        merges=total("merges"),
        merged_inserts=total("merged_inserts"),
        merged_delete_marks=total("merged_delete_marks"),
        merged_deletes=total("merged_deletes"),
        undo_reads=total("undo_reads"),
        system_reads=total("system_reads"),
        ignored_errors=total("ignored_errors"),
        cached=statistics.mean(run["cached"] for run in runs) if all("cached" in run for run in runs) else None,
    )


def _built(part: Data) -> float:
    """Leaf pages of the index on k as its build left them, over all runs with all."""
    return float(sum(run["built_leaf_pages"] for run in part["runs"]["typed"]["all"]))


def _row(regime: Regime, setting: str) -> tuple[Cell, ...]:
    found, published, model = regime.by_setting[setting], regime.published, regime.model(setting)
    buffered = setting == "all"
    return (
        regime.name,
        setting,
        published[setting] if published else None,
        found.per_second,
        published["all"] / published["none"] if published and buffered else None,
        regime.faster if buffered else None,
        found.pages_read,
        found.pages_a_transaction,
        regime.foretold_pages(setting),
        found.merges,
        found.merged_inserts,
        found.merged_delete_marks,
        found.merged_deletes,
        PUBLISHED_MERGES["merged_delete_marks"] / PUBLISHED_MERGES["merges"] if published and buffered else None,
        found.operations_a_merge if buffered else None,
        model.operations_per_merge if model is not None and buffered else None,
    )


def _checks(typed: Regime, whole: Regime, inserts: Regime, random: Regime) -> Iterator[Expectation]:
    for regime in (typed, whole):
        yield Expectation(f"{regime.name}: speed, all / none", regime.faster, 0.7, 1.4)
    for setting in SETTINGS:
        pages = whole.by_setting[setting].pages_a_transaction
        yield Expectation(f"{whole.name}: pages read a transaction with {setting}", pages, most=RESIDENT)
    none, merged = (typed.by_setting[setting] for setting in SETTINGS)
    yield Expectation(f"{typed.name}: pages read, none / all", none.pages_read / max(merged.pages_read, 1.0), 0.8, 1.25)
    yield Expectation(f"{typed.name}: pages merged with all", merged.merges, least=1)
    yield Expectation(f"{typed.name}: operations a merge", merged.operations_a_merge or 0.0, 1.0, 1.3)
    for regime in (inserts, random):
        yield Expectation(f"{regime.name}: pages read a transaction, none / all", regime.fewer_pages(), least=3.0)
        yield Expectation(f"{regime.name}: speed, all / none", regime.faster, least=1.2)
        model = regime.model("all")
        if model is not None:
            ratio = (regime.by_setting["all"].operations_a_merge or 0.0) / model.operations_per_merge
            yield Expectation(f"{regime.name}: operations a merge, measured / model", ratio, 0.7, 1.4)
        for setting in SETTINGS:
            pages = regime.by_setting[setting].pages_a_transaction / (regime.foretold_pages(setting) or 1.0)
            yield Expectation(f"{regime.name}: pages read with {setting}, measured / model", pages, 0.7, MORE_PAGES)


def _differences(typed: Regime, whole: Regime, inserts: Regime, random: Regime, built: float) -> Iterator[str]:
    errors, published_errors = typed.by_setting["none"], PUBLISHED_RUN["ignored_errors"]
    others = whole.by_setting["none"]
    rate = errors.ignored_errors / errors.transactions
    if rate > 5 * others.ignored_errors / others.transactions:
        yield (
            f"The published load went to {DEFAULT_TABLE_SIZE:,} of the ten million rows: its command line has no"
            f" --table-size, and this is sysbench's default. Its deadlocks confirm it:"
            f" {published_errors} in {PUBLISHED_RUN['transactions']:,} transactions"
            f" ({published_errors / PUBLISHED_RUN['transactions']:.2%}). Here {errors.ignored_errors:.0f} in"
            f" {errors.transactions:,.0f} ({rate:.2%}) as published, and {others.ignored_errors:.0f} in"
            f" {others.transactions:,.0f} with the load on all rows."
        )
    merged = typed.by_setting["all"]
    marks = merged.merged_delete_marks / max(merged.operations, 1.0)
    if marks > 0.8 and merged.pages_read <= built:
        yield (
            f"The published experiment merged one operation at a time ({PUBLISHED_MERGES['merges']:,} merges of"
            f" {PUBLISHED_MERGES['merged_delete_marks']:,} delete marks) and saved nothing. Here, too, {marks:.0%} of"
            f" the merged operations are delete marks: {merged.operations:,.0f} operations by {merged.merges:,.0f}"
            " merges. Only full pages that the build of the index on k left on disk are read, each of them once; the"
            f" index has {built:,.0f} leaf pages, over all of these runs. An UPDATE's delete mark is buffered, but the"
            " new key after it is not buffered for a full page (ibuf_index_page_calc_free_from_bits), so the page is"
            " read at once. Pages read:"
            f" {typed.by_setting['none'].pages_read:,.0f} with none, {merged.pages_read:,.0f} with all."
        )
    pages = max(whole.by_setting[setting].pages_a_transaction for setting in SETTINGS)
    if pages < RESIDENT:
        yield (
            "More rows would not have changed this: on all rows of a table in the pool, a transaction read at most"
            f" {pages:.4f} pages, and {whole.by_setting['all'].merges:,.0f} pages were merged with all."
        )
    for regime in (inserts, random):
        yield from _where_it_helps(regime)


def _where_it_helps(regime: Regime) -> Iterator[str]:
    none, buffered = (regime.by_setting[setting] for setting in SETTINGS)
    if regime.fewer_pages() > 1.5 and buffered.operations_a_merge:
        yield (
            f"{regime.name}: the indexes have {regime.leaf_pages:,.0f} leaf pages, the pool has"
            f" {regime.buffer.pool_pages:,.0f}. With none a transaction or row read {none.pages_a_transaction:.2f}"
            f" pages, with all {buffered.pages_a_transaction:.2f}: a merge applied"
            f" {buffered.operations_a_merge:.1f} operations. On the same disk all was {regime.faster:.1f} times as"
            " fast."
        )
    foretold = regime.foretold_pages("all")
    if foretold is not None and buffered.pages_a_transaction > 1.2 * foretold:
        other = buffered.undo_reads + buffered.system_reads
        yield (
            f"{regime.name}: more pages were read with all than the model predicts, {buffered.pages_a_transaction:.3f}"
            f" per transaction or row, not {foretold:.3f}. Of {buffered.pages_read:,.0f} pages {buffered.merges:,.0f}"
            f" were merged. {buffered.undo_reads:,.0f} reads were of undo pages and {buffered.system_reads:,.0f} of the"
            f" system tablespace, which holds the change buffer; without them the result is"
            f" {(buffered.pages_read - other) / buffered.transactions:.3f}."
        )
