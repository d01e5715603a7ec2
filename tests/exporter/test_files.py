"""What lies in place of a file is refused at once, and named."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter import files
from exporter.files import MOST_BYTES, open_regular


def test_a_link_is_followed_where_the_user_names_it_and_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("file")
    with open_regular(tmp_path / "link") as file:
        assert file.read() == b"x"
    with pytest.raises(OSError, match="Is a symbolic link"):
        open_regular(tmp_path / "link", follow=False)


def test_a_file_is_read_up_to_its_bound(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(10))
    assert files.content(path, 10) == bytes(10)
    with pytest.raises(OSError, match="Is larger than 0 KiB") as refused:
        files.content(path, 9)
    assert refused.value.filename == str(path)


def test_a_file_without_an_end_is_refused_before_a_library_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(MOST_BYTES)
    files.check(path)
    with path.open("wb") as file:
        file.truncate(10 << 30)
    with pytest.raises(OSError, match="Is larger than 4096 KiB, the most that is read"):
        files.check(path)


def test_a_text_has_the_line_ends_of_unix_and_is_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"\xc3\xa9\r\nb\rc\n")
    assert files.text(path) == "\u00e9\nb\nc\n"
    path.write_bytes(b"\xff")
    with pytest.raises(OSError, match="it is not UTF-8 text"):
        files.text(path)
