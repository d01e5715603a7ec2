"""The series of thirty days about the buffer pools of some servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from advisor.fleet.identity import ServerKey
from advisor.fleet.queries import FleetQuery
from advisor.fleet.reader import FleetReader, Labels, Points, ServerSeries
from exporter.mysqld_exporter_names import VARIABLES_PREFIX

COUNT = 30
"""Days that are looked at: a job of the month is among them."""
SECONDS = COUNT * 86_400.0
_FILLING = {
    "instance:innodb_buffer_pool_pages:filling": "pages",
    "instance:innodb_buffer_pool_pages_read:filling": "read",
    "instance:innodb_buffer_pool_gets:filling": "gets",
    "instance:mysql_global_status_buffer_pool_pages:filling": "pages",
    "instance:mysql_global_status_innodb_pages_read:filling": "read",
    "instance:mysql_global_status_innodb_buffer_pool_read_requests:filling": "gets",
}

POOL_SETTINGS = (
    "innodb_adaptive_hash_index",
    "innodb_buffer_pool_chunk_size",
    "innodb_buffer_pool_dump_pct",
    "innodb_buffer_pool_instances",
    "innodb_buffer_pool_load_at_startup",
    "innodb_buffer_pool_size",
    "innodb_lru_scan_depth",
    "innodb_page_size",
)
_POOL_SETTINGS = "|".join(POOL_SETTINGS)
_RISE = "instance_times:innodb_advisor_curve_pages_read_per_second:rise"


def _either(text: str, sidecar: str, mysqld_exporter: str) -> str:
    """Of the sidecar's series; of mysqld_exporter's for servers without these."""
    return " or ".join(f"max by ($I) ({text.replace('@', name)})" for name in (sidecar, mysqld_exporter))


_READS_OF_DAYS = (
    "instance:innodb_buffer_pool_pages_read:rate5m",
    "instance:mysql_global_status_innodb_pages_read:rate5m",
)
_GETS_OF_DAYS = (
    "instance:innodb_buffer_pool_gets:rate5m",
    "instance:mysql_global_status_innodb_buffer_pool_read_requests:rate5m",
)
_SIZES = ("innodb_buffer_pool_size_bytes", "mysql_global_variables_innodb_buffer_pool_size")
_HIGH = "quantile_over_time(0.95, @{$S}[$M:5m])"

TREND_READS = FleetQuery("trend-reads", _either(_HIGH, *_READS_OF_DAYS), at_end=True)
TREND_GETS = FleetQuery("trend-gets", _either(_HIGH, *_GETS_OF_DAYS), at_end=True)
TREND_KNOWN = FleetQuery("trend-known", _either("count_over_time(@{$S}[$D])", *_READS_OF_DAYS))
TREND_SIZES = FleetQuery("trend-sizes", _either("last_over_time(@{$S}[5m])", *_SIZES))
TREND_SETTINGS = FleetQuery(
    "trend-settings",
    f'max by ($I, name) (last_over_time(innodb_setting{{name=~"{_POOL_SETTINGS}",$S}}[5m])) or max by ($I, __name__)'
    f' (last_over_time({{__name__=~"{VARIABLES_PREFIX}({_POOL_SETTINGS})",$S}}[5m]))',
    ("name",),
    at_end=True,
)
# Each exporter, and each scraper of an HA pair, has counters of its own.
TREND_FILLING = FleetQuery("trend-filling", f'{{__name__=~"{"|".join(_FILLING)}",$S}}[$M]', labels=None, at_end=True)
TREND_RISE = FleetQuery(
    "trend-rise", f"max by ($I, times) (quantile_over_time(0.95, {_RISE}{{$S}}[$M]))", ("times",), at_end=True
)
TREND_RISE_HIGH = FleetQuery(
    "trend-rise-high", f"max by ($I, times) (max_over_time({_RISE}_high{{$S}}[$M]))", ("times",), at_end=True
)
QUERIES = (
    TREND_READS,
    TREND_GETS,
    TREND_KNOWN,
    TREND_SIZES,
    TREND_SETTINGS,
    TREND_FILLING,
    TREND_RISE,
    TREND_RISE_HIGH,
)
"""Of the recording rules' series, where --may-read is given: ``$M`` is 30 days, ``$D`` one."""

