"""The plan of a finding's change: patches in their order, with checks, limits, roll-out and the way back. Pure."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping

from advisor.contract.changes import SIZE_MAX
from advisor.contract.plan import Applied, Patch, Plan, RollOut, Step, TargetName
from advisor.contract.recommendation import Change, Recommendation, SetAside
from advisor.contract.settings import setting_text
from advisor.facts import facts
from advisor.observe.window import Window
from advisor.plan.guards import refuse_unsafe
from advisor.plan.memory import limits, memory
from advisor.plan.resizing import steps
from advisor.plan.targets import TARGETS
from advisor.plan.targets.target import PlanRefused, taken_back
from advisor.plan.thresholds import abort_when, done_when
from advisor.pool.cold_start import cold_starts
from advisor.pool.errors import Unanswerable
from advisor.pool.fitting import Loads
from advisor.pool.model import PoolModel
from advisor.pool.settings import POOL_SIZE, size_as_set
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
    back = tuple(map(taken_back, changes))
    owner.reach.refuse(target, server)
    roll_out = owner.roll_out(server, changes, manifest)
    patches = owner.settings(server, changes, manifest)
    needed = memory(window, changes)
    sizes = limits(needed)
    of_limit = None if sizes is None else owner.memory(*sizes, manifest)
    limit, limit_back = (None, None) if of_limit is None else (of_limit.patch, of_limit.undo)
    step = _step("the patch", patches.patch, changes, roll_out.applied)
    undo = _step("the undo patch", patches.undo, back, roll_out.applied)
    one_restart = roll_out.applied is Applied.RESTART and owner.memory_applied is Applied.RESTART
    restarts = roll_out.applied is Applied.RESTART or not (roll_out.applied is Applied.LIVE or step.apply)
    if restarts:
        roll_out = _with_cold_starts(roll_out, _model(window, loads, seconds), changes, members)
    return Plan(
        server=str(server),
        fingerprint=chosen.fingerprint,
        rule=chosen.rule,
        summary=chosen.summary,
        target=target,
        at=window.latest.at,
        changes=changes,
        steps=steps(window, changes, needed, step, limit, one_restart=one_restart),
        undo=steps(window, changes, needed, undo, limit_back, back=True, one_restart=one_restart),
        memory=needed,
        roll_out=roll_out,
        abort_when=tuple(abort_when(chosen, window, restarts=restarts)),
        done_when=done_when(chosen, window.latest.at),
        notes=tuple(dict.fromkeys(_notes(chosen, window))),
    )


def proposal(finding: Recommendation | SetAside) -> Recommendation:
    """The finding; where it changes nothing itself, with the change of its first alternative as its own.

    Raises:
        PlanRefused: It is set aside, or asks for an action and no setting.
    """
    if isinstance(finding, SetAside):
        raise PlanRefused(f"{finding.recommendation.rule} is set aside: {finding.reason}")
    if finding.changes:
        return finding
    if not finding.alternatives:
        todo = "; ".join(action.do.rstrip(".") for action in finding.actions)
        raise PlanRefused(f"{finding.rule} asks for no setting that a patch could hold, but for this: {todo}")
    first, *others = finding.alternatives
    instead = {"changes": (first.change,), "effect": first.effect, "cost": first.cost, "others": first.others}
    return finding.model_copy(update={**instead, "alternatives": tuple(others)})


def _step(name: str, patch: Patch, changes: tuple[Change, ...], applied: Applied) -> Step:
    """The step that changes the settings, without its check."""
    at_runtime = [change.apply if change.dynamic else () for change in changes] if applied is Applied.BY_HAND else []
    then = "set the running server, each member" if all(at_runtime) else "restart the server, one member at a time"
    apply = tuple(statement for statements in at_runtime for statement in statements) if all(at_runtime) else ()
    return Step(do=_DO[applied].format(patch=name, then=then), patch=patch, apply=apply)


def _model(window: Window, loads: Loads | None, seconds: float) -> PoolModel:
    model = PoolModel(window, facts(window), loads)
    model.until = None if math.isinf(seconds) else time.thread_time() + seconds
    return model


def _with_cold_starts(
    roll_out: RollOut, model: PoolModel, changes: tuple[Change, ...], members: Mapping[str, Window]
) -> RollOut:
    """The roll-out with what a restart costs, or why that is not known."""
    size = next((number(change.to) for change in changes if change.setting == POOL_SIZE), None)
    try:
        return roll_out.model_copy(update={"cold_starts": cold_starts(model, pool_bytes=size, members=members)})
    except Unanswerable as error:
        return roll_out.model_copy(update={"unknown": str(error)})


def _notes(finding: Recommendation, window: Window) -> Iterator[str]:
    yield from (change.note for change in finding.changes if change.note)
    yield from _rounded(window, finding.changes)
    yield from (action.do for action in finding.actions)
    yield from (f"Instead of this, {other.change.config} would help too." for other in finding.alternatives)


def _rounded(window: Window, changes: Iterable[Change]) -> Iterator[str]:
    """What the server does otherwise than it is asked: it rounds the pool's size, or does not grow so far."""
    for change in changes:
        after = number(change.to)
        if change.setting != POOL_SIZE or after is None:
            continue
        size = size_as_set(window, after)
        if size != after:
            asked, given = (setting_text(POOL_SIZE, value) for value in (after, size))
            yield f"The server rounds {asked} to {given}: whole chunks of each instance."
        most = number(window.latest.setting(SIZE_MAX))
        if most and size > most:
            limit = setting_text(POOL_SIZE, most)
            yield f"It is beyond {SIZE_MAX}, {limit}: only a restart takes the pool there; at runtime nothing happens."
