"""Changes that did harm and are still in force, for the rule change-did-harm."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from advisor.contract import changes
from advisor.contract.recommendation import tidy
from advisor.contract.settings import SETTINGS
from advisor.contract.templates import exact_binary
from advisor.facts.beyond_window import HarmFacts
from advisor.ledger.entry import Changed, Compared, Outcome, Result
from advisor.ledger.words import named, rise
from exporter.snapshot import Snapshot

_Moment = tuple[float, tuple[str, ...]]
"""Time and settings of a change, which the outcomes of all findings that advised it share."""


def harms(outcomes: Iterable[Outcome], latest: Snapshot) -> list[HarmFacts]:
    """One for each change that did harm and is still in force, the newest first.

    A change is in force while each of its settings has the value that it left it with, and has not had another one
    since: then the outcome of that change counts, and not this one's.

    Args:
        outcomes: In any order.
        latest: Tells today's settings.
    """
    of_change: dict[_Moment, list[Outcome]] = {}
    newest: dict[str, float] = {}
    for outcome in outcomes:
        names = tuple(sorted(change.setting for change in outcome.changes))
        of_change.setdefault((outcome.at, names), []).append(outcome)
        newest |= {name: max(outcome.at, newest.get(name, outcome.at)) for name in names}
    facts = []
    for (at, names), same in sorted(of_change.items(), reverse=True):
        worse = _worse(same)
        in_force = all(change.is_in_force(latest) for change in same[0].changes)
        if worse and in_force and all(newest[name] == at for name in names):
            facts.append(_harm(same, worse, latest))
    return facts


def _worse(outcomes: Iterable[Outcome]) -> list[Compared]:
    """What got worse after a change, each quantity once, the clearest first."""
    worse = {
        (harm.quantity, *sorted(harm.subject.items())): harm
        for outcome in outcomes
        if outcome.result is not Result.NOT_COMPARABLE
        for harm in outcome.harm
    }
    return sorted(worse.values(), key=_clearness, reverse=True)


def _clearness(compared: Compared) -> float:
    """The rise as a multiple of noise and of what was there before, so that a quantity that was 0 has one too."""
    return float((compared.after - compared.before) / ((compared.before + compared.noise) or 1.0))


def _harm(same: list[Outcome], worse: list[Compared], latest: Snapshot) -> HarmFacts:
    outcome = same[0]
    back = {
        change.setting: change.before if isinstance(change.before, str) else float(change.before)
        for change in outcome.changes
        if change.before is not None
    }
    reasons = [changes.refuses(latest.server, name, to) for name, to in back.items()]
    reasons += ["an earlier value is not known"] * (len(back) < len(outcome.changes))
    refusal = "; ".join(reason for reason in reasons if reason)
    return HarmFacts(
        setting=", ".join(change.setting for change in outcome.changes),
        changed="; ".join(map(_change, outcome.changes)),
        changed_at=datetime.fromtimestamp(outcome.at, UTC).strftime("%Y-%m-%d %H:%M UTC"),
        seconds=max(0.0, latest.at - outcome.at),
        advised=any(asked.followed for asked in same),
        rules=", ".join(sorted({asked.rule for asked in same if asked.rule is not None})),
        quantity=named(worse[0]),
        unit=worse[0].unit,
        before=float(worse[0].before),
        after=float(worse[0].after),
        noise=float(worse[0].noise),
        count=float(len(worse)),
        worse="; ".join(map(rise, worse)),
        can_be_taken_back=not refusal,
        refusal=refusal,
        take_back=back,
    )


def _change(change: Changed) -> str:
    before, after = (_shown(change.setting, value) for value in (change.before, change.after))
    return f"{change.setting} from {before} to {after}"


def _shown(name: str, value: float | str | None) -> str:
    if value is None or isinstance(value, str):
        return "unknown" if value is None else value
    return exact_binary(value) if SETTINGS[name].unit == "bytes" else f"{tidy(value)}"
