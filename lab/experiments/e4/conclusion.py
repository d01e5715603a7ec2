"""The conclusion of E4: index builds compared with the published ones and the model's."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from advisor.models import ddl
from lab.experiments.base import Cell, Column, Conclusion, Expectation
from lab.experiments.e4.experiment import PARALLEL, PUBLISHED, PUBLISHED_ROWS, ROWS, SERIAL, SETTINGS, BuildSetting
from lab.harness.records import Data

PUBLISHED_SERIAL, PUBLISHED_PARALLEL = 97.48, 42.87
"""Seconds, seed 003's own: MySQL 8.0.13, and 8.0.27 with 1000 MiB, eight and eight threads."""
FIRST = BuildSetting(1_048_576, 4, 4)
"""The smallest buffer, the reference of all comparisons."""
ALIKE = BuildSetting(1_048_576_000, 8, 8)
"""The setting of seed 003's own build."""
LARGE, LARGEST = BuildSetting(1_048_576_000, 4, 4), BuildSetting(2_097_152_000, 4, 4)
"""Four and four threads, like the first, with 1000 and with 2000 MiB."""
WITHIN = 0.2
"""The largest error of the model, as a share of the measured value."""
INT_BYTES, MODEL_KEY_BYTES = 4.0, 8.0
FIELDS = 2.0  # c, and the primary key
MIB, MB = 2**20, 1e6

COLUMNS = (
    Column("server"),
    Column("buffer there, MiB"),
    Column("buffer here, MiB", ",.1f"),
    Column("DDL threads"),
    Column("read threads"),
    Column("published, s", ".1f"),
    Column("times as fast", ".2f"),
    Column("ours, s", ".2f"),
    Column("ours, times as fast", ".2f"),
    Column("temporary files, MB written", ",.0f"),
    Column("the model's, MB", ",.0f"),
    Column("merge passes, the model's"),
    Column("in temporary files, s of all threads", ".2f"),
    Column("pages read"),
)


@dataclass(frozen=True)
class BuildCost:
    """The cost of a build with one setting: medians, except for bytes written.

    Attributes:
        seconds: Duration.
        written: Least bytes written to temporary files: by the build whose readers had equal shares of the subtrees.
        most_written: Most bytes written by a build.
        file_seconds: Seconds of all threads in writing and reading temporary files.
        pages_read: Pages read.
    """

    seconds: float
    written: float
    most_written: float
    file_seconds: float
    pages_read: float


@dataclass(frozen=True)
class Grid:
    """The builds with all settings.

    Attributes:
        built: Their costs by setting.
        build: The model's input.
    """

    built: Mapping[BuildSetting, BuildCost]
    build: ddl.IndexBuild

    def foretold(self, setting: BuildSetting) -> float:
        """The model's bytes written to temporary files."""
        return ddl.written_bytes(self.build, setting.buffer, setting.read_threads)

    def passes(self, setting: BuildSetting) -> int:
        """The model's number of merge passes."""
        return ddl.merge_passes(self.build, setting.buffer, setting.read_threads)

    def off(self, setting: BuildSetting) -> float:
        """The model's bytes by the measured ones."""
        return self.foretold(setting) / self.built[setting].written

    def times_as_fast(self, setting: BuildSetting) -> float:
        """The speed relative to `FIRST`."""
        return self.built[FIRST].seconds / self.built[setting].seconds

    def less_written(self, setting: BuildSetting, other: BuildSetting) -> float:
        """The other setting's bytes written by this one's."""
        return self.built[other].written / self.built[setting].written


def conclude(parts: Mapping[str, Data]) -> Conclusion:
    """One row per setting, and one for the release without parallel builds."""
    part = parts[PARALLEL]
    grid = Grid(
        {each: _built(part["builds"][str(each)]) for each in SETTINGS},
        ddl.IndexBuild(
            ROWS,
            part["entry_bytes"],
            FIELDS,
            # The model assumes 8 bytes for a key column, as the advisor does not know its type; here it is known.
            ddl.subtrees(part["leaf_pages"], INT_BYTES / MODEL_KEY_BYTES),
        ),
    )
    serial = _built(parts[SERIAL]["builds"][SERIAL])
    return Conclusion(
        columns=COLUMNS,
        rows=(*(_row(grid, each) for each in SETTINGS), _serial_row(serial)),
        checks=_checks(grid, serial),
        differences=tuple(_differences(grid, serial)),
        plot={
            "settings": [
                f"{each.published_buffer / MIB:,.0f} MiB, {each.ddl_threads} / {each.read_threads}" for each in SETTINGS
            ],
            "published": [round(PUBLISHED[FIRST] / PUBLISHED[each], 2) for each in SETTINGS],
            "ours": [round(grid.times_as_fast(each), 2) for each in SETTINGS],
            "written": [round(grid.built[each].written / MB, 1) for each in SETTINGS],
            "model": [round(grid.foretold(each) / MB, 1) for each in SETTINGS],
        },
    )


def _built(builds: Sequence[Mapping[str, float]]) -> BuildCost:
    median = {name: statistics.median(each[name] for each in builds) for name in builds[0]}
    return BuildCost(
        seconds=median["seconds"],
        written=min(each["written_bytes"] for each in builds),
        most_written=max(each["written_bytes"] for each in builds),
        file_seconds=median["file_seconds"],
        pages_read=median["pages_read"],
    )


