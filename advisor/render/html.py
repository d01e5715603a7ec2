"""Documents as HTML that needs no script: pages of the sidecar, and files that need no other file."""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path

from markdown_it import MarkdownIt

from advisor.contract.visible import visible, visible_lines
from advisor.render import blocks

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} · innodb-advisor</title>
{head}
</head>
<body class="{kind}">
<header class="read-top">
{top}
</header>
<main class="read-main">
{content}
</main>
</body>
</html>
"""
_HEAD = """\
<link rel="icon" href="/page/icon.svg">
<link rel="stylesheet" href="/page/page.css">
<link rel="stylesheet" href="/page/read.css">"""
_FILE_HEAD = """\
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="referrer" content="no-referrer">
<style>{style}</style>"""
_SHEETS = Path(__file__).parent.parent / "http" / "page"
"""The sidecar's page is styled from there; files look the same."""
_SHORT = 10
"""A text in a table with so many characters stays on one line."""
_WIDE = '<div class="read-wide" tabindex="0">'
"""Around a table that scrolls where it is too wide, also by the keyboard."""
_MARKS = {"critical": "■", "warning": "▲", "info": "●"}
_LABELS = {"apply": "Try", "keep": "Keep", "roll back": "Undo"}
"""Labels of statements, as the page has them."""
_CODE = blocks.STATEMENTS | {"option file", "set"}
LINKS: Mapping[str, str] = {
    "/rules": "rules",
    "/history": "history",
    "/curve": "miss curve",
    "/upgrade": "upgrade",
    "/snapshot": "snapshot",
    "/docs": "API",
}
"""The pages of the sidecar."""


def page(title: str, content: str, depth: int = 0, links: Mapping[str, str] = LINKS) -> str:
    """A page of the sidecar.

    Args:
        title: As text.
        content: HTML. Its links are paths from the sidecar's root.
        depth: Folders between the root and the page: 1 for /rules/{rule_id}.
        links: Names of other pages by path.
    """
    others = " ".join(_shown(blocks.Link(name, path)) for path, name in links.items())
    top = f'<a href="/">innodb-advisor</a>\n<nav aria-label="Pages">{others}</nav>'
    written = _PAGE.format(title=_escaped(title), head=_HEAD, kind="read", top=top, content=content)
    # A proxy may have put a path before the root. No text has this: its quotation marks are escaped.
    return written.replace('href="/', f'href="{"../" * depth or "./"}')


def file(document: blocks.TextDocument, *, old: bool = False) -> str:
    """A document as one file that needs no other: no script, and one style sheet, bound by its hash.

    Whoever serves it sends ``policy()`` as its Content-Security-Policy.

    Args:
        document: What to write.
        old: Whether it is shown in grey, because there should be a newer one.
    """
    sections = [block.text for block in document.blocks if isinstance(block, blocks.Heading) and block.level == 2]
    links = " ".join(_shown(blocks.Link(section, f"#{_anchor(section)}")) for section in sections)
    return _PAGE.format(
        title=_escaped(document.title),
        head=_FILE_HEAD.format(policy=policy(), style=_style()),
        kind="read read-old" if old else "read",
        top=f'<span>innodb-advisor</span>\n<nav aria-label="Sections">{links}</nav>',
        content=html(document),
    )


