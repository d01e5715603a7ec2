"""Sizes of indexes, and runs and merge passes of builds, agree with those of MySQL 9.7."""

import pytest

from advisor.models.ddl import IndexBuild, index_pages, key_bytes, sort_buffer_bytes, subtrees

MIB = 1 << 20
CHAR_120 = IndexBuild(entries=400_000, key_bytes=124, fields=2, subtrees=4)
CHAR_60 = IndexBuild(entries=400_000, key_bytes=64, fields=2)
ONE_INT = IndexBuild(entries=400_000, key_bytes=8, fields=2)
THREE_INTS = IndexBuild(entries=400_000, key_bytes=16, fields=4)


@pytest.mark.parametrize(
    ("share", "left"),
    [(4 * MIB, 3 * MIB), (MIB, 512 << 10), (512 << 10, 384 << 10), (256 << 10, 192 << 10), (128 << 10, 96 << 10)],
)
def test_a_part_of_each_thread_s_share_buffers_its_writing(share: int, left: int) -> None:
    assert sort_buffer_bytes(share * 4, threads=4) == left


def test_a_small_share_keeps_half_a_page_and_a_block_for_writing_and_never_falls_below_a_page() -> None:
    assert sort_buffer_bytes(MIB, threads=16) == (64 << 10) - (12 << 10)
    assert sort_buffer_bytes(MIB, threads=32) == (32 << 10) - (12 << 10)
    assert sort_buffer_bytes(MIB * 5 / 8, threads=32) == 20 << 10
    assert sort_buffer_bytes(MIB, threads=256) == 16 << 10


@pytest.mark.parametrize(
    ("build", "buffer_mib", "threads", "times_written"),
    [
        # Measured: bytes written to innodb_temp_file, in times of all entries.
        (CHAR_120, 1, 4, 7.86),
        (CHAR_120, 4, 4, 6.86),
        (CHAR_120, 16, 4, 3.85),
        (CHAR_120, 64, 4, 1.85),
        (CHAR_120, 256, 4, 1.0),
        (CHAR_120, 1, 1, 9.0),
        (CHAR_120, 64, 1, 2.0),
        (CHAR_120, 16, 2, 4.0),
        (CHAR_120, 1, 8, 8.87),
        (CHAR_60, 1, 1, 8.0),
        (CHAR_60, 4, 1, 6.0),
        (CHAR_60, 16, 1, 3.0),
        (ONE_INT, 1, 1, 7.1),
        (ONE_INT, 4, 1, 5.0),
        (ONE_INT, 32, 1, 1.0),
        (THREE_INTS, 1, 1, 8.0),
        (THREE_INTS, 8, 1, 4.0),
    ],
)
def test_written_bytes_are_within_a_twentieth_of_the_measured_ones(
    build: IndexBuild, buffer_mib: int, threads: int, times_written: float
) -> None:
    predicted = build.written_bytes(buffer_mib * MIB, threads)
    assert predicted == pytest.approx(times_written * build.file_bytes, rel=0.05)


@pytest.mark.parametrize(
    ("bytes_of_key", "buffer_kib", "buffers"),
    [
        # Measured on MySQL 5.6.24, 400,000 entries: writes of whole buffers to innodb_temp_file.
        (8, 64, 385),
        (8, 1024, 12),
        (8, 4096, 1),
        (124, 64, 8403),
        (124, 1024, 336),
        (124, 4096, 60),
        (124, 16384, 9),
        (128, 1024, 350),
        (128, 4096, 65),
        (70, 1024, 168),
        (70, 4096, 28),
        (70, 16384, 4),
    ],
)
def test_a_build_before_8_0_27_writes_as_many_buffers_as_5_6_did(
    bytes_of_key: float, buffer_kib: int, buffers: int
) -> None:
    build, buffer = IndexBuild(entries=400_000, key_bytes=bytes_of_key, fields=2), buffer_kib << 10
    assert build.sorted_bytes(buffer) == pytest.approx(buffers * buffer, rel=0.002)


def test_an_entry_has_its_columns_and_one_byte_more() -> None:
    assert [build.file_bytes / build.entries for build in (ONE_INT, CHAR_60, THREE_INTS)] == [9, 65, 17]


LEAF_PAGES, SUBTREES = 3_637, (601, 1_203, 1_203, 630)
"""Subtrees of the table of notes, whose key is an INT, from its data file."""
NOTES = IndexBuild(entries=200_000, key_bytes=258, fields=3, subtrees=LEAF_PAGES / max(SUBTREES))


@pytest.mark.parametrize(
    ("buffer_mib", "measured"),
    [
        (1, {1: 466.6e6, 2: 415.1e6, 4: 398.0e6, 8: 450.1e6, 16: 505.0e6, 32: 612.9e6}),
        (64, {1: 103.6e6, 2: 103.6e6, 4: 86.1e6, 8: 137.9e6, 16: 189.8e6, 32: 293.8e6}),
    ],
)
def test_more_threads_than_subtrees_write_more(buffer_mib: int, measured: dict[int, float]) -> None:
    predicted = {threads: NOTES.written_bytes(buffer_mib * MIB, threads) for threads in measured}
    assert predicted == pytest.approx(measured, rel=0.02)


def test_the_subtrees_of_the_root_are_shared_as_wholes() -> None:
    assert NOTES.shares(32) == pytest.approx([pages / LEAF_PAGES for pages in SUBTREES], abs=0.01)
    first, second, third, last = NOTES.shares(4)
    assert NOTES.shares(2) == pytest.approx([first + third, second + last])
    assert NOTES.shares(3) == pytest.approx([load + last / 3 for load in (first, second, third)])  # the last is split
    assert NOTES.shares(1) == pytest.approx([1.0])
    assert IndexBuild(1, 1, 1).shares(4) == [0.25] * 4


def test_subtrees_are_counted_with_a_key_of_eight_bytes_and_leaf_pages_where_there_is_no_level_between() -> None:
    assert subtrees(LEAF_PAGES, key_columns=1) == pytest.approx(3.92, abs=0.01)
    assert [subtrees(leaf, key_columns=1) for leaf in (0, 1, 900)] == [1, 1, 900]


def test_the_smallest_buffer_that_is_enough_is_found() -> None:
    buffer = CHAR_120.enough_buffer(threads=4, at_most=1 << 30)
    assert buffer == 64 * MIB
    assert CHAR_120.merge_passes(buffer, 4) == 1
    assert CHAR_120.merge_passes(buffer / 2, 4) > 1


def test_the_buffer_is_bounded() -> None:
    assert CHAR_120.enough_buffer(threads=4, at_most=20 * MIB) == 16 * MIB
    assert CHAR_120.enough_buffer(threads=4, at_most=1_000) is None
    assert IndexBuild(1e10, 500, 4).enough_buffer(threads=256, at_most=1 << 40) == (1 << 32) - 1


@pytest.mark.parametrize(("bytes_of_key", "leaf_pages"), [(4, 15), (16, 32), (36, 62)])
def test_an_index_on_the_key_has_as_many_leaf_pages_as_a_server_made(bytes_of_key: int, leaf_pages: int) -> None:
    assert index_pages(24_000, bytes_of_key) == pytest.approx(leaf_pages, abs=1)


@pytest.mark.parametrize(("leaf_pages", "bytes_of_key"), [(333, 8), (1_717, 64), (530, 16)])
def test_the_size_of_entries_follows_from_their_pages(leaf_pages: int, bytes_of_key: int) -> None:
    assert key_bytes(400_000, leaf_pages) == pytest.approx(bytes_of_key, rel=0.02)
