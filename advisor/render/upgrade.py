"""The forecast of an upgrade, as a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from advisor.contract.settings import setting_text
from advisor.contract.templates import duration, value_text
from advisor.contract.upgrade import (
    Blocker,
    Cause,
    NotForetold,
    OptionLine,
    SettledAdvice,
    Statement,
    UpgradeEffect,
    UpgradeForecast,
)
from advisor.contract.visible import visible
from advisor.render import blocks
from advisor.render.advice import evidence_table
from advisor.render.phrases import counted, statement

_NO_STOP = "Nothing that is set here stops the start, as far as it is known."
_NOTHING = "Nothing is known that changes this workload for the worse."
_CAUSES = {Cause.DEFAULT: "default", Cause.BEHAVIOUR: "behaviour", Cause.REMOVAL: "removed"}


def forecast(forecast: UpgradeForecast) -> blocks.TextDocument:
    """What stops the start, what changes, what gets better, the lines and SQL, and what cannot be said."""
    shown: list[blocks.Block] = [blocks.Paragraph(_origin(forecast), "quiet")]
    shown += [blocks.Paragraph(f"{warning}.") for warning in forecast.warnings]
    shown += [blocks.Heading("What would not start")]
    shown += [*map(_blocker, forecast.blockers)] or [blocks.Paragraph(_NO_STOP)]
    shown += [blocks.Heading("What changes for this workload")]
    shown += [*map(_effect, forecast.effects)] or [blocks.Paragraph(_NOTHING)]
    shown += _others(forecast)
    for title, section in _sections(forecast):
        shown += [blocks.Heading(title), *section] if section else []
    return blocks.TextDocument(f"innodb-advisor: {forecast.server} to {forecast.to}", tuple(shown))


def _origin(forecast: UpgradeForecast) -> str:
    like = f", taken to behave like {forecast.assumed}" if forecast.assumed else ""
    return f"{forecast.server} to {forecast.to}{like}; watched {duration(forecast.watched_seconds)}"


def _sections(forecast: UpgradeForecast) -> Iterator[tuple[str, Sequence[blocks.Block]]]:
    """Titles and blocks of what follows the effects; those without a block have nothing to say."""
    yield "What gets better by itself", [*map(_effect, forecast.improvements)]
    yield "Advice that falls away", [_settled(forecast.settled)] if forecast.settled else []
    yield "Lines for the new server's option file", [*_option_file(forecast.option_file)]
    yield "SQL to run before", [*_sql(forecast.before)]
    yield "SQL to run after", [*_sql(forecast.after)]
    yield "What cannot be said", [_unknown(forecast.not_foretold)] if forecast.not_foretold else []


def _blocker(blocker: Blocker) -> blocks.Card:
    value = "" if blocker.value is None else f" = {blocker.value}"
    todo = [] if blocker.replacement is None else [("option file", blocker.replacement.line)]
    facts = [("set in", blocker.source), ("gone since", blocker.since)]
    facts += [] if blocker.replacement is None else [("instead", blocker.replacement.reason)]
    return blocks.Card(
        f"{blocker.variable}{value}: the new version does not know it, and does not start",
        (blocks.Instructions(tuple(todo)), blocks.Details((*facts, *_references(blocker.references)))),
        mark="critical",
        tone="critical",
        level=3,
    )


def _effect(effect: UpgradeEffect) -> blocks.Card:
    mark, tone = _TONES[effect.better]
    return blocks.Card(
        effect.summary,
        (
            blocks.Instructions(tuple(("option file", line.line) for line in effect.keep)),
            blocks.Details(tuple(_details(effect))),
            evidence_table(effect.evidence),
        ),
        mark=mark,
        tone=tone,
        level=3,
    )


_TONES: dict[bool | None, tuple[str, blocks.Tone]] = {
    False: ("worse", "warning"),
    None: ("changes", "info"),
    True: ("better", "good"),
}


def _details(effect: UpgradeEffect) -> Iterator[tuple[str, str]]:
    """The prediction, its cause, and the reasons of the lines: label and text of each."""
    if effect.quantity is not None:
        yield "effect", _prediction(effect)
    yield _CAUSES[effect.cause], _cause(effect)
    yield from (("line", line.reason) for line in effect.keep)
    yield from _references(effect.references)


def _prediction(effect: UpgradeEffect) -> str:
    """A quantity now and then, its interval, and the model."""
    now, predicted, low, high = (
        None if number is None else value_text(number, effect.unit)
        for number in (effect.now, effect.predicted, effect.low, effect.high)
    )
    before = "" if now is None else f"{now} -> "
    bounds = f" (expect {low} to {high})" if low is not None and high is not None else ""
    model = "" if effect.model is None else f", by the model {effect.model}"
    return f"{effect.quantity}: {before}{predicted}{bounds}{model}"


def _cause(effect: UpgradeEffect) -> str:
    if effect.from_ is None and effect.to is None:
        return effect.name
    then = "gone" if effect.to is None else setting_text(effect.name, effect.to)
    return f"{effect.name}: {setting_text(effect.name, effect.from_)} -> {then}"


def _references(references: Iterable[str]) -> Iterator[tuple[str, str]]:
    return (("see", reference) for reference in references)


def _others(forecast: UpgradeForecast) -> Iterator[blocks.Block]:
    """One line for the defaults that do not matter here; a page unfolds them."""
    others = forecast.other_changes
    if not others:
        return
    change = "other default changes; it touches nothing" if len(others) == 1 else "other defaults change; none touches"
    known = "that was seen" if len(others) == 1 else "anything that was seen"
    yield blocks.Paragraph(f"{len(others)} {change} {known}.")
    rows = tuple(
        (other.setting, setting_text(other.setting, other.from_), setting_text(other.setting, other.to))
        for other in others
    )
    table = blocks.TextTable(("setting", "default now", "default then"), rows, right=(1, 2))
    yield blocks.Folded(f"The others ({counted(len(rows), 'setting')})", (table,))


def _settled(settled: Iterable[SettledAdvice]) -> blocks.TextTable:
    rows = tuple((advice.rule, advice.summary, advice.reason) for advice in settled)
    return blocks.TextTable(("rule", "advice", "why it falls away"), rows)


def _option_file(lines: Sequence[OptionLine]) -> Iterator[blocks.Block]:
    """The lines of a [mysqld] section, each under its reason."""
    if lines:
        written = (f"# {visible(line.reason)}\n{_option(line.line)}" for line in lines)
        yield blocks.Pasted("\n".join(("[mysqld]", *written)), "ini")


def _option(line: str) -> str:
    """The line as it can be pasted, or a comment in its place."""
    shown = visible(line)
    return shown if shown == line else f"# this value cannot be shown as it is; the JSON has the line: {shown}"


def _sql(statements: Sequence[Statement]) -> Iterator[blocks.Block]:
    if statements:
        written = (f"-- {visible(step.reason)}\n{statement(step.sql)}" for step in statements)
        yield blocks.Pasted("\n".join(written), "sql")


def _unknown(unknown: Iterable[NotForetold]) -> blocks.TextTable:
    rows = tuple((spot.what, spot.reason, spot.cure or "") for spot in unknown)
    return blocks.TextTable(("what", "why", "what to record"), rows)