@functools.cache
def policy(style: str = "") -> str:
    """The Content-Security-Policy of a file: nothing is loaded and nothing runs; the style is known by its hash.

    Args:
        style: The style sheet of the file; by default that of ``file``.
    """
    digest = base64.b64encode(hashlib.sha256((style or _style()).encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


@functools.cache
def _style() -> str:
    return "\n".join((_SHEETS / name).read_text(encoding="utf-8") for name in ("page.css", "read.css"))


def html(document: blocks.TextDocument) -> str:
    """The title and every block, to stand in a page."""
    return f"<h1>{_escaped(document.title)}</h1>{fragment(document.blocks)}"


def from_markdown(text: str) -> str:
    """HTML of a text in markdown. HTML in it is shown as text, and no link is a script."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = reader.parse(visible_lines(text))
    for token in tokens:
        # The policy of the pages refuses the attribute style.
        if token.attrs.pop("style", None) == "text-align:right":
            token.attrs["class"] = "read-number"
    written = str(reader.renderer.render(tokens, reader.options, {}))
    return written.replace("<table>", f"{_WIDE}<table>").replace("</table>", "</table></div>")


def folded(summary: str, content: str) -> str:
    """HTML that is unfolded by its summary."""
    return f"<details><summary>{_escaped(summary)}</summary>{content}</details>"


def fragment(content: Iterable[blocks.Block]) -> str:
    """HTML of the blocks."""
    return "".join(map(_block, content))


def _block(block: blocks.Block) -> str:
    match block:
        case blocks.Heading():
            return f'<h{block.level} id="{_anchor(block.text)}">{_escaped(block.text)}</h{block.level}>'
        case blocks.Paragraph():
            kind = "" if block.kind == "plain" else f' class="{block.kind}"'
            return f"<p{kind}>{_escaped(block.text)}</p>"
        case blocks.Instructions() | blocks.Details():
            steps = "".join(_step(label, line) for label, line in block.lines)
            return f'<dl class="steps">{steps}</dl>' if steps else ""
        case blocks.TextTable():
            return _table(block)
        case blocks.Pasted():
            return f'<div class="code">{_code(block.text)}</div>'
        case blocks.Folded():
            return folded(block.summary, fragment(block.blocks))
        case blocks.Card():
            return _card(block)


def _card(card: blocks.Card) -> str:
    server = f'<bdi class="read-server">{_shown(card.server)}</bdi>' if card.server else ""
    sign = f'<span aria-hidden="true">{_MARKS[card.tone]}</span> ' if card.tone in _MARKS else ""
    mark = f'<span class="severity severity-{card.tone}">{sign}{_escaped(card.mark.capitalize())}</span>'
    head = f'<header class="finding-head">{server}{mark if card.mark else ""}</header>' if server or card.mark else ""
    title = f"<h{card.level}>{_escaped(card.title)}</h{card.level}>"
    kind = f"finding finding-{card.tone}" if card.tone else "finding"
    return f'<article class="{kind}">{head}{title}{fragment(card.blocks)}</article>\n'


def _step(label: str, line: str | blocks.Link) -> str:
    content = _shown(line)
    if label in _CODE:  # which may have several lines
        content = f'<div class="code">{_code(blocks.plain(line))}</div>'
    return f'<div class="step"><dt>{_LABELS.get(label, label.capitalize())}</dt><dd>{content}</dd></div>'


def _code(text: str) -> str:
    return f'<code dir="ltr">{escape(visible_lines(text))}</code>'


def _table(table: blocks.TextTable) -> str:
    """A table, which is as wide as it needs to be; on a phone each row is a block that names its columns."""
    if not table.rows:
        return ""
    kinds = [' class="read-number"' if table.is_right(number) else "" for number in range(len(table.columns))]
    columns = [*zip(map(_escaped, table.columns), kinds, strict=True)]
    head = "".join(f'<th scope="col"{kind}>{title}</th>' for title, kind in columns)
    body = "".join(f"<tr>{''.join(map(_cell, columns, row))}</tr>" for row in table.rows)
    return f'{_WIDE}<table class="read-rows"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(column: tuple[str, str], cell: blocks.Cell) -> str:
    """A cell of a column, of which it gets the title in HTML and the class."""
    title, kind = column
    short = ' class="read-short"' if 0 < len(blocks.plain(cell)) <= _SHORT else ""
    return f'<td{kind or short} data-of="{title}">{_shown(cell)}</td>'


def _shown(cell: blocks.Cell) -> str:
    if isinstance(cell, blocks.Link):
        return f'<a href="{escape(cell.path)}">{_escaped(cell.text)}</a>'
    if isinstance(cell, blocks.Bar):
        return _bar(cell)
    if isinstance(cell, blocks.Toned):
        return f'<span class="severity-{cell.tone}">{_escaped(cell.text)}</span>'
    return _escaped(blocks.plain(cell))


def _bar(bar: blocks.Bar) -> str:
    """A bar as a picture; its numbers stand beside it."""
    low, expected, high = (100 * value / bar.most if bar.most else 0.0 for value in (bar.low, bar.expected, bar.high))
    parts = [("low", 0.0, low), ("high", low, high - low)]
    parts += [("expected", expected - 0.5, 1.0)] if low < high else []
    drawn = "".join(
        f'<rect class="read-bar-{part}" x="{x:.1f}" width="{width:.1f}" height="10"/>' for part, x, width in parts
    )
    return f'<svg class="read-bar" viewBox="0 0 101 10" preserveAspectRatio="none" aria-hidden="true">{drawn}</svg>'


def _escaped(text: str) -> str:
    return escape(visible(text))


def _anchor(heading: str) -> str:
    """The end of an address that leads to a heading."""
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")