Counters = Mapping[str, Points]
"""``pages``, ``read`` and ``gets`` by time, Unix seconds."""


@dataclass(frozen=True, slots=True)
class Days:
    """A server over thirty days.

    Attributes:
        reads, gets: 95th percentile of pages read and of page gets a second; None without recorded series.
        known: Recorded points on each day, the oldest day first; empty without recorded series.
        sizes: innodb_buffer_pool_size on each day.
        settings: POOL_SETTINGS at the end, as far as they are known; numbers.
        filling: Of each exporter and scraper, the counters while the pool filled.
        downsampled: Whether some days are known of downsampled data alone.
        rises: By multiple of today's pool, the pages a second that the sidecar's miss curve predicts in addition: the
            95th percentile of what it expects, and the most of any hour.
    """

    reads: float | None = None
    gets: float | None = None
    known: tuple[float, ...] = ()
    sizes: tuple[float, ...] = ()
    settings: Mapping[str, float] = field(default_factory=dict)
    filling: Counters = field(default_factory=dict)
    downsampled: bool = False
    rises: Mapping[float, tuple[float, float]] = field(default_factory=dict)


async def ask(reader: FleetReader, keys: tuple[ServerKey, ...]) -> dict[ServerKey, Days]:
    """Ask about some servers; the reader's grid has the end of each day.

    Raises:
        QueryError: A query got no answer, or only a part: a restart that is not known of would be no objection.
    """
    servers = await reader.series(keys, QUERIES)
    recorded = {key: series.series(TREND_KNOWN.name).get((), {}) for key, series in servers.items()}
    days = reader.grid.points
    lacking = {key: points for key, points in recorded.items() if not all(points.get(day) for day in days)}
    coarse = await reader.downsampled(TREND_KNOWN, lacking)
    return {
        key: Days(
            reads=series.value(TREND_READS.name, days[-1]),
            gets=series.value(TREND_GETS.name, days[-1]),
            known=tuple(recorded[key].get(day, 0.0) for day in days) if recorded[key] else (),
            sizes=tuple(series.series(TREND_SIZES.name).get((), {}).values()),
            settings=_settings(series, days[-1]),
            filling=_filling(series),
            downsampled=key in coarse,
            rises=_rises(series, days[-1]),
        )
        for key, series in servers.items()
    }


def _settings(series: ServerSeries, end: float) -> dict[str, float]:
    """By name, whichever exporter has it: the sidecar's wins."""
    numbers = {name: series.value(f"{VARIABLES_PREFIX}{name}", end, "") for name in POOL_SETTINGS}
    numbers |= {name: value for (name,), value in series.values(TREND_SETTINGS.name, end)}
    return {name: value for name, value in numbers.items() if value is not None}


def _filling(series: ServerSeries) -> Counters:
    """The counters of the exporter, and of the scraper of an HA pair, that has the most points."""
    sources: dict[tuple[bool, Labels], dict[str, Points]] = {}
    for metric, counter in _FILLING.items():
        for labels, points in series.series(metric).items():
            sources.setdefault(("mysql_" in metric, labels), {})[counter] = points
    return max(sources.values(), key=lambda counters: len(counters.get("pages", ())), default={})


def _rises(series: ServerSeries, end: float) -> dict[float, tuple[float, float]]:
    most = dict(series.values(TREND_RISE_HIGH.name, end))
    return {
        float(labels[0]): (expected, most[labels])
        for labels, expected in series.values(TREND_RISE.name, end)
        if labels in most
    }
