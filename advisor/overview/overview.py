"""The overview: all parts together, as HTTP serves them."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from advisor.contract.recommendation import Frozen, Number
from advisor.contract.settings import SETTINGS
from advisor.facts.scans import scans
from advisor.observe.window import Window
from advisor.overview.activity import ChangeBuffer, Readers, change_buffer, readers
from advisor.overview.builds import Build, builds
from advisor.overview.lacks import why
from advisor.overview.pools import Pool, pools
from advisor.overview.residents import Resident, residents
from advisor.overview.tables import TableOverview, tables
from exporter.collectors.innodb_metrics import INNODB_METRICS
from exporter.collectors.parallel_readers import PARALLEL_READERS
from exporter.collectors.pools import POOLS
from exporter.collectors.variables import VARIABLES
from exporter.rows import number


class Overview(Frozen):
    """What the newest snapshots say. Null where a source is not known: ``lacks`` says why."""

    at: float = Field(description="The newest snapshot's time, Unix seconds.")
    watched_seconds: float = Field(description="Length of the window that rates are taken over.")
    page_size: int | None = Field(description="innodb_page_size, bytes.")
    pools: tuple[Pool, ...] | None = Field(description="The buffer pool instances.")
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
    latest, found = window.latest, scans(window)
    held = residents(latest)
    building, lack = builds(window)
    listed = tables(window, found, held)
    page = number(latest.setting("innodb_page_size"))
    return Overview(
        at=latest.at,
        watched_seconds=round(window.seconds, 3),
        page_size=None if page is None else int(page),
        pools=pools(latest),
        settings=_settings(window),
        residents=held.top,
        residents_lack=held.lack,
        residents_note=held.note,
        tables=listed.shown,
        more_tables=listed.more,
        change_buffer=change_buffer(window),
        readers=readers(window, found),
        builds=building,
        lacks={
            "pools": why(latest, POOLS),
            "residents": held.lack,
            "tables": listed.lack,
            "change_buffer": why(latest, VARIABLES, INNODB_METRICS),
            "readers": why(latest, PARALLEL_READERS),
            "builds": lack,
        },
    )


def _settings(window: Window) -> dict[str, Number | str]:
    found = {name: setting.read(window.latest.setting(name)) for name, setting in SETTINGS.items()}
    return {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in found.items()
        if value is not None
    }
