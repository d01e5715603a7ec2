"""Why a plan is refused: the change would not last, contradicts another one, or comes upon a resize. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from advisor.contract.recommendation import Change, Recommendation
from advisor.observe.window import Window
from advisor.plan.proposal import Proposal
from advisor.plan.settling import under_way
from advisor.plan.targets.target import PlanRefused
from advisor.pool.settings import POOL_SIZE
from exporter.collectors.variable_origins import VARIABLE_ORIGINS

_PERSISTED = "mysqld-auto.cnf"


def refuse_unsafe(proposal: Proposal, window: Window, beside: Iterable[Recommendation]) -> None:
    """Nothing, where the changes can be planned.

    Args:
        proposal: The changes.
        window: Of the server.
        beside: The other findings that stand.

    Raises:
        PlanRefused: They would not last, contradict another finding, or come upon a resize under way.
    """
    for change in proposal.changes:
        _refuse_contradiction(change, proposal.finding, beside)
        _refuse_shadowed(change, window)
        if change.setting == POOL_SIZE and (why := under_way(window)) is not None:
            raise PlanRefused(why)


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
