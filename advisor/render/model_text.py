"""Answers of the model of the LRU list for people: on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from advisor.contract.recommendation import tidy
from advisor.contract.templates import duration
from advisor.models.lru.scenario import Pass
from advisor.render.phrases import shown
from advisor.render.text import plain_table
from advisor.whatif.answer import Amount, TableOutcome, WhatIf


def print_what_if(out: Console, answer: WhatIf) -> None:
    """What would change, table by table, and how sure that is."""
    out.print(
        f"{answer.server}, watched {duration(answer.watched_seconds)}", style="dim", markup=False, highlight=False
    )
    for change in answer.changes:
        out.print(
            Text.assemble("if ", (f"{change.setting} = {shown(change.to)}", "bold"), f" (now {_was(change.from_)})")
        )
    rows = plain_table("pages read", "now", "then", "cached")
    for column in rows.columns[1:]:
        column.justify = "right"
    for each in answer.tables:
        name = f"{'.'.join(each.subject.values())} ({shown(each.pages)} pages), a pass"
        rows.add_row(Text(name), *_pair(each.pages_read_per_pass), Text(_cached(each)))
        rows.add_row(Text("  a second", "dim"), *_pair(each.pages_read_per_second), Text())
    rows.add_row(Text("by anything else, a second"), *_pair(answer.other_pages_read_per_second), Text())
    rows.add_row(Text("by all, a second", "bold"), *_pair(answer.pages_read_per_second), Text())
    rows.add_row(Text("pool pages left for everything else"), *_pair(answer.pages_of_others), Text())
    rows.add_row(Text("  in the young sublist", "dim"), *_pair(answer.young_pages_of_others), Text())
    out.print(rows)
    for line in _fit(answer):
        out.print(line, style="dim", markup=False, highlight=False)


def print_passes(out: Console, passes: Sequence[Pass]) -> None:
    """One line a pass."""
    rows = plain_table("step", "object", "pass", "pages read", "made young", "not made young", "young", "old", "free")
    for number, column in enumerate(rows.columns):
        column.justify = "left" if number == 1 else "right"
    for each in passes:
        pages = (
            each.pages_read,
            each.made_young,
            each.not_made_young,
            each.young_pages,
            each.old_pages,
            each.free_pages,
        )
        rows.add_row(str(each.step), Text(each.object), str(each.number), *(f"{round(value):,}" for value in pages))
    out.print(rows)


def _pair(amount: Amount) -> tuple[Text, Text]:
    return Text(shown(amount.now)), Text(shown(amount.then))


def _cached(each: TableOutcome) -> str:
    passes = each.passes_until_cached
    if passes is None:
        return "never"
    return "at once" if passes == 0 else "after 1 pass" if passes == 1 else f"after {passes} passes"


def _was(value: float | str | None) -> str:
    return "not known" if value is None else shown(value if isinstance(value, str) else tidy(value))


def _fit(answer: WhatIf) -> Iterator[str]:
    yield f"model error {answer.error:.1%}, confidence {answer.confidence:g}"
    for hot in answer.hot_sets:
        yield (
            f"hot set as {'assumed' if hot.assumed else 'fitted'}: {shown(hot.pages)} pages,"
            f" {shown(hot.accesses_per_second)} accesses a second, skew {hot.skew:g}"
        )
    yield from answer.notes
