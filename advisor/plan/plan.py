"""The plan of a finding's change: patches in their order, with checks, limits, roll-out and the way back. Pure."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

from advisor.contract.plan import Applied, Plan, RollOut, Step, TargetName
from advisor.contract.recommendation import Change, Recommendation, SetAside
from advisor.contract.settings import SettingValue
from advisor.facts import facts
from advisor.observe.window import Window
from advisor.plan.guards import refuse_unsafe
from advisor.plan.memory import limits, memory
from advisor.plan.proposal import Proposal, proposal
from advisor.plan.resizing import steps
from advisor.plan.settling import in_force, rounded
from advisor.plan.targets import TARGETS
from advisor.plan.targets.target import Patches, PlanRefused, SettingLine
from advisor.plan.thresholds import abort_when, done_when
from advisor.pool.cold_start import cold_starts
from advisor.pool.errors import Unanswerable
from advisor.pool.fitting import Loads
from advisor.pool.model import PoolModel
from advisor.pool.settings import POOL_SIZE
from exporter.rows import number

_DO = {
    Applied.LIVE: "Merge {patch}: its owner sets the running servers.",
    Applied.RESTART: "Merge {patch}: its owner restarts the members, in the order of the roll-out.",
    Applied.BY_HAND: "Put {patch} in place, which counts from the next start, and {then}.",
}


def plan(
    finding: Recommendation | SetAside,
    window: Window,
    target: TargetName,
    manifest: str | None = None,
    *,
    beside: Iterable[Recommendation] = (),
    members: Mapping[str, Window] = {},
    loads: Loads | None = None,
    seconds: float = math.inf,
) -> Plan:
    """A plan for the changes of a finding.

    Args:
        finding: Of the advice on the window.
        window: What has been watched.
        target: Who owns the settings.
        manifest: The owner's object or file of today, as text.
        beside: The findings that stand beside it.
        members: The windows of the members that may take over, by their names, where they are watched too.
        loads: As in ``PoolModel``.
        seconds: CPU time for the model of the pool.

    Raises:
        PlanRefused: There is no plan; the text says why, and what to do.
    """
    chosen = proposal(finding)
    refuse_unsafe(chosen, window, beside)
    owner, server, changes = TARGETS[target], window.latest.server, chosen.changes
    lines = tuple(map(_line, changes))
    roll_out = owner.roll_out(server, lines, manifest)
    patches = owner.settings(server, lines, manifest)
    needed = memory(window, changes)
    sizes = limits(needed)
    of_limit = None if sizes is None else owner.memory(*sizes, manifest)
    limit, limit_back = (None, None) if of_limit is None else (of_limit.patch, of_limit.undo)
    forward, back = (_step(changes, lines, patches, roll_out.applied, undone=undone) for undone in (False, True))
    one_restart = roll_out.applied is Applied.RESTART and owner.memory_applied is Applied.RESTART
    restarts = roll_out.applied is Applied.RESTART or not (roll_out.applied is Applied.LIVE or forward.apply)
    return Plan(
        server=str(server),
        fingerprint=chosen.finding.fingerprint,
        rule=chosen.finding.rule,
        summary=chosen.finding.summary,
        target=target,
        at=window.latest.at,
        changes=changes,
        steps=steps(window, changes, needed, forward, limit, one_restart=one_restart),
        undo=steps(window, changes, needed, back, limit_back, back=True, one_restart=one_restart),
        memory=needed,
        roll_out=_with_cold_starts(roll_out, _model(window, loads, seconds), lines, members) if restarts else roll_out,
        abort_when=tuple(abort_when(chosen, window, restarts=restarts)),
        done_when=done_when(chosen, window.latest.at),
        notes=tuple(dict.fromkeys(_notes(chosen, window, lines))),
    )


def _line(change: Change) -> SettingLine:
    if change.from_ is None:
        raise PlanRefused(f"the present value of {change.setting} is not known: there would be no way back")
    return SettingLine(change.setting, _value(change.from_), _value(change.to), change.dynamic)


def _value(value: float | str) -> SettingValue:
    return value if isinstance(value, str) else float(value)


def _step(
    changes: Sequence[Change], lines: Sequence[SettingLine], patches: Patches, applied: Applied, *, undone: bool
) -> Step:
    """The step that changes the settings, or that takes them back."""
    statements = [_at_runtime(change, undone=undone) for change in changes] if applied is Applied.BY_HAND else []
    then = "set the running server, each member" if all(statements) else "restart the server, one member at a time"
    return Step(
        do=_DO[applied].format(patch="the undo patch" if undone else "the patch", then=then),
        patch=patches.undo if undone else patches.patch,
        apply=tuple(statement for of_change in statements for statement in of_change) if all(statements) else (),
        done=in_force([line.back for line in lines] if undone else lines),
    )


def _at_runtime(change: Change, *, undone: bool) -> tuple[str, ...]:
    """Statements that the running server takes; none where only a restart applies the change."""
    return () if not change.dynamic else change.rollback if undone else change.apply


def _model(window: Window, loads: Loads | None, seconds: float) -> PoolModel:
    model = PoolModel(window, facts(window), loads)
    model.until = None if math.isinf(seconds) else time.thread_time() + seconds
    return model


def _with_cold_starts(
    roll_out: RollOut, model: PoolModel, lines: Sequence[SettingLine], members: Mapping[str, Window]
) -> RollOut:
    """The roll-out with what a restart costs, or why that is not known."""
    size = next((number(line.after) for line in lines if line.setting == POOL_SIZE), None)
    try:
        return roll_out.model_copy(update={"cold_starts": cold_starts(model, pool_bytes=size, members=members)})
    except Unanswerable as error:
        return roll_out.model_copy(update={"unknown": str(error)})


def _notes(chosen: Proposal, window: Window, lines: Sequence[SettingLine]) -> Iterator[str]:
    yield from (change.note for change in chosen.changes if change.note)
    yield from rounded(window, lines)
    yield from chosen.notes
