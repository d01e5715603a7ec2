"""Answers of the LRU model for people: on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from advisor.contract.templates import duration
from advisor.models.lru.scenario import Pass
from advisor.pool.what_if import Amount, TableOutcome, WhatIf
from advisor.render.phrases import setting_text, value_text
from advisor.render.terminal import joined, plain_table, words


def print_what_if(out: Console, answer: WhatIf) -> None:
    """What would change, table by table, and the model's error."""
    out.print(words(f"{answer.server}, watched {duration(answer.watched_seconds)}", "dim"))
    for change in answer.changes:
        out.print(
            joined(
                "if ",
                (f"{change.setting} = {setting_text(change.setting, change.to)}", "bold"),
                f" (now {setting_text(change.setting, change.from_)})",
            )
        )
    rows = plain_table("pages read", "now", "then", "cached", right=(1, 2, 3))
    for each in answer.tables:
        name = f"{'.'.join(each.subject.values())} ({value_text(each.pages)} pages), per pass"
        rows.add_row(words(name), *_pair(each.pages_read_per_pass), words(_cached(each)))
        rows.add_row(words("  per second", "dim"), *_pair(each.pages_read_per_second), words(""))
    rows.add_row(words("by everything else, per second"), *_pair(answer.other_pages_read_per_second), words(""))
    rows.add_row(words("in total, per second", "bold"), *_pair(answer.pages_read_per_second), words(""))
    rows.add_row(words("pool pages left for everything else"), *_pair(answer.pages_of_others), words(""))
    rows.add_row(words("  in the young sublist", "dim"), *_pair(answer.young_pages_of_others), words(""))
    out.print(rows)
    for line in _fit_lines(answer):
        out.print(words(line, "dim"))


def print_passes(out: Console, passes: Sequence[Pass]) -> None:
    """One line per pass."""
    columns = ("step", "object", "pass", "pages read", "made young", "not made young", "young", "old", "free")
    rows = plain_table(*columns, right=(0, *range(2, len(columns))))
    for each in passes:
        pages = (
            each.pages_read,
            each.made_young,
            each.not_made_young,
            each.young_pages,
            each.old_pages,
            each.free_pages,
        )
        rows.add_row(str(each.step), words(each.object), str(each.number), *(f"{round(value):,}" for value in pages))
    out.print(rows)


def _pair(amount: Amount) -> tuple[Text, Text]:
    return words(value_text(amount.now)), words(value_text(amount.then))


def _cached(each: TableOutcome) -> str:
    passes = each.passes_until_cached
    if passes is None:
        return "never"
    return "at once" if passes == 0 else "after 1 pass" if passes == 1 else f"after {passes} passes"


def _fit_lines(answer: WhatIf) -> Iterator[str]:
    yield f"model error {answer.error:.1%}, confidence {answer.confidence:g}"
    yield from answer.notes
