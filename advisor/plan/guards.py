"""Why a plan is refused: the change would not last, contradicts another one, or comes upon a resize. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from advisor.contract.recommendation import Change, Recommendation
from advisor.contract.settings import setting_text
from advisor.facts.base import over_pools
from advisor.observe.window import Window
from advisor.plan.targets.target import PlanRefused
from advisor.pool.settings import POOL_SIZE
from exporter.collectors.variable_origins import VARIABLE_ORIGINS
from exporter.rows import number

_PERSISTED = "mysqld-auto.cnf"
_RESIZED = 0.9
"""Part of its size that a pool has at least in pages, but for one that is being resized: MariaDB's control blocks take
the most, 7 % of the smallest pools."""


def refuse_unsafe(finding: Recommendation, window: Window, beside: Iterable[Recommendation]) -> None:
    """Nothing, where the changes can be planned.

    Args:
        finding: Whose changes are to be planned.
        window: Of the server.
        beside: The other findings that stand.

    Raises:
        PlanRefused: They would not last, contradict another finding, or come upon a resize under way.
    """
    for change in finding.changes:
        _refuse_contradiction(change, finding, beside)
        _refuse_shadowed(change, window)
        if change.setting == POOL_SIZE:
            _refuse_resizing(window)


def _refuse_contradiction(change: Change, finding: Recommendation, beside: Iterable[Recommendation]) -> None:
    for other in beside:
        for second in other.changes:
            if other.fingerprint == finding.fingerprint or second.setting != change.setting:
                continue
            if second.to != change.to:
                raise PlanRefused(
                    f"{other.rule} ({other.fingerprint}) sets {change.setting} to {second.to}, and this plan would set "
                    f"it to {change.to}: follow that one first, and look again"
                )


def _refuse_shadowed(change: Change, window: Window) -> None:
    """A place that wins over the owner's line: the next restart would bring the old value back."""
    section = window.latest[VARIABLE_ORIGINS]
    if section is None:
        return
    if change.setting in section.persisted:
        raise PlanRefused(
            f"{change.setting} is in {_PERSISTED}, which wins over every option file at the next start: run "
            f"RESET PERSIST {change.setting} on each member first, and plan again"
        )
    origin = section.origins.get(change.setting)
    if origin in ("command line", "environment"):
        raise PlanRefused(
            f"{change.setting} is set by the {origin}, which wins over every option file: take it out there, or change "
            "it there"
        )


def _refuse_resizing(window: Window) -> None:
    """The pool has not the size that its variable says."""
    latest = window.latest
    pages, size = over_pools("size_pages")(latest), number(latest.setting(POOL_SIZE))
    page = number(latest.setting("innodb_page_size"))
    if not pages or not size or not page or _RESIZED * size <= pages * page <= size / _RESIZED:
        return
    raise PlanRefused(
        f"{POOL_SIZE} is {setting_text(POOL_SIZE, size)}, and the pool has {setting_text(POOL_SIZE, pages * page)} in "
        "pages: it is still being resized, or the server did less than it was asked; look at "
        "Innodb_buffer_pool_resize_status, and plan again when both agree"
    )
