"""The receipt: its state, its sentence, and its document with pictures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from advisor.ledger.entry import Compared, Entry, Promise, Result
from advisor.ledger.ledger import Ledger
from advisor.ledger.recorded import ledger_lines, recorded_ledger
from advisor.plan.receipt import Receipt, ReceiptState
from advisor.plan.receipt import receipt as receipt_of
from advisor.render import html, text
from advisor.render import receipt as documents
from advisor.render.blocks import TextDocument
from advisor.render.markdown import markdown
from exporter.anonymisation import Pseudonyms
from tests.advisor.ledger.entries import AT, FINGERPRINT, PROMISE, RULE, closed, opened, remembered, unasked
from tests.advisor.ledger.outcomes import worse

HARM = "The change did harm: pages read per second of shop.items rose from 5 to 95. Take it back."
OTHER_VALUE: dict[str, Any] = {"followed": False, "promise": None, "measured": None, "error": None}


def receipt(*entries: Entry) -> Receipt:
    answer = receipt_of(Ledger.of(entries), FINGERPRINT)
    assert answer is not None
    return answer


@pytest.mark.parametrize(
    ("entries", "state", "says"),
    [
        (
            [remembered()],
            ReceiptState.NOT_CHANGED,
            "No change of innodb_old_blocks_pct was seen since the finding stands.",
        ),
        (
            [remembered(resolved_at=AT + 60)],
            ReceiptState.NOT_CHANGED,
            "No change of innodb_old_blocks_pct was seen since the finding stands. It is gone by itself.",
        ),
        (
            [remembered(settings={}, promises=())],
            ReceiptState.UNDECIDED,
            "The finding asks for no setting, and what becomes of anything else is not measured.",
        ),
        (
            [remembered(), opened()],
            ReceiptState.OPEN,
            "The outcome is open: predicted 0 pages read per pass, not measured yet: the pool settles.",
        ),
        (
            [remembered(), closed()],
            ReceiptState.KEPT,
            "The promise was kept: predicted 0, measured 12 pages read per pass.",
        ),
        (
            [closed(result=Result.MISSED)],
            ReceiptState.MISSED,
            "The promise was missed: predicted 0, measured 12 pages read per pass.",
        ),
        (
            [closed(others=(worse(),))],
            ReceiptState.HARM,
            f"{HARM} Of its promise: predicted 0, measured 12 pages read per pass.",
        ),
        (
            [opened(others=(worse(),), why="it did harm")],
            ReceiptState.HARM,
            f"{HARM} Of its promise: predicted 0 pages read per pass, not measured yet: it did harm.",
        ),
        (
            [closed(result=Result.UNPROMISED, why=f"{RULE} advised another value", **OTHER_VALUE)],
            ReceiptState.UNDECIDED,
            f"Nothing can be said: {RULE} advised another value.",
        ),
        (
            [closed(result=Result.UNPROMISED, why="seconds: not measured in production", measured=None)],
            ReceiptState.UNDECIDED,
            "Nothing can be said: seconds: not measured in production.",
        ),
        (
            [closed(result=Result.NOT_COMPARABLE, why="twice the lookups")],
            ReceiptState.UNDECIDED,
            "Nothing can be said: predicted 0 pages read per pass, not comparable: twice the lookups.",
        ),
    ],
)
def test_the_state_and_its_sentence(entries: Iterable[Entry], state: ReceiptState, says: str) -> None:
    answer = receipt(*entries)
    assert (answer.state, answer.says) == (state, says)
    assert (answer.fingerprint, answer.rule) == (FINGERPRINT, RULE)
    assert Receipt.model_validate_json(answer.model_dump_json()) == answer


def test_nobody_knows_of_a_fingerprint_that_was_never_told() -> None:
    assert receipt_of(Ledger.of([remembered(), unasked()]), "0" * 16) is None


def test_the_newest_change_counts_and_older_ones_are_counted() -> None:
    answer = receipt(closed("1" * 16), opened("2" * 16, at=AT + 9000), unasked("3" * 16))
    assert answer.outcome is not None
    assert (answer.outcome.id, answer.state, answer.earlier) == ("2" * 16, ReceiptState.OPEN, 1)
    assert "and 1 older outcome\n" in text.text(documents.receipt(answer))


def test_a_change_that_was_taken_back_says_so() -> None:
    answer = receipt(remembered(), closed(others=(worse(),), taken_back_at=AT + 7200))
    assert answer.state is ReceiptState.HARM
    assert "rose from 5 to 95. It was taken back." in answer.says
    written = text.text(documents.receipt(answer))
    assert "taken back  2026-11-21 08:19:40 UTC" in written
    assert "SET GLOBAL" not in written
    kept = receipt(closed(taken_back_at=AT + 7200))
    assert kept.says.endswith("measured 12 pages read per pass. It was taken back.")


def test_a_change_that_takes_another_back_did_not_follow_the_finding() -> None:
    harmful = closed("1" * 16, followed=False, promise=None, others=(worse(),), taken_back_at=AT + 7200)
    back = opened("2" * 16, at=AT + 7200, followed=False, promise=None)
    answer = receipt(remembered(), harmful, back)
    assert answer.outcome is not None
    assert (answer.outcome.id, answer.state, answer.earlier) == ("1" * 16, ReceiptState.HARM, 0)
    advised = back.model_copy(update={"followed": True, "promise": PROMISE})
    assert receipt(remembered(), harmful, advised).state is ReceiptState.OPEN


def test_a_recording_without_names_has_the_same_figures() -> None:
    ledger = Ledger.of([remembered(), closed(), unasked()])
    anonymous = recorded_ledger(ledger_lines(ledger, [RULE], Pseudonyms()))
    [finding] = anonymous.findings.values()
    answer = receipt_of(anonymous, finding.fingerprint)
    assert answer is not None
    assert answer.says == receipt_of(ledger, FINGERPRINT).says  # type: ignore[union-attr]  # it is in the ledger


PICTURES = """\
pages read per second
                       value      range
