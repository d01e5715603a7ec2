"""The order in which settings and the container's memory limit move, and the checks in between. Pure.

Grow: the limit first, then the pool. Shrink: the pool first, then the limit, once the memory is given back. The lab
carries both out on real servers in real memory cgroups: `make lab EXPERIMENT=plans`, docs/plan.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from advisor.contract.plan import Check, MemoryPlan, Patch, Step
from advisor.contract.recommendation import Change, Number
from advisor.contract.settings import setting_text
from advisor.contract.templates import binary, exact_binary
from advisor.facts.base import over_pools
from advisor.observe.window import Window
from advisor.plan.targets.target import taken_back
from advisor.pool.settings import POOL_SIZE
from exporter.rows import number
from exporter.server import Server

_IN_USE = "innodb_server_memory_bytes - ignoring (source) innodb_server_memory_available_bytes"
_POOL_PAGES = "sum without (pool) (innodb_buffer_pool_size_pages) * innodb_page_size_bytes"


@dataclass(frozen=True, slots=True)
class _Done:
    """When a step is done."""

    in_use: float = 0.95
    """Share of a lower limit that may be in use before the limit goes down."""
    resized: float = 0.9
    """Share of the change of the pool's size that its pages must show: sizes are rounded to chunks, and MariaDB's
    control blocks take a part."""


_DONE = _Done()


def steps(
    window: Window,
    changes: tuple[Change, ...],
    plan: MemoryPlan | None,
    settings: Step,
    limit: Patch | None,
    *,
    back: bool = False,
    one_restart: bool = False,
) -> tuple[Step, ...]:
    """The change of the settings with its check, and the memory's steps before or after it.

    Args:
        window: Of the plan.
        changes: Of the plan, on the way back, too.
        plan: What `memory` says of them.
        settings: The step that changes the settings, without its check.
        limit: The owner's patch of the limit, or its undo; None where the owner holds none.
        back: Whether these are the steps of the way back.
        one_restart: Whether the owner restarts the server for both patches, so that one restart can bring both.
    """
    moved = tuple(map(taken_back, changes)) if back else changes
    size = next((change for change in moved if change.setting == POOL_SIZE), None)
    done = _in_force(moved) if size is None else _resized(window, size, back=back)
    settings = settings.model_copy(update={"done": done})
    if plan is None or (plan.limit_then is not None and plan.limit_then == plan.limit_bytes):
        return (settings,)
    to, grows = (plan.limit_bytes if back else plan.limit_then), (plan.change_bytes > 0) is not back
    of_limit = Step(do=_limit_in_words(plan, to, grows=grows), patch=limit, done=_limit_seen(to, grows=grows))
    if one_restart:
        together = f"{settings.do.rstrip('.')}. Merge it together with the memory limit: the same restart brings both."
        settings = settings.model_copy(update={"do": together})
        return (of_limit, settings) if grows else (settings, of_limit)
    if grows:
        return of_limit, settings
    return settings, _given_back(window.latest.server, plan, to, back=back), of_limit


def _limit_in_words(plan: MemoryPlan, to: float | None, *, grows: bool) -> str:
    verb = "Raise" if grows else "Lower"
    if plan.limit_then is None or to is None:
        moved = binary(abs(plan.change_bytes))
        return f"{verb} the memory limit of the server's container by {moved}, if it has one: today's use is not known."
    return f"{verb} the memory limit of the server's container, and its request, to {exact_binary(to)}."


def _limit_seen(to: float | None, *, grows: bool) -> Check | None:
    if to is None:
        return None
    return Check(
        what=f"The sidecar sees the new limit: {'at least' if grows else 'at most'} {exact_binary(to)}.",
        promql=f"innodb_server_memory_bytes {'>=' if grows else '<='} {to:.0f}",
    )


def _given_back(server: Server, plan: MemoryPlan, to: float | None, *, back: bool) -> Step:
    """Wait until a lower limit has room for what is in use."""
    do = (
        "Wait until the server has given the memory back: a lower limit would have it killed before. Restart it if the"
        " memory does not come."
    )
    if server.has("pool_shrink_keeps_memory"):
        do = "Restart the server: it gives no memory of a smaller pool back while it runs (MDEV-32339)."
    if to is None or plan.used_bytes is None:
        what = f"The server's process has {binary(abs(plan.change_bytes))} less in use than before the change."
        return Step(do=do, done=Check(what=what))
    most = _DONE.in_use * to
    if back:
        most = min(to, max(most, plan.used_bytes))  # under the same limit it had as much in use
    what = f"At most {binary(most)} are in use, of which the kernel can take nothing back."
    return Step(do=do, done=Check(what=what, promql=f"{_IN_USE} <= {most:.0f}"))


def _in_force(changes: tuple[Change, ...]) -> Check:
    """Whether all settings are in force."""
    values = {change.setting: change.to for change in changes}
    promql = [_expression(setting, value) for setting, value in values.items()]
    return Check(
        what=f"{' and '.join(f'{name} is {setting_text(name, value)}' for name, value in values.items())}, "
        "on every member.",
        sql=f"SELECT {', '.join(f'@@GLOBAL.{setting}' for setting in values)}",
        promql=promql[0] + "".join(f" and ignoring (name, value) {other}" for other in promql[1:]),
    )


def _expression(setting: str, value: Number | str) -> str:
    if isinstance(value, str):
        return f'innodb_setting_info{{name="{setting}",value="{value}"}} == 1'
    return f'innodb_setting{{name="{setting}"}} == {value:.17g}'


def _resized(window: Window, change: Change, *, back: bool) -> Check | None:
    """Whether the pool has its new size, by the pages that the server counts, and not by the variable alone."""
    before, after = number(change.from_), number(change.to)
    if before is None or after is None:
        return None
    latest = window.latest
    pages, page, size = over_pools("size_pages")(latest), number(latest.setting("innodb_page_size")), before
    share = 1.0 if pages is None or page is None or back else pages * page / size
    least = share * (before + _DONE.resized * (after - before))
    return Check(
        what=(
            f"Both sizes are {exact_binary(after)}, but for whole chunks and, on MariaDB, control blocks; and the"
            " status is empty or says that the resizing is completed. The sizes alone do not tell: the variable has the"
            " new value at once, and MySQL counts the pages of a smaller pool before it has given up the others, which"
            " may take minutes under load."
        ),
        sql=_resize_sql(latest.server),
        promql=f"{_POOL_PAGES} >= {least:.0f}" if after > before else None,
    )


def _resize_sql(server: Server) -> str:
    """The variable, the pages, and what the server says of a resizing; NULL where it has no such status."""
    schema = "information_schema" if server.mariadb else "performance_schema"
    return (
        "SELECT @@GLOBAL.innodb_buffer_pool_size, SUM(POOL_SIZE) * @@GLOBAL.innodb_page_size,"
        f" (SELECT VARIABLE_VALUE FROM {schema}.global_status"
        " WHERE VARIABLE_NAME = 'Innodb_buffer_pool_resize_status')"
        " FROM information_schema.INNODB_BUFFER_POOL_STATS"
    )
