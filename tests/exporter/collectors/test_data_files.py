import pytest

from exporter.collectors import data_files
from exporter.collectors.data_files import DATA_FILES, FileReads
from exporter.rows import Rows
from exporter.server import identify
from exporter.snapshot import Snapshot
from tests.exporter.collectors.refusal import refusal
from tests.exporter.exposition import samples

SERVER = identify({"version": "9.7.4", "performance_schema": "ON"})


def test_the_timers_picoseconds_become_seconds() -> None:
    rows = Rows.of(["READ_COUNT", "BYTES", "PICOSECONDS"], [[3, 49152, 2_500_000_000_000]])
    assert data_files.parse([rows]) == FileReads(3, 49152, 2.5)


def test_reads_and_their_time_are_exposed() -> None:
    known = Snapshot(1.0, SERVER, "a@b").with_section(DATA_FILES, FileReads(3, 49152, 2.5))
    assert list(samples(DATA_FILES, known)) == [
        ("innodb_data_file_reads_total", (), 3),
        ("innodb_data_file_read_seconds_total", (), 2.5),
    ]
    unknown = known.with_section(DATA_FILES, None)
    assert not list(samples(DATA_FILES, unknown))


def test_without_performance_schema_it_does_not_run() -> None:
    assert refusal(DATA_FILES, version="9.7.4") == "disabled"


@pytest.mark.parametrize("row", [[None, 1, 1], [1, 1, -1]], ids=["NULL", "negative"])
def test_numbers_that_cannot_be_are_refused(row: list[int | None]) -> None:
    with pytest.raises(ValueError, match="expected"):
        data_files.parse([Rows.of(["read_count", "bytes", "picoseconds"], [row])])
