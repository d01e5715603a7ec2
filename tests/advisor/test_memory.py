"""Pages of libraries that only the start needed are given back, and all works on."""

from __future__ import annotations

import pytest

from advisor import memory
from tests.advisor.building import RECORDING, advised, captured


def test_all_works_on_after_pages_were_given_back() -> None:
    before = advised(captured(RECORDING))
    memory.release()
    assert advised(captured(RECORDING)) == before


SMAPS = """\
{where} {permissions} 00001000 08:01 {inode}                      {path}
Size:                 16 kB
Rss:                   8 kB
Anonymous:             {changed} kB
VmFlags: rd ex mr mw me
"""
LIBRARY = {"where": "7f0000001000-7f0000005000", "permissions": "r-xp", "inode": 42, "path": "/l/a.so.1", "changed": 0}


@pytest.mark.parametrize(
    "but",
    [
        {"permissions": "rw-p"},
        {"permissions": "r-xs"},
        {"inode": 0, "path": ""},
        {"path": "[vdso]", "inode": 0},
        {"path": "/usr/lib/locale/C.utf8/LC_CTYPE"},
        {"path": "/usr/bin/python3.11"},
        {"changed": 4},
    ],
    ids=str,
)
def test_only_what_can_be_read_again_from_a_library_is_given_back(but: dict[str, object]) -> None:
    alone = SMAPS.format(**LIBRARY)
    assert list(memory.unchanged(alone)) == [(0x7F0000001000, 0x7F0000005000)]
    assert list(memory.unchanged(SMAPS.format(**{**LIBRARY, **but}))) == []
    assert list(memory.unchanged(alone + SMAPS.format(**{**LIBRARY, **but}))) == [(0x7F0000001000, 0x7F0000005000)]
