"""Memory of the server, and of the page cache beside it, where the upgrade moves what takes it."""

from __future__ import annotations

from collections.abc import Iterator

from advisor.contract.recommendation import Evidence, tidy, tidy_or_none
from advisor.contract.settings import SETTINGS, json_value
from advisor.contract.templates import binary
from advisor.contract.upgrade import Cause, NotForetold, UpgradeEffect
from advisor.facts.base import metric, ratio, status
from advisor.facts.io import through_page_cache
from advisor.upgrade.upgrade import Upgrade

LOG_BUFFER, FLUSH_METHOD, ADAPTIVE_HASH = (
    "innodb_log_buffer_size",
    "innodb_flush_method",
    "innodb_adaptive_hash_index",
)
TEMPTABLE_RAM, TEMPTABLE_MMAP = "temptable_max_ram", "temptable_max_mmap"
_LEAST_READS = 10.0
"""A second: fewer have no cost that was measurable, as of merges (change-buffering-without-benefit)."""
_LEAST_SEARCHES = 1_000.0
"""A second: a descent takes microseconds, so that fewer are less than a hundredth of a core."""


def memory(upgrade: Upgrade) -> Iterator[UpgradeEffect | NotForetold]:
    """The log buffer, the query cache, temporary tables, the adaptive hash index and the page cache."""
    yield from _log_buffer(upgrade)
    yield from _query_cache(upgrade)
    yield from _temporary_tables(upgrade)
    yield from _adaptive_hash(upgrade)
    yield from _page_cache(upgrade)


def _log_buffer(upgrade: Upgrade) -> Iterator[UpgradeEffect]:
    """The server allocates it when it starts, whole (9.7.4 had 47 MiB more resident with 64 MiB than with 16)."""
    before, after = (upgrade.number(LOG_BUFFER, after=later) for later in (False, True))
    if before is None or after is None or before == after:
        return
    waits = status(upgrade.window, "innodb_log_waits")
    evidence = Evidence(name="log_waits", value=tidy(waits or 0.0), source="SHOW GLOBAL STATUS, Innodb_log_waits")
    yield UpgradeEffect(
        cause=Cause.DEFAULT,
        name=LOG_BUFFER,
        from_=tidy(before),
        to=tidy(after),
        summary=f"The server allocates a log buffer of {binary(after)} when it starts, and {binary(before)} today",
        evidence=() if waits is None else (evidence,),
        quantity="bytes of the log buffer",
        unit="bytes",
        now=tidy(before),
        predicted=tidy(after),
        low=tidy(after),
        high=tidy(after),
        model="allocated at the start",
        better=True if waits and after > before else None,
        references=(SETTINGS[LOG_BUFFER].entry.reference,),
    )


def _query_cache(upgrade: Upgrade) -> Iterator[UpgradeEffect]:
    """Its memory is free from MySQL 8.0.3 on."""
    size = upgrade.window.latest.setting("query_cache_size")
    if upgrade.before.mariadb or not upgrade.gains("data_dictionary") or size is None or float(size) <= 0.0:
        return
    yield UpgradeEffect(
        cause=Cause.REMOVAL,
        name="query_cache_size",
        from_=tidy(float(size)),
        summary=f"There is no query cache: its {binary(float(size))} are free, and what it answered is asked for anew",
        evidence=(
            Evidence(name="query_cache_size", value=tidy(float(size)), unit="bytes", source="SHOW GLOBAL VARIABLES"),
        ),
        references=("https://dev.mysql.com/doc/refman/5.7/en/query-cache.html",),
    )