when it was predicted    200             ████████████████████████████████████████████
predicted                100  90 to 110  ████████████████████░│░░
before the change        220             ████████████████████████████████████████████████
after the change         120             ██████████████████████████
█ at least, │ expected, ░ at most

Reads of everything else
of                  pages read per second
shop.items  before                      5                ███
shop.items  after                      95  worse         ████████████████████████████████████████████████
all others  before                     10                █████
all others  after                       4  less          ██
the server  before                      6                ███
the server  after                       7  within noise  ████

What else was compared
quantity                                 of          before  after  noise
time of a data-file read, ms             the server       1      2    0.1  more
age of the checkpoint                    the server   1 KiB  1 KiB  6 KiB  within noise
time waited in table I/O, ms per second  shop.items      10     90      5  worse

changed     2026-11-21 06:20:40 UTC
measured    until 2026-11-21 06:35:40 UTC
server      mysql 9.7.4
model       innodb-advisor 2
rule        scan-exceeds-old-sublist, version 1
"""


def compared(quantity: str, unit: str, before: float, after: float, noise: float, **values: Any) -> Compared:
    return Compared(quantity=quantity, unit=unit, before=before, after=after, noise=noise, **values)


def full() -> Receipt:
    """A receipt with everything."""
    read, of_reads = "pages read per second", "pages per second"
    others = (
        worse(),
        compared(read, of_reads, 10, 4, 2, subject={"tables": "all others"}),
        compared(read, of_reads, 6, 7, 2),
        compared("time of a data-file read", "ms", 1, 2, 0.1),
        compared("age of the checkpoint", "bytes", 1024, 1024, 6144),
        compared("time waited in table I/O", "ms per second", 10, 90, 5, subject=worse().subject, worse=True),
    )
    promise = Promise(
        setting="innodb_old_blocks_pct", to=64, quantity=read, unit=of_reads, now=200, predicted=100, error=0.05
    )
    return receipt(
        closed(
            promise=promise,
            measured=compared(read, of_reads, 220, 120, 4),
            others=others,
            result=Result.MISSED,
            server="mysql 9.7.4",
            rule_version="1",
            model_version="2",
        )
    )


def test_text_shows_what_was_promised_and_what_else_moved_as_bars() -> None:
    assert text.text(documents.receipt(full())).endswith(PICTURES)


@pytest.mark.parametrize("write", [text.text, markdown])
def test_text_and_markdown_have_the_same_pictures(write: Callable[[TextDocument], str]) -> None:
    written = write(documents.receipt(full()))
    for words in ("when it was predicted", "90 to 110", "Reads of everything else", "within noise", "mysql 9.7.4"):
        assert words in written
    assert "█ at least, │ expected, ░ at most" in written


def test_a_page_draws_bars_that_need_no_style_of_their_own() -> None:
    written = html.html(documents.receipt(full()))
    assert "style=" not in written
    bars = re.findall(r"<svg.*?</svg>", written)
    widths = [[float(width) for width in re.findall(r'width="([\d.]+)"', bar)] for bar in bars]
    assert len(bars) == 4 + 6
    assert widths[0] == [90.9, 0.0]
    assert widths[1] == [40.9, 9.1, 1.0]  # 90 to 110 of 220
    assert widths[2] == [100.0, 0.0]


def test_a_bound_is_a_range_from_nothing() -> None:
    bound = PROMISE.model_copy(update={"quantity": "pages read per second in the worst hour, at most", "predicted": 50})
    written = text.text(documents.receipt(receipt(closed(promise=bound))))
    assert re.search(r"^predicted +50 +0 to 50 ", written, re.MULTILINE)


def test_nothing_but_zeros_has_empty_bars() -> None:
    nothing = PROMISE.model_copy(update={"now": 0, "predicted": 0})
    answer = receipt(closed(promise=nothing, measured=closed().measured.model_copy(update={"before": 0, "after": 0})))  # type: ignore[union-attr]  # it was measured
    for written in (text.text(documents.receipt(answer)), markdown(documents.receipt(answer))):
        assert "█" not in written.partition("Reads of everything else")[0]
