"""Miss curves by hand, for what shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from advisor.pool.curve import NO_READS, TIMES, Curve, Estimate, Filled, Size

MIB = 2**20
POOL = 64 * MIB
AT = 1_700_003_600.0


def size(times: float, expected: float, width: float = 0.2, *, scans: float = 0.0, **tables: float) -> Size:
    """One whose bounds are ``width`` around what is expected; tables are in the schema shop."""
    return Size(
        times,
        POOL * times,
        estimate(expected, width),
        scans,
        {f"shop.{name}": estimate(reads, width) for name, reads in tables.items()},
    )


def estimate(expected: float, width: float = 0.2) -> Estimate:
    return Estimate(expected, expected * (1 - width), expected * (1 + width))


def curve(
    sizes: Sequence[Size] | None = None,
    *,
    reads: float = 400.0,
    filled: Mapping[float, float] | None = None,
    first_reads: Estimate = NO_READS,
    at: float = AT,
    seconds: float = 3600.0,
) -> Curve:
    """A curve whose reads halve where the pool doubles, unless told otherwise."""
    made = (
        tuple(sizes)
        if sizes is not None
        else tuple(
            size(times, reads / times, items=0.75 * reads / times, orders=0.25 * reads / times) for times in TIMES
        )
    )
    points = tuple(Filled(held, read) for held, read in (filled or {}).items())
    return Curve(at, seconds, POOL, 16384.0, reads, made, first_reads, points, ("rests on a test",))
