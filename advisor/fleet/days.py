"""What series of days say about the buffer pools of some servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from advisor.fleet.identity import ServerKey
from advisor.fleet.queries import FleetQuery
from advisor.fleet.reader import FleetReader
from advisor.fleet.series import Grid, QuerySeries
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
    """Of the sidecar's series, or where there are none, of mysqld_exporter's."""
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
TREND_FILLING = FleetQuery("trend-filling", f'{{__name__=~"{"|".join(_FILLING)}",$S}}[$M]', at_end=True)
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

Counters = Mapping[str, Mapping[float, float]]
"""``pages``, ``read`` and ``gets`` by time, Unix seconds."""


@dataclass(frozen=True, slots=True)
class Days:
    """What series of days say about a server.

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
    reads, gets = await reader.grouped(TREND_READS, keys), await reader.grouped(TREND_GETS, keys)
    known, sizes = await reader.grouped(TREND_KNOWN, keys), await reader.grouped(TREND_SIZES, keys)
    settings, filling = await reader.grouped(TREND_SETTINGS, keys), await reader.grouped(TREND_FILLING, keys)
    rise, rise_high = await reader.grouped(TREND_RISE, keys), await reader.grouped(TREND_RISE_HIGH, keys)
    days = {key: _on(known.get(key), reader.grid) for key in keys}
    lacking = {
        key: [at for at, points in zip(reader.grid.points, of, strict=False) if points]
        for key, of in days.items()
        if not all(of) or not of
    }
    coarse = await reader.downsampled(TREND_KNOWN, lacking)
    return {
        key: Days(
            reads=_value(reads.get(key)),
            gets=_value(gets.get(key)),
            known=days[key],
            sizes=tuple(value for series in sizes.get(key, ()) for _, value in series.points),
            settings=_settings(settings.get(key, ())),
            filling=_counters(filling.get(key, ())),
            downsampled=key in coarse,
            rises=_rises(rise.get(key, ()), rise_high.get(key, ())),
        )
        for key in keys
    }


def _value(series: tuple[QuerySeries, ...] | None) -> float | None:
    return max(each.value for each in series) if series else None


def _on(series: tuple[QuerySeries, ...] | None, daily: Grid) -> tuple[float, ...]:
    """A value for each day; 0 where there is none."""
    if not series:
        return ()
    values = {round(at): value for at, value in series[0].points}
    return tuple(values.get(round(at), 0.0) for at in daily.points)


def _settings(series: Sequence[QuerySeries]) -> dict[str, float]:
    """By name, whichever exporter says it: the sidecar's wins."""
    of_exporter = {
        each.labels["__name__"].removeprefix(VARIABLES_PREFIX): each.value
        for each in series
        if "__name__" in each.labels
    }
    return of_exporter | {each.labels["name"]: each.value for each in series if "name" in each.labels}


def _counters(filling: Sequence[QuerySeries]) -> Counters:
    """Those of the exporter, and of the scraper of an HA pair, that has the most points."""
    sources: dict[tuple[object, ...], dict[str, dict[float, float]]] = {}
    for series in filling:
        name = series.labels["__name__"]
        others = tuple(sorted(each for each in series.labels.items() if each[0] != "__name__"))
        sources.setdefault(("mysql_" in name, *others), {})[_FILLING[name]] = dict(series.points)
    return max(sources.values(), key=lambda each: len(each.get("pages", ())), default={})


def _rises(expected: Sequence[QuerySeries], high: Sequence[QuerySeries]) -> dict[float, tuple[float, float]]:
    most = {series.labels["times"]: series.value for series in high}
    return {
        float(series.labels["times"]): (series.value, most[series.labels["times"]])
        for series in expected
        if series.labels["times"] in most
    }
