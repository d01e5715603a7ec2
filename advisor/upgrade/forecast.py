"""The forecast of an upgrade: what stops the start, changes or gets better, and the lines and SQL for it. Pure."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from advisor.contract.recommendation import Recommendation
from advisor.contract.settings import SETTINGS, json_value
from advisor.contract.upgrade import (
    Blocker,
    MovedDefault,
    NotForetold,
    OptionLine,
    UpgradeEffect,
    UpgradeForecast,
)
from advisor.facts import facts
from advisor.observe.window import Window
from advisor.pool.fitting import Loads
from advisor.pool.model import PoolModel
from advisor.rules.check import Rule
from advisor.upgrade.behaviours import behaviours, plans
from advisor.upgrade.change_buffer import change_buffer
from advisor.upgrade.defaults import settings_of
from advisor.upgrade.index_builds import index_builds
from advisor.upgrade.memory import memory
from advisor.upgrade.options import blockers, configured
from advisor.upgrade.scans import scans
from advisor.upgrade.settled import settled
from advisor.upgrade.target import assumptions, bugs_on_the_way, target
from advisor.upgrade.upgrade import Upgrade
from advisor.upgrade.warm_up import warm_up
from advisor.upgrade.writes import writes

Effects = Callable[[Upgrade], Iterator[UpgradeEffect | NotForetold]]
EFFECTS: tuple[Effects, ...] = (behaviours, change_buffer, index_builds, memory, plans, scans, warm_up, writes)
"""In no order: the forecast sorts what they say by pages a second."""


def forecast(
    window: Window,
    to: str,
    *,
    option_file: str | None = None,
    findings: Sequence[Recommendation] = (),
    rules: Sequence[Rule] = (),
    loads: Loads | None = None,
    seconds: float = math.inf,
    effects: Sequence[Effects] = EFFECTS,
) -> UpgradeForecast:
    """What an upgrade does to the server of a window.

    Args:
        window: What has been watched.
        to: The new version, such as ``8.4`` or ``11.8.3``.
        option_file: The text of the server's option file, where it is at hand.
        findings: On the server as it is: those that fall away are named.
        rules: The rules that made them.
        loads: As in ``PoolModel``.
        seconds: CPU time for the model of the pool.
        effects: The kinds of effects.

    Raises:
        UpgradeRefused: There is no forecast for this version.
        ValueError: The text is no option file.
    """
    before = window.latest.server
    after = target(before, to)
    configuration = configured(window, after, option_file)
    known = facts(window)
    model = PoolModel(window, known, loads)
    model.until = None if math.isinf(seconds) else time.thread_time() + seconds
    settings = settings_of(window, after, None if configuration is None else configuration.settings)
    upgrade = Upgrade(window, known, model, before, after, settings)
    said = [
        *blockers(window, after, configuration),
        *(effect for kind in effects for effect in kind(upgrade)),
        *_not_computed(upgrade),
    ]
    stops = [blocker for blocker in said if isinstance(blocker, Blocker)]
    ordered = sorted((effect for effect in said if isinstance(effect, UpgradeEffect)), key=_worst_first)
    unknown = (spot for spot in said if isinstance(spot, NotForetold))
    return UpgradeForecast(
        server=str(before),
        to=str(after),
        assumed=after.behaves_like,
        at=window.latest.at,
        watched_seconds=round(window.seconds, 3),
        warnings=(*assumptions(before, after), *bugs_on_the_way(before, after)),
        blockers=tuple(stops),
        effects=tuple(effect for effect in ordered if effect.better is not True),
        improvements=tuple(sorted((effect for effect in ordered if effect.better is True), key=_reads)),
        settled=tuple(settled(upgrade, findings, rules)),
        other_changes=tuple(_others(upgrade, ordered)),
        option_file=tuple(_option_file(stops, ordered)),
        before=tuple(dict.fromkeys(statement for effect in ordered for statement in effect.before)),
        after=tuple(dict.fromkeys(statement for effect in ordered for statement in effect.after)),
        not_foretold=tuple(dict.fromkeys(unknown)),
    )


def _worst_first(effect: UpgradeEffect) -> tuple[float, bool, bool, str]:
    """The most pages first; of equals the worse ones, and those with a number."""
    return -_reads(effect), effect.better is not False, effect.quantity is None, effect.name


def _reads(effect: UpgradeEffect) -> float:
    """Pages read and written a second more; 0 where that is not known."""
    return effect.pages_per_second or 0.0


def _others(upgrade: Upgrade, effects: Sequence[UpgradeEffect]) -> Iterator[MovedDefault]:
    """The defaults that move, and that no effect is of."""
    judged = {effect.name for effect in effects} | {option(line) for effect in effects for line in effect.keep}
    for setting in upgrade.settings.values():
        if setting.moves and not setting.is_set and setting.name not in judged:
            assert setting.before is not None and setting.after is not None  # noqa: S101, PT018 - it moves
            yield MovedDefault(setting=setting.name, from_=json_value(setting.before), to=json_value(setting.after))


def _not_computed(upgrade: Upgrade) -> Iterator[NotForetold]:
    """The new defaults that the server computes from what is not known."""
    names = [
        setting.name
        for setting in upgrade.settings.values()
        if setting.before is not None
        and setting.after is None
        and not setting.is_set
        and SETTINGS[setting.name].exists_on(upgrade.after)
    ]
    if names:
        yield NotForetold(
            what=f"the new default of {', '.join(names)}",
            reason="the server computes it from its cores, memory or file system when it starts: not known here",
            cure="name them with --cores and --memory, or record beside the server, with its machine in sight",
        )


def option(line: OptionLine) -> str:
    """The name of the option that a line sets."""
    return line.line.partition("=")[0].strip()


def _option_file(stops: Iterable[Blocker], effects: Iterable[UpgradeEffect]) -> Iterator[OptionLine]:
    """The lines for the new server, one for each option: of two values that of the larger effect."""
    lines: dict[str, OptionLine] = {}
    replacements = (blocker.replacement for blocker in stops if blocker.replacement is not None)
    for line in (*replacements, *(line for effect in effects for line in effect.keep)):
        first = lines.setdefault(option(line), line)
        if first.line == line.line:
            lines[option(line)] = first.model_copy(update={"reason": _joined(first.reason, line.reason)})
    yield from lines.values()


def _joined(reasons: str, reason: str) -> str:
    return reasons if reason in reasons.split("; ") else f"{reasons}; {reason}"
