"""The receipt of a finding as a document: a sentence, the outcome, and pictures of what moved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from advisor.ledger.entry import Compared, Outcome
from advisor.ledger.grading import predicted_range
from advisor.ledger.reading import READ
from advisor.ledger.words import amount
from advisor.plan.receipt import Receipt
from advisor.render.blocks import Bar, Block, Cell, Details, Heading, Paragraph, TextDocument, TextTable, Toned
from advisor.render.outcomes import cards
from advisor.render.phrases import counted, moment


def receipt(receipt: Receipt) -> TextDocument:
    """What was predicted and measured, what else moved, when, and under which versions."""
    blocks: list[Block] = [Paragraph(receipt.says)]
    blocks += [Paragraph(receipt.summary, "quiet")] if receipt.summary else []
    if receipt.outcome is not None:
        blocks += [*cards((receipt.outcome,)), *_pictures(receipt.outcome), _versions(receipt.outcome)]
    if receipt.earlier:
        blocks.append(Paragraph(f"and {counted(receipt.earlier, 'older outcome')}", "quiet"))
    about = ".".join(receipt.subject.values())
    of = f"{receipt.rule}, {about}" if about else receipt.rule
    return TextDocument(f"innodb-advisor: receipt of {of}: {receipt.state.value}", tuple(blocks))


def _pictures(outcome: Outcome) -> Iterator[Block]:
    reads = [other for other in outcome.others if other.quantity == READ]
    others = [other for other in outcome.others if other.quantity != READ]
    quantity = _quantity(outcome)
    if quantity is not None:
        yield from quantity
    if reads:
        yield from (Heading("Reads of everything else", 3), _reads(reads))
    if others:
        yield from (Heading("What else was compared", 3), _compared(others))


def _quantity(outcome: Outcome) -> tuple[Heading, TextTable] | None:
    """The promised quantity, as it was predicted and as it was measured."""
    promise, measured = outcome.promise, outcome.measured
    if promise is None:
        return None
    low, high = predicted_range(promise)
    exact = [("when it was predicted", float(promise.now))]
    if measured is not None:
        exact += [("before the change", float(measured.before)), ("after the change", float(measured.after))]
    most = max(high, *(value for _, value in exact))
    first, *others = ((when, amount(value, promise.unit), "", Bar.exact(value, most)) for when, value in exact)
    bounds = f"{amount(low, promise.unit)} to {amount(high, promise.unit)}"
    predicted = float(promise.predicted)
    bar = Bar(low, predicted, high, most)
    rows: tuple[tuple[Cell, ...], ...] = (
        first,
        ("predicted", amount(predicted, promise.unit), bounds, bar),
        *others,
    )
    return Heading(_titled(promise.quantity, promise.unit), 3), TextTable(
        ("", "value", "range", ""), rows, right=(1, 2)
    )


def _reads(reads: Sequence[Compared]) -> TextTable:
    """Two rows for each: before and after."""
    most = max(float(value) for read in reads for value in (read.before, read.after))
    rows: list[tuple[Cell, ...]] = []
    for read in reads:
        for when, value, verdict in (("before", read.before, ""), ("after", read.after, _verdict(read))):
            bar = Bar.exact(float(value), most)
            rows.append((_subject(read), when, amount(value, read.unit), verdict, bar))
    return TextTable(("of", "", READ, "", ""), tuple(rows), right=(2,))


def _compared(others: Sequence[Compared]) -> TextTable:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            _titled(other.quantity, other.unit),
            _subject(other),
            *(amount(value, other.unit) for value in (other.before, other.after, other.noise)),
            _verdict(other),
        )
        for other in others
    )
    return TextTable(("quantity", "of", "before", "after", "noise", ""), rows, right=(2, 3, 4))


def _titled(quantity: str, unit: str) -> str:
    """A quantity with its unit, unless it names it, or its numbers do, as those of bytes."""
    first, *_ = unit.split(" ", 1)
    return quantity if first in ("", "bytes", *quantity.split()) else f"{quantity}, {unit}"


def _subject(compared: Compared) -> str:
    return ".".join(compared.subject.values()) or "the server"


def _verdict(compared: Compared) -> str | Toned:
    """Whether it moved by more than chance, and whether that matters."""
    if compared.worse:
        return Toned("worse", "critical")
    moved = float(compared.after) - float(compared.before)
    if abs(moved) <= float(compared.noise):
        return "within noise"
    return "more" if moved > 0 else "less"


def _versions(outcome: Outcome) -> Details:
    """When it was, and under which versions."""
    lines = [("changed", moment(outcome.at))]
    lines += [] if outcome.closed_at is None else [("measured", f"until {moment(outcome.closed_at)}")]
    lines += [("server", outcome.server)] if outcome.server else []
    lines += [("model", f"innodb-advisor {outcome.model_version}")] if outcome.model_version else []
    lines += [("rule", f"{outcome.rule}, version {outcome.rule_version}")] if outcome.rule_version else []
    return Details(tuple(lines))