def _row(grid: Grid, setting: BuildSetting) -> tuple[Cell, ...]:
    built = grid.built[setting]
    return (
        PARALLEL,
        setting.published_buffer / MIB,
        setting.buffer / MIB,
        setting.ddl_threads,
        setting.read_threads,
        PUBLISHED[setting],
        PUBLISHED[FIRST] / PUBLISHED[setting],
        built.seconds,
        grid.times_as_fast(setting),
        built.written / MB,
        grid.foretold(setting) / MB,
        grid.passes(setting),
        built.file_seconds,
        built.pages_read,
    )


def _serial_row(serial: BuildCost) -> tuple[Cell, ...]:
    unknown = (None,) * 6
    return (
        SERIAL,
        *unknown,
        serial.seconds,
        None,
        serial.written / MB,
        None,
        None,
        serial.file_seconds,
        serial.pages_read,
    )


def _checks(grid: Grid, serial: BuildCost) -> tuple[Expectation, ...]:
    offs = [grid.off(each) for each in SETTINGS]
    large = _with_large_buffer()
    times = [grid.built[each].seconds for each in large]
    published = [PUBLISHED[each] for each in large]
    return (
        Expectation("bytes written, the model's beside ours, lowest", min(offs), least=1.0 - WITHIN),
        Expectation("bytes written, the model's beside ours, highest", max(offs), most=1.0 + WITHIN),
        Expectation(
            f"bytes written with {_mib(FIRST)} beside those with {_mib(LARGE)}",
            grid.less_written(LARGE, FIRST),
            least=2.0,
        ),
        Expectation(
            f"bytes written with {_mib(LARGE)} beside those with {_mib(LARGEST)}",
            grid.less_written(LARGEST, LARGE),
            least=1.2,
        ),
        Expectation(
            f"time with {_mib(FIRST)} beside that with {_mib(LARGE)}"
            f" (published: {PUBLISHED[FIRST] / PUBLISHED[LARGE]:.2f})",
            grid.times_as_fast(LARGE),
            least=1.3,
        ),
        Expectation(
            f"the same beside what threads alone change, slowest to fastest with {_mib(LARGE)}"
            f" (published: {max(published) / min(published):.2f})",
            grid.times_as_fast(LARGE) / (max(times) / min(times)),
            least=1.0,
        ),
        Expectation(
            "pages read by a build, most", max(each.pages_read for each in grid.built.values()), most=0.01 * ROWS
        ),
        Expectation(
            f"bytes written by {SERIAL} beside those with {_mib(ALIKE)}, {ALIKE.read_threads} threads",
            serial.written / grid.built[ALIKE].written,
            least=2.0,
        ),
    )


def _with_large_buffer() -> list[BuildSetting]:
    """The settings that differ from `LARGE` only in their threads."""
    return [each for each in SETTINGS if each.published_buffer == LARGE.published_buffer]


def _mib(setting: BuildSetting) -> str:
    """The published buffer, in words."""
    return f"{setting.published_buffer / MIB:,.0f} MiB"


def _differences(grid: Grid, serial: BuildCost) -> Iterator[str]:
    first, large = grid.built[FIRST], grid.built[LARGE]
    gained, published = grid.times_as_fast(LARGE), PUBLISHED[FIRST] / PUBLISHED[LARGE]
    if gained < published / 1.1:
        yield (
            f"The larger buffer makes a build {gained:.2f} times as fast as the smallest, not {published:.2f} times as"
            f" published, although it writes {grid.less_written(LARGE, FIRST):.1f} times less. The difference of"
            f" {(first.written - large.written) / MB:,.0f} MB goes through the system's page cache here: all threads"
            f" together spend {first.file_seconds:.1f} s in writing and reading temporary files in a build of"
            f" {first.seconds:.1f} s, and {large.file_seconds:.1f} s in one of {large.seconds:.1f} s."
        )
    more = [each for each in _with_large_buffer() if grid.built[each].written > 1.2 * large.written]
    if more:
        read_threads = sorted({each.read_threads for each in more})
        yield (
            f"More threads alone write more, with {' and '.join(map(str, read_threads))} readers: the readers divide"
            f" the buffer, but the table's root has only {grid.build.subtrees:.1f} full subtrees to share. With the"
            f" published {PUBLISHED_ROWS:,} rows it has {grid.build.subtrees * PUBLISHED_ROWS / ROWS:.0f}."
        )
    uneven = [each for each in SETTINGS if grid.built[each].most_written > 1.05 * grid.built[each].written]
    if uneven:
        yield (
            f"The same build did not always write the same: with {'; '.join(_named(each) for each in uneven)} one of"
            " three wrote up to"
            f" {max(grid.built[each].most_written / grid.built[each].written - 1.0 for each in uneven):.0%} more than"
            " the least, which is shown. The readers take subtrees from a common list. A reader that is ahead takes"
            " more than its share; its rows no longer fit its buffer and need another merge pass. The model assumes"
            " equally fast readers."
        )
    there, here = PUBLISHED_SERIAL / PUBLISHED_PARALLEL, serial.seconds / grid.built[ALIKE].seconds
    yield (
        f"Seed 003's own comparison of 8.0.13 with 8.0.27 at {_mib(ALIKE)} and eight threads: {there:.2f} times as"
        f" fast. Here {SERIAL}, which also builds serially, compared with {PARALLEL}: {here:.2f} times as fast, with"
        f" {serial.written / MB:,.0f} MB written to temporary files and {grid.built[ALIKE].written / MB:,.0f} MB."
    )


def _named(setting: BuildSetting) -> str:
    return f"{_mib(setting)}, {setting.ddl_threads} and {setting.read_threads} threads"
