"""Pages for people: HTML that needs no script, and no style of its own. All text shows, and is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from markdown_it import MarkdownIt

from advisor.contract.visible import visible, visible_lines

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} · innodb-advisor</title>
<link rel="icon" href="/page/icon.svg">
<link rel="stylesheet" href="/page/page.css">
<link rel="stylesheet" href="/page/read.css">
</head>
<body class="read">
<header class="read-top">
<a href="/">innodb-advisor</a>
<nav aria-label="Pages">{links}</nav>
</header>
<main class="read-main">
{content}
</main>
</body>
</html>
"""
_SHORT = 10
"""A text in a table with so many characters stays on one line."""
_WIDE = '<div class="read-wide" tabindex="0"><table>'
"""A table that scrolls where it is too wide, also by the keyboard."""
LINKS: Mapping[str, str] = {
    "/rules": "rules",
    "/history": "history",
    "/curve": "miss curve",
    "/snapshot": "snapshot",
    "/docs": "API",
}
"""The pages of the sidecar."""


@dataclass(frozen=True, slots=True)
class Markup:
    """HTML, which is not escaped again."""

    html: str


Content = str | Markup
"""A text, or HTML."""


def page(title: str, content: str, depth: int = 0, links: Mapping[str, str] = LINKS) -> str:
    """A whole page.

    Args:
        title: As text.
        content: HTML. Its links are paths from the sidecar's root.
        depth: Folders between the root and the page: 1 for /rules/{rule_id}.
        links: Names of other pages by path.
    """
    shown = " ".join(link(path, name).html for path, name in links.items())
    written = _PAGE.format(title=escape(visible(title)), links=shown, content=content)
    # A proxy may have put a path before the root. No text has this: its quotation marks are escaped.
    return written.replace('href="/', f'href="{"../" * depth or "./"}')


def element(name: str, content: Content, kind: str = "") -> str:
    """An element, with a class where ``kind`` names one."""
    of = f' class="{escape(kind)}"' if kind else ""
    return f"<{name}{of}>{_html(content)}</{name}>"


def link(path: str, text: str) -> Markup:
    """A link to a path."""
    return Markup(f'<a href="{escape(path)}">{escape(visible(text))}</a>')


def preformatted(text: str) -> str:
    """A text whose lines stay as they are."""
    return f"<pre>{escape(visible_lines(text))}</pre>"


def details(summary: Content, content: str, *, shown: bool = False) -> str:
    """HTML that is unfolded by its summary."""
    return f"<details{' open' if shown else ''}>{element('summary', summary)}{content}</details>"


def table(columns: Sequence[str], rows: Iterable[Sequence[Content | float | None]]) -> str:
    """A table, which is as wide as it needs to be within a page of any width."""
    head = "".join(f'<th scope="col">{escape(visible(each))}</th>' for each in columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"{_WIDE}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def from_markdown(text: str) -> str:
    """HTML of a text in markdown. HTML in it is shown as text, and no link is a script."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = reader.parse(visible_lines(text))
    for token in tokens:
        # The policy of the pages refuses the attribute style.
        if token.attrs.pop("style", None) == "text-align:right":
            token.attrs["class"] = "read-number"
    written = str(reader.renderer.render(tokens, reader.options, {}))
    return written.replace("<table>", _WIDE).replace("</table>", "</table></div>")


def _cell(value: Content | float | None) -> str:
    match value:
        case None:
            return element("td", "")
        case bool():
            return element("td", str(value).lower())
        case int() | float():
            return element("td", f"{value:,}", "read-number")
        case str() if len(value) <= _SHORT:
            return element("td", value, "read-short")
        case _:
            return element("td", value)


def _html(content: Content) -> str:
    return content.html if isinstance(content, Markup) else escape(visible(content))
