"""The overview: what the newest snapshots show, as HTTP serves it. Pure: a window has one overview."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from advisor.contract.recommendation import Frozen, Number
from advisor.contract.settings import SETTINGS
from advisor.facts.scans import scans
from advisor.observe.window import Window
from advisor.overview.activity import ChangeBuffer, Readers, change_buffer, readers
from advisor.overview.builds import Build, builds, unnamed
from advisor.overview.residents import Resident, residents
from advisor.overview.tables import SOURCES, TableOverview, tables
from exporter.collectors.builds import BUILDS
from exporter.collectors.cached_indexes import CACHED_INDEXES
from exporter.collectors.innodb_metrics import INNODB_METRICS
from exporter.collectors.parallel_readers import PARALLEL_READERS
from exporter.collectors.pools import POOLS
from exporter.collectors.variables import VARIABLES
from exporter.midpoint import old_target
from exporter.rows import number
from exporter.snapshot import SectionKey, Snapshot


class PoolOverview(Frozen):
    """One buffer pool instance."""

    pool: int = Field(description="The instance's number.")
    size_pages: int
    young_pages: int = Field(description="From the head of the LRU list to the midpoint.")
    old_pages: int = Field(description="From the midpoint to the tail; 0 in a list of less than 512 pages.")
    free_pages: int = Field(description="On the free list.")
    old_target_pages: int | None = Field(
        description="Length that innodb_old_blocks_pct steers the old sublist to, give or take 20 pages."
    )
    modified_pages: int = Field(description="Dirty pages, young or old.")


class Overview(Frozen):
    """What the newest snapshots say. Null where a source is not known: ``lacks`` says why."""

    at: float = Field(description="The newest snapshot's time, Unix seconds.")
    watched_seconds: float = Field(description="Length of the window that rates are taken over.")
    page_size: int | None = Field(description="innodb_page_size, bytes.")
    pools: tuple[PoolOverview, ...] | None = Field(description="The buffer pool instances.")
    settings: Mapping[str, Number | str] = Field(description="Every known setting that the server has.")
    residents: tuple[Resident, ...] | None = Field(
        description="The indexes with the most pages in the pool, and all others in one entry."
    )
    residents_lack: str | None = Field(description="Why these are not known.")
    residents_note: str | None = Field(description="What is counted, and how far the counts can be trusted.")
    tables: tuple[TableOverview, ...] | None = Field(description="The one that reads most first.")
    more_tables: int | None = Field(description="Tables beyond these; each partition counts as one.")
    change_buffer: ChangeBuffer | None
    readers: Readers | None
    builds: tuple[Build, ...] | None
    lacks: Mapping[str, str | None] = Field(description="For each part why it, or something of it, is not known.")


def overview(window: Window) -> Overview:
    """The overview of a window; rates are over the whole of it."""
    latest, scan_facts = window.latest, scans(window)
    top_residents, note = residents(latest)
    shown, more = tables(window, scan_facts)
    page_size = number(latest.setting("innodb_page_size"))
    residents_lack = None if top_residents is not None else _lack(latest, CACHED_INDEXES)
    return Overview(
        at=latest.at,
        watched_seconds=round(window.seconds, 3),
        page_size=None if page_size is None else int(page_size),
        pools=_pools(latest),
        settings=_settings(latest),
        residents=top_residents,
        residents_lack=residents_lack,
        residents_note=note,
        tables=shown,
        more_tables=more,
        change_buffer=change_buffer(window),
        readers=readers(window, scan_facts),
        builds=builds(window),
        lacks={
            "pools": _lack(latest, POOLS),
            "residents": residents_lack,
            "tables": _lack(latest, *SOURCES),
            "change_buffer": _lack(latest, VARIABLES, INNODB_METRICS),
            "readers": _lack(latest, PARALLEL_READERS),
            "builds": _lack(latest, BUILDS) or unnamed(latest),
        },
    )


def _pools(snapshot: Snapshot) -> tuple[PoolOverview, ...] | None:
    """The instances in the order of their numbers; None where they are not known.

    Pages that are neither young, old nor free hold no data: the adaptive hash index, locks, and compressed pages'
    frames.
    """
    pools = snapshot[POOLS]
    if pools is None:
        return None
    pct = number(snapshot.setting("innodb_old_blocks_pct"))
    return tuple(
        PoolOverview(
            pool=pool.pool,
            size_pages=pool.size_pages,
            young_pages=max(0, pool.database_pages - pool.old_pages),  # the server reads the two at different moments
            old_pages=pool.old_pages,
            free_pages=pool.free_pages,
            old_target_pages=None if pct is None else old_target(pool.database_pages, int(pct)),
            modified_pages=pool.modified_pages,
        )
        for pool in pools
    )


def _settings(snapshot: Snapshot) -> dict[str, Number | str]:
    values = {name: setting.read(snapshot.setting(name)) for name, setting in SETTINGS.items()}
    return {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in values.items()
        if value is not None
    }


def _lack(snapshot: Snapshot, *sources: SectionKey[Any]) -> str | None:
    """Why the first source that is not known is not, with its cure; None where all are known."""
    missing = next((source for source in sources if snapshot[source] is None), None)
    if missing is None:
        return None
    outcome = snapshot.outcomes.get(missing.name)
    if outcome is None or not outcome.reason:
        return f"{missing.name} has not been read"
    return outcome.reason if outcome.cure is None else f"{outcome.reason}: {outcome.cure}"
