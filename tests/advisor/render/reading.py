"""What a reader sees of a document."""

from __future__ import annotations

from html.parser import HTMLParser

from markdown_it import MarkdownIt

VOID = {"meta", "link", "br", "rect", "hr", "img", "input"}


class ReadPage(HTMLParser):
    """What a browser would make of a page: its elements, and its text."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.comments: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    @property
    def tags(self) -> set[str]:
        return {tag for tag, _ in self.elements}

    @property
    def text(self) -> str:
        return "".join(self.texts)


def squeezed(text: str) -> str:
    """Without the white space that a table folds and a page collapses."""
    return "".join(text.split())


def in_html(markdown: str) -> str:
    """What a chat or a ticket makes of markdown."""
    return str(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown))


def shown(name: str, source: str) -> str:
    """What a reader sees of a document as text, markdown or html."""
    match name:
        case "html":
            return ReadPage(source).text
        case "markdown":
            return ReadPage(in_html(source)).text
    return source
