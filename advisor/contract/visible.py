r"""Foreign texts made visible: a name can hold an escape sequence, a line end, or a mark that turns text around.

Names and texts come from the server, from Prometheus, from recordings, and from other people's rules. Programs get them
unchanged, in JSON. People get an escape such as ``\x1b`` or ``\u202e`` in place of each invisible character.
Each way out of the sidecar calls this module; nothing else decides what shows.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # --help needs no pydantic
    from pydantic import BaseModel

_HIDDEN = (
    "\x00-\x1f\x7f-\x9f"  # control characters: they move the cursor, and begin escape sequences
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"  # fillers and the like
    "\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"  # no width; line ends; bidirectional marks
    "\ud800-\udfff\ue000-\uf8ff\ufdd0-\ufdef\ufff0-\ufffb\ufffe\uffff"  # lone surrogates; private use; no characters
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff\U000f0000-\U0010ffff"
)
"""As a set of a regular expression; advisor/http/page/visible.js has the same."""
_JOINER = "(?:(?<=[^\x00-\x7f])[\u200c\u200d](?=[^\x00-\x7f])|(?<=[^\x00-\x7f])[\ufe00-\ufe0f\U000e0100-\U000e01ef])"
"""Invisible as well, but Persian words and many emoji are wrong without them. Nothing needs them beside ASCII."""
_LOOSE = "[\u200c\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef]"
_NOT_SHOWN = re.compile(f"[{_HIDDEN}]{_LOOSE}*|(?!{_JOINER}){_LOOSE}+")
_LINE_END = "\n"
_CALL = re.compile(r"<(?=[!@#]|[a-z][a-z0-9+.-]*:)|(?<!\w)@(?=(?:all|channel|everyone|here)\b)", re.IGNORECASE)
"""What makes a chat call people, or show a link under another name."""


def visible(text: str) -> str:
    r"""The text in one line, with an escape in place of each character that does not show: ``\x1b[31m``, ``\u202e``."""
    return text if _is_plain(text) else _NOT_SHOWN.sub(_escaped, text)


def visible_lines(text: str) -> str:
    """The same for a text of several lines: its line feeds stay."""
    return text if _is_plain(text) else _LINE_END.join(map(visible, text.split(_LINE_END)))


def uncalled(text: str) -> str:
    r"""The text with an escape for each mark that a chat would obey: ``<!channel>`` becomes ``\x3c!channel>``."""
    return _CALL.sub(lambda mark: f"\\x{ord(mark[0]):02x}", text)


def visible_json(text: str) -> str:
    r"""JSON with the same values, whose strings hold ``\u`` and four digits for each character that does not show.

    Args:
        text: Valid JSON. Line feeds between its values stay.
    """
    if _is_plain(text):
        return text
    return _LINE_END.join(
        line if _is_plain(line) else _NOT_SHOWN.sub(_json_escaped, line) for line in text.split(_LINE_END)
    )


def json_of(content: BaseModel, **options: Any) -> str:
    """The JSON of a model, for programs: every value as it is, in characters that all show.

    Args:
        content: The model. Its texts may hold lone surrogates: a file's name does where it is not UTF-8.
        options: As model_dump_json takes them.
    """
    try:
        text = content.model_dump_json(**options)
    except (
        ValueError
    ):  # pydantic's PydanticSerializationError: UTF-8 has no lone surrogates, but the escapes of JSON have
        indent = options.pop("indent", None)
        separators = (",", ":") if indent is None else None
        dumped = content.model_dump(mode="json", **options)
        text = json.dumps(dumped, ensure_ascii=False, indent=indent, separators=separators)
    return visible_json(text)


def _is_plain(text: str) -> bool:
    """Whether nothing in a text needs a closer look. Some invisible characters are printable for Python."""
    return text.isascii() and text.isprintable()


def _escaped(hidden: re.Match[str]) -> str:
    return hidden[0].encode("unicode_escape").decode("ascii")


def _json_escaped(hidden: re.Match[str]) -> str:
    return json.dumps(hidden[0])[1:-1]
