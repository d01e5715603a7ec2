"""Miss curves by hand, for what shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from advisor.pool.curve import NO_READS, TIMES, ExpectedReads, FilledPool, MissCurve, PoolSize, reads_by_table

MIB = 2**20
POOL = 64 * MIB
AT = 1_700_003_600.0


def bounded(expected: float, low: float, high: float) -> ExpectedReads:
    return ExpectedReads(expected=expected, low=low, high=high)


def estimate(expected: float, width: float = 0.2) -> ExpectedReads:
    """Bounds that are ``width`` around what is expected."""
    return bounded(expected, expected * (1 - width), expected * (1 + width))


def pool_size(
    times: float, reads: ExpectedReads, *, scans: float = 0.0, tables: Mapping[str, ExpectedReads] | None = None
) -> PoolSize:
    """A size with the reads of tables by ``schema.table``."""
    return PoolSize(
        times=times,
        bytes=POOL * times,
        pages_read_per_second=reads,
        scan_pages_read_per_second=scans,
        tables=reads_by_table(tables or {}),
    )


def size(times: float, expected: float, width: float = 0.2, *, scans: float = 0.0, **tables: float) -> PoolSize:
    """A size whose bounds are ``width`` around what is expected; tables are in the schema shop."""
    by_table = {f"shop.{name}": estimate(reads, width) for name, reads in tables.items()}
    return pool_size(times, estimate(expected, width), scans=scans, tables=by_table)


def curve(
    sizes: Sequence[PoolSize] | None = None,
    *,
    reads: float = 400.0,
    filled: Mapping[float, float] | None = None,
    first_reads: ExpectedReads = NO_READS,
    server: str = "mysql 9.7.4",
) -> MissCurve:
    """A curve whose reads halve where the pool doubles, unless other sizes are given."""
    if sizes is None:
        halving = {times: reads / times for times in TIMES}
        sizes = [size(times, read, items=0.75 * read, orders=0.25 * read) for times, read in halving.items()]
    return MissCurve(
        server=server,
        at=AT,
        watched_seconds=3600.0,
        pool_bytes=POOL,
        page_bytes=16384.0,
        pages_read_per_second=reads,
        first_pages_read_per_second=first_reads,
        sizes=tuple(sizes),
        filled=tuple(FilledPool(bytes=held, pages_read_per_second=read) for held, read in (filled or {}).items()),
        notes=("rests on a test",),
    )
