"""Checks of captures of idle servers, and of an account without privileges."""

from __future__ import annotations

from lab.captures.checks.base import Numbers, Snapshots, pages_read, require


def idle(snapshots: Snapshots) -> Numbers:
    """Every source answered or does not exist here, and hardly any page was read."""
    for name, outcome in snapshots[-1].outcomes.items():
        require(outcome.failure in (None, "absent", "disabled"), f"{name} failed: {outcome.reason}")
    read = pages_read(snapshots)
    require(sum(read) < 100, f"the server read {sum(read)} pages")
    return {"pages_read": sum(read)}


def refused(snapshots: Snapshots) -> Numbers:
    """Sources that the account may not read fail with a reason and a cure."""
    outcomes = snapshots[-1].outcomes
    names = sorted(name for name, outcome in outcomes.items() if outcome.failure == "privilege")
    require(len(names) >= 5, f"only {names} were refused")
    for name in names:
        require(bool(outcomes[name].reason and outcomes[name].cure), f"{name} has no reason or no cure")
    return {"refused": names, "read": sorted(name for name, outcome in outcomes.items() if not outcome.failure)}
