"""The pool after a restart: what a dump brings back, and how long its load takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from advisor.contract.recommendation import Evidence, tidy, tidy_or_none
from advisor.contract.settings import json_value
from advisor.contract.templates import duration
from advisor.contract.upgrade import Cause, NotForetold, OptionLine, UpgradeEffect
from advisor.pool.dump import DUMP_PCT, IO_CAPACITY, SWITCHES, THROTTLED, DumpLoad
from advisor.upgrade.upgrade import Upgrade

_MANUAL = "https://dev.mysql.com/doc/refman/8.4/en/innodb-preload-buffer-pool.html"


@dataclass(frozen=True, slots=True)
class _Bounds:
    least_pages: float = 1_000.0
    """Young pages that are read again after a restart: fewer do not matter (warmup-disabled)."""
    least_seconds: float = 10.0
    """Change of a load's duration: less is lost among the other work of a start."""
    error: float = 0.2
    """Of the seconds of a throttled load. Measured on MySQL 9.7.4 beside 300 and 1,100 writes a second, at 200: 200 and
    195 pages a second; and 5,500 without any write, as on MySQL 5.6.24 with them."""


_BOUNDS = _Bounds()


def warm_up(upgrade: Upgrade) -> Iterator[UpgradeEffect | NotForetold]:
    """Pages that a restart brings back, and the seconds of their load."""
    before, after = _warm_up(upgrade, after=False), _warm_up(upgrade, after=True)
    pool = upgrade.facts.pool
    if before is None or after is None or pool.list_pages is None or pool.old_pages is None:
        return
    if before.share != after.share:
        yield from _kept(upgrade, before, after, pool.list_pages, pool.list_pages - pool.old_pages)
    if after.share and before.share:
        yield from _loaded(upgrade, before, after, pool.list_pages)


def _warm_up(upgrade: Upgrade, *, after: bool) -> DumpLoad | None:
    """None where a setting is not known."""
    return DumpLoad.of(upgrade.after if after else upgrade.before, partial(upgrade.value, after=after))


def _kept(
    upgrade: Upgrade, before: DumpLoad, after: DumpLoad, list_pages: float, young: float
) -> Iterator[UpgradeEffect | NotForetold]:
    """Young pages that are read again after a restart, at most, as by the rule warmup-disabled."""
    now, then = (max(0.0, young - warm_up.share * list_pages) for warm_up in (before, after))
    if abs(then - now) < _BOUNDS.least_pages:
        return
    name = next((name for name in (*SWITCHES, DUMP_PCT) if upgrade.settings[name].moves), DUMP_PCT)
    setting = upgrade.settings[name]
    worse = then > now
    line = OptionLine(
        line=f"{DUMP_PCT} = {min(100.0, 100.0 * young / list_pages):.0f}", reason="a dump of the whole young sublist"
    )
    yield UpgradeEffect(
        cause=Cause.DEFAULT,
        name=name,
        from_=json_value(setting.before),
        to=json_value(setting.after),
        summary=f"A restart brings back {100.0 * after.share:.0f} % of the pool from a dump, and"
        f" {100.0 * before.share:.0f} % today",
        evidence=(
            Evidence(
                name="young_pages",
                value=tidy(young),
                unit="pages",
                source="information_schema.INNODB_BUFFER_POOL_STATS",
            ),
        ),
        quantity="young pages that are read again after a restart, at most",
        unit="pages",
        now=tidy(now),
        predicted=tidy(then),
        low=0,
        high=tidy(then),
        model="share of the list",
        better=not worse,
        keep=(line,) if worse else (),
        references=(_MANUAL,),
    )


def _loaded(
    upgrade: Upgrade, before: DumpLoad, after: DumpLoad, list_pages: float
) -> Iterator[UpgradeEffect | NotForetold]:
    """Seconds of the load beside writes; only of a server that writes."""
    read_seconds = upgrade.facts.machine.read_seconds_per_read
    now, then = (warm_up.seconds(list_pages, read_seconds) for warm_up in (before, after))
    if not upgrade.facts.io.pages_written_per_second or abs((then or 0.0) - (now or 0.0)) < _BOUNDS.least_seconds:
        return
    setting = upgrade.settings[IO_CAPACITY]
    throttled = after.pages_per_second
    speed = "as fast as it can" if throttled is None else f"at most {throttled:,.0f} pages a second"
    today = "" if now is None else f", and takes {duration(now)} today"
    measured = (
        {}
        if then is None
        else {
            "quantity": "seconds of the load of the dump after a restart, beside writes",
            "unit": "seconds",
            "predicted": tidy(then),
            "low": tidy((1.0 - _BOUNDS.error) * then),
            "high": tidy((1.0 + _BOUNDS.error) * then),
            "model": "innodb_io_capacity",
        }
    )
    yield UpgradeEffect(
        cause=Cause.DEFAULT if before.pages_per_second and throttled else Cause.BEHAVIOUR,
        name=IO_CAPACITY if before.pages_per_second and throttled else THROTTLED,
        from_=json_value(setting.before),
        to=json_value(setting.after),
        summary=f"After a restart the load of the dump reads {speed} beside writes"
        + ("" if then is None else f": {duration(then)}")
        + today,
        evidence=(
            Evidence(
                name="pages_of_the_dump",
                value=tidy(after.share * list_pages),
                unit="pages",
                source=f"{DUMP_PCT}, and DATABASE_PAGES of information_schema.INNODB_BUFFER_POOL_STATS",
            ),
        ),
        now=tidy_or_none(now),
        better=(then or 0.0) < (now or 0.0),
        references=(_MANUAL,),
        **measured,
    )
