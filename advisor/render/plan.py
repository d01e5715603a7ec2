"""The plan of a change, as a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Literal, get_args
from urllib.parse import urlencode

from advisor.contract.plan import Applied, ColdStart, MemoryPlan, Patch, Plan, RollOut, Step, TargetName, Threshold
from advisor.contract.recommendation import Change, Number, Recommendation
from advisor.contract.settings import setting_text
from advisor.contract.templates import binary
from advisor.render import blocks
from advisor.render.phrases import moment, statement

_LANGUAGES: Mapping[str, Literal["hcl", "ini", "json", "yaml"]] = {
    ".tf": "hcl",
    ".cnf": "ini",
    ".json": "json",
    ".yaml": "yaml",
}
"""By the suffix of a patch's file."""
_APPLIED: Mapping[Applied, str] = {
    Applied.LIVE: "to the running servers",
    Applied.RESTART: "by a restart of the members",
    Applied.BY_HAND: "by you: the owner keeps the line for the next start",
}


def plan(plan: Plan) -> blocks.TextDocument:
    """What changes, the steps, memory, the roll-out, when to abort, when it is done, and the way back."""
    shown: list[blocks.Block] = [
        blocks.Paragraph(f"{plan.server}, seen {moment(plan.at)}; {plan.rule}, {plan.fingerprint}", "quiet"),
        blocks.Paragraph(f"{plan.summary.rstrip('.')}."),
        _changes(plan.changes),
    ]
    for title, section in _sections(plan):
        shown += [blocks.Heading(title), *section] if section else []
    return blocks.TextDocument(f"Plan for {plan.target}", tuple(shown))


def targets(finding: Recommendation) -> blocks.TextDocument:
    """The owners that a finding can be planned for, each with a link to its plan."""
    names: tuple[TargetName, ...] = get_args(TargetName)
    rows = tuple(
        (blocks.Link(name, f"/advise/{finding.fingerprint}/plan?{urlencode({'for': name})}"),) for name in names
    )
    about = f"{finding.summary.rstrip('.')}. Who owns the settings of this server?"
    return blocks.TextDocument("Plan", (blocks.Paragraph(about), blocks.TextTable(("for",), rows)))


def _sections(plan: Plan) -> Iterator[tuple[str, Sequence[blocks.Block]]]:
    """Titles and blocks; those without a block have nothing to say."""
    yield "Steps", [*_steps(plan.steps)]
    yield "Memory", [] if plan.memory is None else [*_memory(plan.memory)]
    yield "Roll-out", [*_roll_out(plan.roll_out)]
    yield "Abort when", [*_thresholds(plan.abort_when)]
    yield "Done when", [*_thresholds(plan.done_when)]
    yield "The way back", [*_steps(plan.undo)]
    yield "To know", [blocks.Paragraph(note) for note in plan.notes]


def _changes(changes: Sequence[Change]) -> blocks.TextTable:
    rows = tuple(
        (
            change.setting,
            setting_text(change.setting, change.from_),
            setting_text(change.setting, change.to),
            "" if change.dynamic else "needs a restart",
        )
        for change in changes
    )
    return blocks.TextTable(("setting", "now", "then", "takes effect"), rows, right=(1, 2))


def _steps(steps: Sequence[Step]) -> Iterator[blocks.Block]:
    for number, step in enumerate(steps, 1):
        yield blocks.Card(f"{number}. {step.do}", tuple(_step(step)), level=3)


def _step(step: Step) -> Iterator[blocks.Block]:
    if step.patch is not None:
        yield from _patch(step.patch)
    if step.apply:
        yield blocks.Pasted("\n".join(map(statement, step.apply)), "sql")
    if step.done is not None:
        yield blocks.Details((("done when", step.done.what),))
        if step.done.sql:
            yield blocks.Pasted(f"{step.done.sql};", "sql")
        if step.done.promql:
            yield blocks.Pasted(step.done.promql, "promql")
        if step.done.command:
            yield blocks.Pasted(step.done.command, "sh")


def _patch(patch: Patch) -> Iterator[blocks.Block]:
    part = "" if patch.whole else "; a part to put into what is there: give the object of today with --manifest"
    yield blocks.Details((("patch", f"{patch.file}, {patch.form}{part}"),))
    yield blocks.Pasted(patch.text.rstrip("\n"), _LANGUAGES.get(PurePath(patch.file).suffix, "yaml"))
    if patch.command is not None:
        yield blocks.Pasted(patch.command, "sh")


def _memory(memory: MemoryPlan) -> Iterator[blocks.Block]:
    sizes = (
        ("used today", memory.used_bytes),
        ("limit today", memory.limit_bytes),
        ("request then", memory.request_then),
        ("limit then", memory.limit_then),
    )
    sign = "-" if memory.change_bytes < 0 else "+"
    lines = [("moves by", f"{sign}{binary(abs(memory.change_bytes))}")]
    lines += [(label, binary(size)) for label, size in sizes if size is not None]
    yield blocks.Details(tuple(lines))
    yield blocks.Paragraph(memory.reason)


def _roll_out(roll_out: RollOut) -> Iterator[blocks.Block]:
    source = roll_out.source if roll_out.sure else f"{roll_out.source}; not seen to work: try it first"
    lines = [("applied", _APPLIED[roll_out.applied]), ("how", roll_out.how), ("source", source)]
    lines += [("overrides", roll_out.overrides)] if roll_out.overrides else []
    lines += [("cold start", f"not known: {roll_out.unknown}")] if roll_out.unknown else []
    yield blocks.Details(tuple(lines))
    if roll_out.cold_starts:
        yield _cold_starts(roll_out.cold_starts)


def _cold_starts(cold_starts: Sequence[ColdStart]) -> blocks.TextTable:
    columns = ("member", "loaded at the start", "pages read again", "minutes to 90 %", "minutes to 99 %", "limited by")
    rows = tuple(
        (
            start.member or "this server",
            start.dump,
            _range(start.pages, start.pages_low, start.pages_high),
            _range(start.minutes_to_90, start.minutes_to_90_low, start.minutes_to_90_high),
            _range(start.minutes_to_99, start.minutes_to_99_low, start.minutes_to_99_high),
            start.limited_by,
        )
        for start in cold_starts
    )
    return blocks.TextTable(columns, rows, right=(2, 3, 4), optional=(5,))


def _range(expected: Number | None, low: Number | None, high: Number | None) -> str:
    if expected is None:
        return "not known"
    return f"{expected:,}" if low is None or high is None else f"{expected:,} ({low:,} to {high:,})"


def _thresholds(thresholds: Sequence[Threshold]) -> Iterator[blocks.Block]:
    for threshold in thresholds:
        yield blocks.Paragraph(threshold.what)
        if threshold.promql is not None:
            yield blocks.Pasted(threshold.promql, "promql")
