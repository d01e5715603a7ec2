"""How one sees that a setting is in force, and what the server does otherwise than it is asked. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from advisor.contract.changes import SIZE_MAX
from advisor.contract.plan import Check
from advisor.contract.recommendation import Number, tidy
from advisor.contract.settings import SettingValue, setting_text
from advisor.facts.base import over_pools
from advisor.observe.window import Window
from advisor.plan.targets.target import SettingLine
from advisor.pool.settings import POOL_SIZE, size_as_set
from exporter.rows import number

_RESIZED = 0.9
"""Part of its size that a pool has at least in pages, but for one that is being resized: MariaDB's control blocks take
the most, 7 % of the smallest pools."""


def in_force(lines: Sequence[SettingLine]) -> Check | None:
    """The check that all settings are in force; None where one is the size of the pool, which moves after it."""
    if any(line.setting == POOL_SIZE for line in lines):
        return None
    values = {line.setting: line.after for line in lines}
    promql = [_expression(setting, value) for setting, value in values.items()]
    return Check(
        what=f"{' and '.join(f'{name} is {setting_text(name, _tidy(value))}' for name, value in values.items())}, "
        "on every member.",
        sql=f"SELECT {', '.join(f'@@GLOBAL.{setting}' for setting in values)}",
        promql=promql[0] + "".join(f" and ignoring (name, value) {other}" for other in promql[1:]),
    )


def _expression(setting: str, value: SettingValue) -> str:
    if isinstance(value, float):
        return f'innodb_setting{{name="{setting}"}} == {value:.17g}'
    return f'innodb_setting_info{{name="{setting}",value="{value}"}} == 1'


def _tidy(value: SettingValue) -> Number | str:
    return value if isinstance(value, str) else tidy(value)


def rounded(window: Window, lines: Iterable[SettingLine]) -> Iterator[str]:
    """What the server does otherwise than it is asked: it rounds the pool's size, or does not grow so far."""
    for line in lines:
        if line.setting != POOL_SIZE or not isinstance(line.after, float):
            continue
        size = size_as_set(window, line.after)
        if size != line.after:
            asked, given = (setting_text(POOL_SIZE, value) for value in (line.after, size))
            yield f"The server rounds {asked} to {given}: whole chunks of each instance."
        most = number(window.latest.setting(SIZE_MAX))
        if most and size > most:
            limit = setting_text(POOL_SIZE, most)
            yield f"It is beyond {SIZE_MAX}, {limit}: only a restart takes the pool there; at runtime nothing happens."


def under_way(window: Window) -> str | None:
    """Why the pool has not the size that its variable says; None where it has."""
    latest = window.latest
    pages, size = over_pools("size_pages")(latest), number(latest.setting(POOL_SIZE))
    page = number(latest.setting("innodb_page_size"))
    if not pages or not size or not page or _RESIZED * size <= pages * page <= size / _RESIZED:
        return None
    return (
        f"{POOL_SIZE} is {setting_text(POOL_SIZE, size)}, and the pool has {setting_text(POOL_SIZE, pages * page)} in "
        "pages: it is still being resized, or the server did less than it was asked; look at "
        "Innodb_buffer_pool_resize_status, and plan again when both agree"
    )