def _temporary_tables(upgrade: Upgrade) -> Iterator[UpgradeEffect | NotForetold]:
    """Limits, of which nothing that is recorded tells how much is used."""
    ram, mmap = upgrade.settings.get(TEMPTABLE_RAM), upgrade.settings.get(TEMPTABLE_MMAP)
    if ram is not None and ram.after is not None and ram.before != ram.after and not isinstance(ram.after, str):
        yield UpgradeEffect(
            cause=Cause.DEFAULT if ram.before is not None else Cause.BEHAVIOUR,
            name=TEMPTABLE_RAM,
            from_=json_value(ram.before),
            to=tidy(ram.after),
            summary=f"Internal temporary tables take up to {binary(ram.after)} of memory together, beside the pool",
            quantity="most bytes of internal temporary tables in memory",
            unit="bytes",
            now=None if isinstance(ram.before, str) else tidy_or_none(ram.before),
            predicted=tidy(ram.after),
            low=0,
            high=tidy(ram.after),
            model="a limit",
            references=(SETTINGS[TEMPTABLE_RAM].entry.reference,),
        )
    if mmap is not None and mmap.moves:
        yield NotForetold(
            what=f"temporary tables that {TEMPTABLE_MMAP} = {json_value(mmap.after)} moves from mapped files into"
            " InnoDB's temporary tablespace, where they take pages of the pool and are written",
            reason="how much internal temporary tables take is not recorded",
            cure="SELECT * FROM performance_schema.memory_summary_global_by_event_name WHERE event_name ="
            " 'memory/temptable/physical_disk' shows today's most",
        )


def _adaptive_hash(upgrade: Upgrade) -> Iterator[UpgradeEffect]:
    """Off: lookups descend the tree. The pages read stay the same; the requests in the pool do not."""
    setting = upgrade.settings.get(ADAPTIVE_HASH)
    searches, descents = (metric(upgrade.window, f"adaptive_hash_searches{kind}") for kind in ("", "_btree"))
    hits = ratio(searches, upgrade.window.seconds)
    if (
        setting is None
        or not setting.moves
        or hits is None
        or hits < _LEAST_SEARCHES
        or searches is None
        or descents is None
    ):
        return
    yield UpgradeEffect(
        cause=Cause.DEFAULT,
        name=ADAPTIVE_HASH,
        from_=json_value(setting.before),
        to=json_value(setting.after),
        summary=f"{100.0 * searches / (searches + descents):.0f} % of the searches found their page by the adaptive"
        " hash index; they then descend the tree: more page requests for the same work, no more reads. Its pages are"
        " free",
        evidence=(
            Evidence(
                name="adaptive_hash_searches_per_second",
                value=tidy(hits),
                unit="searches per second",
                source="information_schema.INNODB_METRICS, adaptive_hash_searches",
            ),
        ),
        references=(SETTINGS[ADAPTIVE_HASH].entry.reference,),
    )


def _page_cache(upgrade: Upgrade) -> Iterator[UpgradeEffect]:
    """Without it, what it answers is read from the disk; its memory is free for the pool."""
    setting, reads = upgrade.settings.get(FLUSH_METHOD), upgrade.facts.pool.pages_read_per_second
    if setting is None or not setting.moves or reads is None or reads < _LEAST_READS:
        return
    if not through_page_cache(upgrade.window.latest) or not str(setting.after).startswith("O_DIRECT"):
        return
    seconds = upgrade.facts.machine.read_seconds_per_read
    evidence = [
        Evidence(
            name="pages_read_per_second",
            value=tidy(reads),
            unit="pages per second",
            source="information_schema.INNODB_BUFFER_POOL_STATS",
        )
    ]
    if seconds is not None:
        source = "performance_schema.file_summary_by_event_name, innodb_data_file without read-ahead"
        evidence.append(Evidence(name="seconds_per_read", value=tidy(seconds), unit="seconds", source=source))
    yield UpgradeEffect(
        cause=Cause.DEFAULT,
        name=FLUSH_METHOD,
        from_=json_value(setting.before),
        to=json_value(setting.after),
        summary="Data files are no longer read through the page cache: the pages that it answers today are read from"
        " the disk. Its memory is free for a larger innodb_buffer_pool_size",
        evidence=tuple(evidence),
        references=(SETTINGS[FLUSH_METHOD].entry.reference,),
    )
