"""Checks of captures of the change buffer."""

from __future__ import annotations

from itertools import pairwise

from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.collectors.indexes import INDEXES
from exporter.collectors.innodb_metrics import INNODB_METRICS
from exporter.collectors.pools import POOLS
from exporter.collectors.status import STATUS
from exporter.collectors.table_io import TABLE_IO
from lab.captures.checks.base import Numbers, Snapshots, counter_growth, pages_read, require


def merges(snapshots: Snapshots, *, least: float = 1.0, most: float = float("inf")) -> Numbers:
    """At least 200 merges, with ``least`` to ``most`` operations each."""
    done = counter_growth(snapshots, "ibuf_merges")
    operations = sum(counter_growth(snapshots, f"ibuf_merges_{kind}") for kind in ("insert", "delete_mark", "delete"))
    require(done >= 200, f"{done} merges")
    each = operations / done
    require(least <= each <= most, f"{each:.2f} operations a merge")
    return _insertion(snapshots) | {"merges": done, "operations_per_merge": round(each, 2)}


def no_merges(snapshots: Snapshots) -> Numbers:
    """Nothing was buffered: the changes read pages of the secondary indexes."""
    numbers = _insertion(snapshots)
    require(counter_growth(snapshots, "ibuf_merges") == 0, "there were merges")
    require(sum(pages_read(snapshots)) >= 1000, "hardly any page was read")
    return numbers


def resident(snapshots: Snapshots) -> Numbers:
    """Rows are inserted, nothing is buffered, and hardly any page is read."""
    numbers = _written(snapshots, rows=1000, least=0)
    rows, read = numbers["rows_inserted"], numbers["pages_read"]
    require(isinstance(rows, int) and isinstance(read, int) and read <= 0.1 * rows, f"{read} pages for {rows} rows")
    return numbers


def read_for_unique(snapshots: Snapshots) -> Numbers:
    """Insertions read pages, and all secondary indexes are unique."""
    kinds = snapshots[-1][INDEXES] or {}
    require(bool(kinds) and all(kind & 2 for kind in kinds.values()), "there is an index that is not unique")
    return _written(snapshots, rows=300, least=1000)


def looked_up(snapshots: Snapshots) -> Numbers:
    """Queries read pages, and few rows are inserted."""
    numbers = _written(snapshots, rows=1, least=1000)
    inserted = numbers["rows_inserted"]
    require(isinstance(inserted, int) and inserted < 500, f"{inserted} rows were inserted")
    return numbers


def mixed(snapshots: Snapshots) -> Numbers:
    """Insertions and queries read pages of the same table."""
    numbers = _written(snapshots, rows=500, least=1000)
    fetched = sum(_rows(snapshots, "fetched"))
    require(fetched >= 500, f"{fetched} rows were looked up")
    return numbers | {"rows_looked_up": fetched}


def deleted(snapshots: Snapshots) -> Numbers:
    """Deletions read pages, and nothing is inserted."""
    numbers = _written(snapshots, rows=0, least=1000)
    gone = sum(_rows(snapshots, "deleted"))
    require(gone >= 200, f"{gone} rows were deleted")
    return numbers | {"rows_deleted": gone}


def _rows(snapshots: Snapshots, kind: str) -> list[int]:
    """Rows fetched or deleted from one snapshot to the next."""
    counted = [sum(getattr(io, kind) for io in (snapshot[TABLE_IO] or {}).values()) for snapshot in snapshots]
    return [after - before for before, after in pairwise(counted)]


def growing(snapshots: Snapshots) -> Numbers:
    """The change buffer grows throughout, and part of it is merged."""
    sizes = [(snapshot[INNODB_METRICS] or {})["ibuf_size"] for snapshot in snapshots]
    require(sizes == sorted(sizes) and sizes[-1] - sizes[0] >= 30, f"ibuf_size went {sizes}")
    merges = counter_growth(snapshots, "ibuf_merges")
    require(merges > 0, "nothing was merged")
    return {"ibuf_size_pages": sizes, "merges": merges}


def _written(snapshots: Snapshots, *, rows: int, least: int) -> Numbers:
    first, last = (int((snapshots[end][STATUS] or {})["innodb_rows_inserted"]) for end in (0, -1))
    read = sum(pages_read(snapshots))
    require(last - first >= rows, f"{last - first} rows were inserted")
    require(read >= least, f"{read} pages were read")
    require(counter_growth(snapshots, "ibuf_merges") == 0, "there were merges")
    return {"rows_inserted": last - first, "pages_read": read}


def _insertion(snapshots: Snapshots) -> Numbers:
    sizes = snapshots[-1][INDEX_SIZES]
    secondary = sum(size.pages for index, size in (sizes.sizes if sizes else {}).items() if not index.clustered)
    pool = sum(pool.size_pages for pool in snapshots[-1][POOLS] or ())
    require(secondary > 1.5 * pool, f"{secondary} pages of secondary indexes in a pool of {pool}")
    return {
        "secondary_index_pages": secondary,
        "pool_pages": pool,
        "pages_read": sum(pages_read(snapshots)),
    }
