"""Generates exporter/filename_charset.py from a real server's file names: python -m tools.filename_charset [SERVER].

It creates tables whose names have every character of the Basic Multilingual Plane and reads their file names back.
"""

import sys
from pathlib import Path

from lab.servers import NAMES, PrivateServer, start

MODULE = Path(__file__).resolve().parent.parent / "exporter" / "filename_charset.py"
CHARACTERS = [chr(n) for n in range(0x80, 0x10000) if not 0xD800 <= n < 0xE000]
IN_A_NAME = 48  # a file name has 255 bytes, an encoded character up to five

HEAD = '''"""The letters for which MySQL's and MariaDB's file-name encoding has a code of two characters.

Made by tools/filename_charset.py, from the file names that {version}
gives to tables; the other servers give the same. By the code's second character; the first one counts from "0",
and a space stands for a code without a letter.
"""

LETTERS = {{
'''


def codes(server: PrivateServer) -> dict[str, str]:
    """The letters by their codes, such as {"0p": "é"}."""
    letters = {}
    folder = server.datadir / "letters"
    with server.connect(charset="utf8mb4") as connection, connection.cursor() as cursor:
        for first in range(0, len(CHARACTERS), IN_A_NAME):
            name = "".join(CHARACTERS[first : first + IN_A_NAME])
            cursor.execute("CREATE DATABASE letters")
            cursor.execute(f"CREATE TABLE letters.`{name}` (i INT) ENGINE=MEMORY")
            [file] = [path.name for path in folder.iterdir() if path.name != "db.opt"]
            for letter in name:
                length = 5 if file.startswith(f"@{ord(letter):04x}") else 3
                if length == 3:
                    letters[file[1:3]] = letter
                file = file[length:]
            cursor.execute("DROP DATABASE letters")
    return letters


def module(letters: dict[str, str], version: str) -> str:
    """The text of the module."""
    lines = []
    for second in sorted({code[1] for code in letters}):
        row = "".join(letters.get(chr(first) + second, " ") for first in range(ord("0"), 0x80)).rstrip()
        wide = "  # noqa: E501 - these letters are two columns wide" if second == "@" else ""
        lines.append(f'    "{second}": "{row}",{wide}\n')
    return HEAD.format(version=version) + "".join(lines) + "}\n"


if __name__ == "__main__":
    with start(sys.argv[1] if len(sys.argv) > 1 else NAMES[2]) as running:
        MODULE.write_text(module(codes(running), running.version), encoding="utf-8")
