"""Answers in pages: each within a bound, every name of the server's owner quoted, and a cursor for the rest.

The names of schemas, tables and indexes come from whoever may create a table. They reach an agent as data: what does
not show is escaped, and in sentences a subject stands in double quotes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, Field

from advisor.contract.recommendation import Frozen
from advisor.contract.visible import visible, visible_lines
from advisor.mcp.endpoint import NotAnswered
from advisor.render import phrases

Shown = TypeVar("Shown", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class AnswerBounds:
    """How long an answer is.

    Attributes:
        tokens: Of an answer at most: its paragraph, its JSON as text, and its JSON as structured content, though most
            clients show one of the last two.
        characters: That a token of an answer has at least on average: a miss curve, which has the most numbers, had 2.6
            in the tokens of cl100k_base, and the other answers about the largest capture 3.4 to 3.9.
        paragraph: Characters of a paragraph at most.
        texts: Characters of a sentence at most, and of a statement or a line of a file; the next ones where a single
            item is too long.
    """

    tokens: int = 2000
    characters: float = 2.5
    paragraph: int = 1200
    texts: tuple[tuple[int, int], ...] = ((2400, 2400), (600, 2400), (120, 2400), (120, 600), (60, 120))

    @property
    def longest(self) -> int:
        """Characters of an answer at most."""
        return int(self.tokens * self.characters)


BOUNDS = AnswerBounds()
_CODE = frozenset(
    {
        *("apply", "rollback", "persist", "config", "undo", "undo_config", "sql", "promql", "command", "text", "line"),
        *("fingerprint", "rule", "server", "subject", "setting", "name", "file"),
    }
)
"""Fields that hold statements, lines of files and keys: a program takes them as they are."""
_STATEMENTS = frozenset({"apply", "rollback", "persist", "undo", "sql"})
_OF_LINES = frozenset({*_STATEMENTS, "text", "config", "undo_config", "line", "command", "promql"})
_CUT = " …"


class AnswerPage(Frozen, Generic[Shown]):
    """A page of an answer. Fields that have their default are left out."""

    answer: Shown
    left_out: int = Field(0, description="Items that the next pages have.")
    next_cursor: str | None = Field(None, description="Ask again with it as cursor; null on the last page.")


@dataclass(frozen=True, slots=True)
class WrittenPage:
    """A page in both forms.

    Attributes:
        structured: The JSON values of an `AnswerPage`.
        paragraph: What the whole answer says, for people.
    """

    structured: Mapping[str, Any]
    paragraph: str

    @property
    def text(self) -> str:
        """The JSON as text: a client without structured content shows this."""
        return json.dumps(self.structured, ensure_ascii=False, separators=(",", ":"))

    @property
    def length(self) -> int:
        """Characters of all that is sent."""
        return len(self.paragraph) + 2 * len(self.text)


def written(answer: Shown, paragraph: Callable[[Shown], str], cursor: str | None = None) -> WrittenPage:
    """A page of an answer.

    An answer is as long as its fields that are lists: a page has the other fields, and some of the items of its lists
    in their order.

    Args:
        answer: The whole answer.
        paragraph: What it says.
        cursor: Where the page begins: ``next_cursor`` of the page before; None for the first one.

    Raises:
        NotAnswered: The cursor is none of this answer.
    """
    items = sum(len(getattr(answer, name)) for name in _lists(answer))
    start = _start(cursor, items)
    values = answer.model_dump(mode="json", by_alias=True)
    for sentence, code in BOUNDS.texts:
        whole = type(answer).model_validate(_shown(values, "", {}, (sentence, code)))

        def page(count: int, whole: Shown = whole) -> WrittenPage:
            return _written(whole, paragraph, start, count)

        fewest, most = min(1, items - start), items - start
        if page(fewest).length > BOUNDS.longest:
            continue
        while fewest < most:  # the most items that fit
            count = (fewest + most + 1) // 2
            fewest, most = (count, most) if page(count).length <= BOUNDS.longest else (fewest, count - 1)
        return page(fewest)
    raise NotAnswered("the answer is too long to be shown: ask for a part of it")


def _shown(value: Any, field: str, names: Mapping[str, re.Pattern[str]], longest: tuple[int, int]) -> Any:
    """A JSON value for an agent: everything in it shows, sentences quote their subjects, and no text is endless.

    Args:
        value: Of a field, or in one.
        field: Its name.
        names: The subjects of the values around it.
        longest: Characters of a sentence, and of code.
    """
    match value:
        case dict():
            names = {**names, **_subject(value)}
            return {
                name: _shown(part, field if field == "subject" else name, names, longest)
                for name, part in value.items()
            }
        case list():
            return [_shown(part, field, names, longest) for part in value]
        case str() if field in _CODE:
            return _code(value, field, longest[1])
        case str():
            return _cut(visible(_quoted(value, names)), longest[0])
    return value


def _subject(values: Mapping[str, Any]) -> Mapping[str, re.Pattern[str]]:
    """The name of the subject that values have, as sentences have it, and where it stands without quotes."""
    name = ".".join(map(str, (values.get("subject") or {}).values()))
    return {name: re.compile(rf"(?<![\w\"`]){re.escape(name)}(?![\w\"`])")} if name else {}


def _quoted(text: str, names: Mapping[str, re.Pattern[str]]) -> str:
    """A sentence with each name in double quotes; a name within another one is no name of its own."""
    for name, place in sorted(names.items(), key=lambda item: -len(item[0])):
        text = place.sub(json.dumps(visible(name)).replace("\\", r"\\"), text)
    return text


def _code(text: str, field: str, longest: int) -> str:
    """A text for programs. A statement that is another one as it is shown, or as it is cut, becomes a comment."""
    if field not in _OF_LINES:
        return _cut(visible(text), longest)
    if field in _STATEMENTS and (statement := phrases.statement(text)) != f"{text};":
        return _cut(statement, longest)
    if len(text) > longest:
        return f"-- {len(text):,} characters, which an answer has no room for: the sidecar's HTTP API has them"
    return visible_lines(text)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - len(_CUT)] + _CUT


def _lists(answer: BaseModel) -> list[str]:
    """The fields of an answer that are lists."""
    return [name for name in type(answer).model_fields if isinstance(getattr(answer, name), tuple)]


def _start(cursor: str | None, items: int) -> int:
    if not cursor:
        return 0
    if not re.fullmatch("[1-9][0-9]{0,8}", cursor) or int(cursor) >= items:
        raise NotAnswered("this is no cursor of the answer: pass next_cursor of the page before, and the same question")
    return int(cursor)


def _written(whole: Shown, paragraph: Callable[[Shown], str], start: int, count: int) -> WrittenPage:
    lists, before, end = dict[str, Any](), 0, start + count
    for name in _lists(whole):
        values = getattr(whole, name)
        lists[name] = values[max(0, start - before) : max(0, end - before)]
        before += len(values)
    rest = before - end
    cursor = str(end) if rest else None
    page: AnswerPage[BaseModel] = AnswerPage(answer=whole.model_copy(update=lists), left_out=rest, next_cursor=cursor)
    more = f" {rest} items are left out: ask again with cursor {end}." if rest else ""
    point = f"Items {start + 1} to {end} of {before}." if start else _cut(paragraph(whole), BOUNDS.paragraph)
    structured = page.model_dump(mode="json", by_alias=True, exclude_defaults=True, serialize_as_any=True)
    return WrittenPage(structured, point + more)
