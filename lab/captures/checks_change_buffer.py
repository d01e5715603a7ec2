"""Whether a capture of the change buffer shows what its scenario is for; those it has always had are in checks.py."""

from __future__ import annotations

from exporter.collectors.indexes import INDEXES
from exporter.collectors.innodb_metrics import INNODB_METRICS
from exporter.collectors.status import STATUS
from lab.captures.checks import Numbers, Snapshots, ibuf_delta, pages_read, require


def resident(snapshots: Snapshots) -> Numbers:
    """Rows are inserted, nothing is buffered, and hardly a page is read."""
    numbers = _written(snapshots, rows=1000, least=0)
    rows, read = numbers["rows_inserted"], numbers["pages_read"]
    require(isinstance(rows, int) and isinstance(read, int) and read <= 0.1 * rows, f"{read} pages for {rows} rows")
    return numbers


def read_for_unique(snapshots: Snapshots) -> Numbers:
    """Pages are read for rows that are inserted, and all secondary indexes are unique."""
    kinds = snapshots[-1][INDEXES] or {}
    require(bool(kinds) and all(kind & 2 for kind in kinds.values()), "there is an index that is not unique")
    return _written(snapshots, rows=300, least=1000)


def looked_up(snapshots: Snapshots) -> Numbers:
    """Pages are read for queries, and few rows are inserted."""
    numbers = _written(snapshots, rows=1, least=1000)
    inserted = numbers["rows_inserted"]
    require(isinstance(inserted, int) and inserted < 500, f"{inserted} rows were inserted")
    return numbers


def growing(snapshots: Snapshots) -> Numbers:
    """The change buffer grows all the time, and some of it is merged."""
    sizes = [(snapshot[INNODB_METRICS] or {})["ibuf_size"] for snapshot in snapshots]
    require(sizes == sorted(sizes) and sizes[-1] - sizes[0] >= 30, f"ibuf_size went {sizes}")
    merges = ibuf_delta(snapshots, "ibuf_merges")
    require(merges > 0, "nothing was merged")
    return {"ibuf_size_pages": sizes, "merges": merges}


def _written(snapshots: Snapshots, *, rows: int, least: int) -> Numbers:
    first, last = (int((snapshots[end][STATUS] or {})["innodb_rows_inserted"]) for end in (0, -1))
    read = sum(pages_read(snapshots))
    require(last - first >= rows, f"{last - first} rows were inserted")
    require(read >= least, f"{read} pages were read")
    require(ibuf_delta(snapshots, "ibuf_merges") == 0, "there were merges")
    return {"rows_inserted": last - first, "pages_read": read}
