"""Names and texts that a terminal, a spreadsheet, a chat, a browser or a server would take for something else."""

from __future__ import annotations

import itertools
import unicodedata

NAMES = (
    "<script>document.title = 1</script>",
    '"><img src=x onerror=alert(1)>',
    "</style><style>body { display: none }</style>",
    "</pre><script>document.title = 1</script>",
    "--><!--",
    "&lt;b&gt; &#60;i&#62; &amp;",
    "{content} {0} %s",
    "{{ .Labels }} {{ $value }} {{ template }}",
    "<!channel> <@U024BE7LH> <https://example.com|bank> @here",
    "`back` ```ticks```",
    "a|b|c",
    "*strong* _em_ __init__ ~~gone~~",
    "[link](http://example.com) ![image](x) <http://example.com>",
    "# heading",
    "ends in #",
    "- list",
    "[red]rich[/red] [/] [link=http://example.com]x[/link] :warning:",
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b]8;;http://example.com\x07x\x1b]8;;\x07 \x9b1A",
    "two\nlines\r\nthree\u2028four\x0bfive\x85six",
    "x\n2026-01-01 00:00:00,000 INFO innodb-advisor: all is well",
    "x`; DROP TABLE orders; -- ",
    "x'; DROP TABLE orders; -- ",
    'x"; DROP TABLE orders; -- ',
    "x */ DROP TABLE orders; /*",
    "x\n`; DROP TABLE orders",
    "back\\slash\\",
    "user\u202egnp.exe \u2066isolated\u2069 \u200fmark",
    "zero\u200bwidth\ufeff soft\xadhyphen or\u200cders \u2060word\u115ffiller\u3164",
    "nul\x00 tab\t bell\x07 delete\x7f",
    "lone \ud800 surrogate",
    "=cmd|'/c calc'!A1",
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    " =1+1",
    "\t=1+1",
    "\uff1d1\uff0b1",
    "订单⚡数据库",
    "👩‍👩‍👧 ❤️",
    "שלום",
    "quo\"te, comma; semicolon's",
    "w" * 64,
)
"""Of servers, labels, rules and files."""
IDENTIFIERS = tuple(
    name.rstrip()[:64].rstrip()
    for name in NAMES
    if "\x00" not in name and all(character < "\ud800" or "\udfff" < character <= "\uffff" for character in name)
)
"""Those that MySQL and MariaDB take as the name of a table: of the basic multilingual plane, at most 64 characters."""
_MOVES = ("Cc", "Cf", "Cs", "Zl", "Zp")


def raw(text: str, allowed: str = "\n") -> set[str]:
    """Characters that move a cursor, turn text around or show nothing; a joiner may stand within other scripts.

    Args:
        text: What a person gets to see.
        allowed: Characters that may be in it all the same.
    """
    odd = {character for character in text if unicodedata.category(character) in _MOVES} - {*allowed, "\u200d"}
    return odd | {"\u200d" for left, character in itertools.pairwise(text) if character == "\u200d" and left.isascii()}
