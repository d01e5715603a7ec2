"""What became of changes, as documents: the history, a finding that is gone, and the grades of recordings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from advisor.contract.recommendation import Number
from advisor.contract.settings import setting_text
from advisor.contract.templates import duration
from advisor.ledger import words
from advisor.ledger.entry import Compared, Outcome, Promise, RememberedFinding, Result
from advisor.ledger.grades import GradedStretch, Grades
from advisor.ledger.history import GoneFinding, History
from advisor.ledger.words import amount, named
from advisor.render.blocks import Block, Card, Details, Heading, Paragraph, TextDocument, TextTable, Tone
from advisor.render.phrases import counted, moment, statement

NOTHING = Paragraph("No change of a setting was seen.")
_TONES: dict[Result, Tone] = {Result.KEPT: "good", Result.MISSED: "warning", Result.OPEN: "info"}


def history(history: History) -> TextDocument:
    """Every outcome, the newest first, and the findings that stood."""
    blocks: list[Block] = [*cards(history.outcomes)] or [NOTHING]
    if history.more_outcomes:
        blocks.append(Paragraph(f"and {history.more_outcomes} older ones", "quiet"))
    if history.findings:
        blocks += [Heading("Findings that stood"), *map(_stood, history.findings)]
    if history.more_findings:
        blocks.append(Paragraph(f"and {history.more_findings} more findings", "quiet"))
    if history.problem is not None:
        blocks.append(Paragraph(f"not kept: {history.problem}", "problem"))
    return TextDocument("innodb-advisor: what became of changes", tuple(blocks))


def gone(finding: GoneFinding) -> TextDocument:
    """A finding that is gone: since when and why, and what became of it before."""
    lines = [] if finding.resolved_at is None else [("resolved", moment(finding.resolved_at))]
    lines += [
        ("because", finding.because),
        ("seen", f"{moment(finding.first_seen)} to {moment(finding.last_seen)}"),
        ("rule", _joined(finding.rule, _about(finding.subject), finding.severity.value, finding.fingerprint)),
    ]
    mark = "not seen now" if finding.resolved_at is None else "resolved"
    card = Card(finding.summary, (Details(tuple(lines)),), mark=mark, level=1)
    return TextDocument("", (card, *cards(finding.outcomes)))


def grades(grades: Grades) -> TextDocument:
    """The outcomes of each stretch of recordings, then the promises of all by rule."""
    blocks: list[Block] = []
    for stretch in grades.stretches:
        blocks += [Heading(_stretch(stretch)), *cards(stretch.outcomes, level=3)]
        blocks += [] if stretch.outcomes else [NOTHING]
    if grades.rules:
        columns = ("rule", "kept", "missed", "not comparable", "harm")
        rows = tuple((rule.rule, rule.kept, rule.missed, rule.not_comparable, rule.harmful) for rule in grades.rules)
        blocks += [Heading("Promises by rule"), TextTable(columns, rows)]
    return TextDocument("innodb-advisor: grades", tuple(blocks))


def cards(outcomes: Iterable[Outcome], level: int = 2) -> list[Card]:
    """A card for each outcome: when, which settings, and what became of it."""
    return [
        Card(
            f"{moment(outcome.at)}  {'; '.join(map(words.change, outcome.changes))}: {outcome.result.value}",
            (Details(tuple(_details(outcome))),),
            tone="critical" if outcome.harm else _TONES.get(outcome.result),
            level=level,
        )
        for outcome in outcomes
    ]


def _details(outcome: Outcome) -> Iterator[tuple[str, str]]:
    """The finding, the promise beside what was measured, and what got worse: label and text of each line."""
    if outcome.rule is not None:
        advised = "followed" if outcome.followed else "another value than it advises"
        yield "rule", _joined(outcome.rule, _about(outcome.subject), advised, outcome.fingerprint)
    if outcome.promise is not None:
        yield "predicted", _predicted(outcome.promise)
    if outcome.measured is not None:
        error = "" if outcome.error is None else f", off by {_signed(outcome.error)}"
        yield "measured", f"{_compared(outcome.measured)}{error}"
    yield from (("worse", _compared(worse)) for worse in outcome.harm)
    if outcome.taken_back_at is not None:
        yield "taken back", moment(outcome.taken_back_at)
    elif outcome.harm:
        for changed in outcome.changes:
            yield from (("take back", statement(sql)) for sql in changed.undo)
            if changed.undo_config and not changed.undo:
                yield "take back", f"{changed.undo_config}, and a restart"
    if outcome.why:
        yield "why", outcome.why


def _stood(finding: RememberedFinding) -> Card:
    asked = dict.fromkeys(
        f"{promise.setting} = {setting_text(promise.setting, promise.to)}" for promise in finding.promises
    )
    lines = [("seen", f"{moment(finding.first_seen)} to {moment(finding.last_seen)}")]
    lines += [("asked for", ", or ".join(asked))] if asked else []
    return Card(_joined(finding.rule, _about(finding.subject), finding.fingerprint), (Details(tuple(lines)),), level=3)


def _stretch(stretch: GradedStretch) -> str:
    return (
        f"{stretch.server}, {', '.join(stretch.recordings)}: {moment(stretch.began)} to {moment(stretch.ended)}"
        f" ({duration(stretch.ended - stretch.began)}, {stretch.collections} collections),"
        f" {counted(len(stretch.findings), 'finding')}"
    )


def _predicted(promise: Promise) -> str:
    """The promised quantity, and the stated error."""
    stated = "" if promise.error is None else f" (at most {_share(promise.error)} off)"
    now, predicted = (amount(value, promise.unit) for value in (promise.now, promise.predicted))
    return f"{promise.quantity}: {now} -> {predicted}{stated}"


def _compared(compared: Compared) -> str:
    """A quantity before and after."""
    values = (compared.before, compared.after, compared.noise)
    before, after, noise = (amount(value, compared.unit) for value in values)
    return f"{named(compared)}: {before} -> {after} (noise {noise})"


def _share(value: Number) -> str:
    """A share in per cent, without its sign: one decimal below ten."""
    percent = 100 * abs(float(value))
    return f"{percent:.0f} %" if percent >= 9.95 else f"{percent:.1f} %"


def _signed(value: Number) -> str:
    """A share in per cent with its sign; 0 has none."""
    share = _share(value)
    return share if share == "0.0 %" else f"{'-' if value < 0 else '+'}{share}"


def _about(subject: Mapping[str, str]) -> str:
    return ".".join(subject.values())


def _joined(*parts: str | None) -> str:
    return ", ".join(part for part in parts if part)
