"""What a gzip file holds, and what is refused after it."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from pathlib import Path

import pytest

from exporter.recording.bounds import gunzip
from exporter.recording.file import RecordingError, replay

CAPTURE = Path(__file__).parents[2] / "captures/mysql-9.7/repeated-scan/recording.jsonl.gz"
TEXT = b"".join(b"line %d\n" % number for number in range(50_000))


def test_it_reads_what_gzip_writes_line_by_line() -> None:
    assert b"".join(gunzip(io.BytesIO(gzip.compress(TEXT)))) == TEXT
    assert gunzip(io.BytesIO(gzip.compress(b""))).read() == b""


def test_many_bytes_out_of_few_come_in_parts() -> None:
    file = gunzip(io.BytesIO(gzip.compress(bytes(50 << 20), 1)))
    assert sum(len(part) for part in iter(lambda: file.read(1 << 20), b"")) == 50 << 20


@pytest.mark.parametrize(
    "after",
    [b"\0", b"\0" * 100_000, gzip.compress(b"more"), b"noise"],
    ids=["a zero", "zeros", "another stream", "noise"],
)
def test_what_follows_its_end_is_refused(after: bytes) -> None:
    with pytest.raises(gzip.BadGzipFile, match="something follows its end"):
        gunzip(io.BytesIO(gzip.compress(TEXT) + after)).read()


def test_what_is_cut_damaged_or_something_else_is_told_apart() -> None:
    packed = gzip.compress(TEXT)
    for cut in (0, 5, len(packed) // 2, len(packed) - 1):
        with pytest.raises(EOFError):
            gunzip(io.BytesIO(packed[:cut])).read()
    with pytest.raises(zlib.error):
        gunzip(io.BytesIO(packed[:-8] + b"\1" * 8)).read()
    with pytest.raises(gzip.BadGzipFile):
        gunzip(io.BytesIO(b"no gzip file")).read()


def test_a_recording_in_a_sparse_file_of_10_gb_is_refused_after_its_end(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl.gz"
    path.write_bytes(CAPTURE.read_bytes())
    os.truncate(path, 10 << 30)
    with pytest.raises(RecordingError, match=r"damaged after line .*something follows its end"):
        list(replay(path))
