"""E4: builds of an index on c char(120) of sysbench's table, by buffer and number of threads."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from advisor.models import ddl
from lab.experiments.base import Cell, Column, Conclusion, Experiment
from lab.harness import measure as harness
from lab.harness.measure import Counters, Figures, leaf_pages, pages_read
from lab.harness.records import Data, Part
from lab.programs import sysbench
from lab.reports.criterion import Criterion
from lab.reports.pictures import BLUE, INK, ORANGE, thousands
from lab.servers import PrivateServer
from lab.servers.sql import execute, query_number

Say = Callable[[str], None]
Variables = Mapping[str, int]

PARALLEL, SERIAL = "mysql-9.7", "mysql-5.6"
PUBLISHED_ROWS, ROWS = 7_000_000, 700_000
ROUNDS = 3
TABLE = f"{sysbench.SCHEMA}.sbtest1"
OPTIONS = {"innodb-buffer-pool-size": "512M", "innodb-doublewrite": "OFF"}  # it holds the table and the index


@dataclass(frozen=True)
class BuildSetting:
    """The settings of a build.

    Attributes:
        published_buffer: innodb_ddl_buffer_size of the published build, bytes.
        ddl_threads: innodb_ddl_threads.
        read_threads: innodb_parallel_read_threads.
    """

    published_buffer: int
    ddl_threads: int
    read_threads: int

    @property
    def buffer(self) -> int:
        """Bytes here: the same share per row."""
        return scaled(self.published_buffer)

    @property
    def variables(self) -> Variables:
        """The session's variables."""
        return {
            "innodb_ddl_buffer_size": self.buffer,
            "innodb_ddl_threads": self.ddl_threads,
            "innodb_parallel_read_threads": self.read_threads,
        }

    def __str__(self) -> str:
        return f"{self.published_buffer} B, {self.ddl_threads} and {self.read_threads} threads"


def scaled(published: int) -> int:
    """The bytes of a published buffer, scaled to the number of rows here."""
    return round(published * ROWS / PUBLISHED_ROWS)


PUBLISHED = {
    BuildSetting(1_048_576, 4, 4): 540.6838,
    BuildSetting(104_857_600, 8, 8): 248.3601,
    BuildSetting(1_048_576_000, 4, 4): 192.2435,
    BuildSetting(1_048_576_000, 8, 8): 189.1862,
    BuildSetting(1_048_576_000, 12, 4): 188.7854,
    BuildSetting(1_048_576_000, 4, 12): 185.9497,
    BuildSetting(1_048_576_000, 16, 8): 184.1161,
    BuildSetting(1_048_576_000, 16, 16): 187.4079,
    BuildSetting(2_097_152_000, 4, 4): 163.6280,
    BuildSetting(2_097_152_000, 8, 8): 164.6516,
    BuildSetting(2_097_152_000, 1, 1): 202.0,
}
"""Seconds: the InnoDB team's table in seed 003. For the last, its text says "about", and "one thread": read as both."""
SETTINGS = tuple(PUBLISHED)
SORT_BUFFER = 1_048_576
"""innodb_sort_buffer_size of releases before 8.0.27 and of the published build on 8.0.13: the default, bytes."""


def _temporary(server: PrivateServer, what: str) -> float:
    return query_number(
        server,
        f"SELECT {what} FROM performance_schema.file_summary_by_event_name"
        " WHERE EVENT_NAME = 'wait/io/file/innodb/innodb_temp_file'",
    )


COUNTERS: Counters = {
    "written_bytes": partial(_temporary, what="SUM_NUMBER_OF_BYTES_WRITE"),
    "file_seconds": partial(_temporary, what="(SUM_TIMER_WRITE + SUM_TIMER_READ) / 1e12"),
    "pages_read": pages_read,
}
"""Bytes written to temporary files; seconds of all threads in writing and reading them; pages read."""


def _build(server: PrivateServer, variables: Variables) -> Figures:
    """Build the index with these session variables, and drop it."""
    with server.connect() as connection, connection.cursor() as cursor:
        for name, value in variables.items():
            cursor.execute(f"SET SESSION {name} = {value}")
        add = f"ALTER TABLE {TABLE} ADD INDEX by_c (c), ALGORITHM=INPLACE"
        figures = harness.measure(server, lambda: cursor.execute(add), counters=COUNTERS)
        cursor.execute(f"ALTER TABLE {TABLE} DROP INDEX by_c")
    return {name: round(value, 3) for name, value in figures.items()}


def measure(server: PrivateServer, say: Say, settings: Mapping[str, Variables]) -> Data:
    """Build the index with each setting in turn, in rounds."""
    say("filling the table")
    sysbench.prepare(server, "oltp_read_only", table_size=ROWS, create_secondary=False)
    execute(server, f"ANALYZE TABLE {TABLE}")
    builds: dict[str, list[Figures]] = {name: [] for name in settings}
    for number in range(1, ROUNDS + 1):
        for name, variables in settings.items():
            say(f"round {number} of {ROUNDS}, {name}")
            builds[name].append(_build(server, variables))
    return {
        "leaf_pages": leaf_pages(server, sysbench.SCHEMA, "sbtest1"),
        "entry_bytes": _entry_bytes(server),
        "builds": builds,
    }


def _entry_bytes(server: PrivateServer) -> float:
    """Mean bytes of an entry's columns: c and the primary key, an INT."""
    return 4.0 + query_number(server, f"SELECT AVG(LENGTH(c)) FROM {TABLE}")


PARTS = (
    Part(
        "experiments/E4",
        PARALLEL,
        PARALLEL,
        OPTIONS | {"innodb-redo-log-capacity": "1G"},
        partial(measure, settings={str(setting): setting.variables for setting in SETTINGS}),
    ),
    Part(
        "experiments/E4",
        SERIAL,
        SERIAL,
        OPTIONS | {"innodb-log-file-size": "512M", "innodb-sort-buffer-size": str(scaled(SORT_BUFFER))},
        partial(measure, settings={SERIAL: {}}),
    ),
)

PUBLISHED_SERIAL, PUBLISHED_PARALLEL = 97.48, 42.87
"""Seconds, seed 003's own: MySQL 8.0.13, and 8.0.27 with 1000 MiB, eight and eight threads."""
FIRST = BuildSetting(1_048_576, 4, 4)
"""The smallest buffer, the reference of all comparisons."""
ALIKE = BuildSetting(1_048_576_000, 8, 8)
"""The setting of seed 003's own build."""
LARGE, LARGEST = BuildSetting(1_048_576_000, 4, 4), BuildSetting(2_097_152_000, 4, 4)
"""Four and four threads, like the first, with 1000 and with 2000 MiB."""
WITH_LARGE_BUFFER = [setting for setting in SETTINGS if setting.published_buffer == LARGE.published_buffer]
"""They differ only in their threads."""
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
class BuildGrid:
    """The builds with all settings.

    Attributes:
        costs: By setting.
        build: The model's input.
    """

    costs: Mapping[BuildSetting, BuildCost]
    build: ddl.IndexBuild

    def predicted(self, setting: BuildSetting) -> float:
        """The model's bytes written to temporary files."""
        return ddl.written_bytes(self.build, setting.buffer, setting.read_threads)

    def times_as_fast(self, setting: BuildSetting) -> float:
        """The speed relative to `FIRST`."""
        return self.costs[FIRST].seconds / self.costs[setting].seconds

    def less_written(self, setting: BuildSetting, other: BuildSetting) -> float:
        """The other setting's bytes written by this one's."""
        return self.costs[other].written / self.costs[setting].written


def conclude(parts: Mapping[str, Data]) -> Conclusion:
    """One row per setting, and one for the release without parallel builds."""
    part = parts[PARALLEL]
    grid = BuildGrid(
        {setting: _cost(part["builds"][str(setting)]) for setting in SETTINGS},
        ddl.IndexBuild(
            ROWS,
            part["entry_bytes"],
            FIELDS,
            # The model assumes 8 bytes for a key column, as the advisor does not know its type; here it is known.
            ddl.subtrees(part["leaf_pages"], INT_BYTES / MODEL_KEY_BYTES),
        ),
    )
    serial = _cost(parts[SERIAL]["builds"][SERIAL])
    serial_cells = (serial.seconds, None, serial.written / MB, None, None, serial.file_seconds, serial.pages_read)
    return Conclusion(
        columns=COLUMNS,
        rows=(*(_row(grid, setting) for setting in SETTINGS), (SERIAL, *[None] * 6, *serial_cells)),
        criteria=tuple(_criteria(grid, serial)),
        differences=tuple(_differences(grid, serial)),
        plot={
            "settings": [f"{_mib(setting)}, {setting.ddl_threads} / {setting.read_threads}" for setting in SETTINGS],
            "published": [round(PUBLISHED[FIRST] / PUBLISHED[setting], 2) for setting in SETTINGS],
            "ours": [round(grid.times_as_fast(setting), 2) for setting in SETTINGS],
            "written": [round(grid.costs[setting].written / MB, 1) for setting in SETTINGS],
            "model": [round(grid.predicted(setting) / MB, 1) for setting in SETTINGS],
        },
    )


def _cost(builds: Sequence[Mapping[str, float]]) -> BuildCost:
    median = {name: statistics.median(build[name] for build in builds) for name in builds[0]}
    written = [build["written_bytes"] for build in builds]
    return BuildCost(median["seconds"], min(written), max(written), median["file_seconds"], median["pages_read"])


def _row(grid: BuildGrid, setting: BuildSetting) -> tuple[Cell, ...]:
    cost = grid.costs[setting]
    return (
        PARALLEL,
        setting.published_buffer / MIB,
        setting.buffer / MIB,
        setting.ddl_threads,
        setting.read_threads,
        PUBLISHED[setting],
        PUBLISHED[FIRST] / PUBLISHED[setting],
        cost.seconds,
        grid.times_as_fast(setting),
        cost.written / MB,
        grid.predicted(setting) / MB,
        ddl.merge_passes(grid.build, setting.buffer, setting.read_threads),
        cost.file_seconds,
        cost.pages_read,
    )


def _criteria(grid: BuildGrid, serial: BuildCost) -> Iterator[Criterion]:
    ratios = [grid.predicted(setting) / grid.costs[setting].written for setting in SETTINGS]
    yield Criterion("bytes written, the model's beside ours, lowest", min(ratios), least=1.0 - WITHIN)
    yield Criterion("bytes written, the model's beside ours, highest", max(ratios), most=1.0 + WITHIN)
    for smaller, larger, least in ((FIRST, LARGE, 2.0), (LARGE, LARGEST, 1.2)):
        what = f"bytes written with {_mib(smaller)} beside those with {_mib(larger)}"
        yield Criterion(what, grid.less_written(larger, smaller), least=least)
    published = f"(published: {PUBLISHED[FIRST] / PUBLISHED[LARGE]:.2f})"
    gained = grid.times_as_fast(LARGE)
    yield Criterion(f"time with {_mib(FIRST)} beside that with {_mib(LARGE)} {published}", gained, least=1.3)
    seconds = [grid.costs[setting].seconds for setting in WITH_LARGE_BUFFER]
    theirs = [PUBLISHED[setting] for setting in WITH_LARGE_BUFFER]
    yield Criterion(
        f"the same beside what threads alone change, slowest to fastest with {_mib(LARGE)}"
        f" (published: {max(theirs) / min(theirs):.2f})",
        gained / (max(seconds) / min(seconds)),
        least=1.0,
    )
    pages = max(cost.pages_read for cost in grid.costs.values())
    yield Criterion("pages read by a build, most", pages, most=0.01 * ROWS)
    what = f"bytes written by {SERIAL} beside those with {_mib(ALIKE)}, {ALIKE.read_threads} threads"
    yield Criterion(what, serial.written / grid.costs[ALIKE].written, least=2.0)


def _mib(setting: BuildSetting) -> str:
    """The published buffer, in words."""
    return f"{setting.published_buffer / MIB:,.0f} MiB"


def _differences(grid: BuildGrid, serial: BuildCost) -> Iterator[str]:
    first, large, alike = (grid.costs[setting] for setting in (FIRST, LARGE, ALIKE))
    gained, published = grid.times_as_fast(LARGE), PUBLISHED[FIRST] / PUBLISHED[LARGE]
    if gained < published / 1.1:
        yield (
            f"The larger buffer makes a build {gained:.2f} times as fast as the smallest, not {published:.2f} times as"
            f" published, although it writes {grid.less_written(LARGE, FIRST):.1f} times less. The difference of"
            f" {(first.written - large.written) / MB:,.0f} MB goes through the system's page cache here: all threads"
            f" together spend {first.file_seconds:.1f} s in writing and reading temporary files in a build of"
            f" {first.seconds:.1f} s, and {large.file_seconds:.1f} s in one of {large.seconds:.1f} s."
        )
    more = [setting for setting in WITH_LARGE_BUFFER if grid.costs[setting].written > 1.2 * large.written]
    if more:
        read_threads = sorted({setting.read_threads for setting in more})
        yield (
            f"More threads alone write more, with {' and '.join(map(str, read_threads))} readers: the readers divide"
            f" the buffer, but the table's root has only {grid.build.subtrees:.1f} full subtrees to share. With the"
            f" published {PUBLISHED_ROWS:,} rows it has {grid.build.subtrees * PUBLISHED_ROWS / ROWS:.0f}."
        )
    excess = {setting: cost.most_written / cost.written - 1.0 for setting, cost in grid.costs.items()}
    uneven = [setting for setting in SETTINGS if excess[setting] > 0.05]
    if uneven:
        names = (f"{_mib(each)}, {each.ddl_threads} and {each.read_threads} threads" for each in uneven)
        yield (
            f"The same build did not always write the same: with {'; '.join(names)} one of three wrote up to"
            f" {max(excess.values()):.0%} more than"
            " the least, which is shown. The readers take subtrees from a common list. A reader that is ahead takes"
            " more than its share; its rows no longer fit its buffer and need another merge pass. The model assumes"
            " equally fast readers."
        )
    there, here = PUBLISHED_SERIAL / PUBLISHED_PARALLEL, serial.seconds / alike.seconds
    yield (
        f"Seed 003's own comparison of 8.0.13 with 8.0.27 at {_mib(ALIKE)} and eight threads: {there:.2f} times as"
        f" fast. Here {SERIAL}, which also builds serially, compared with {PARALLEL}: {here:.2f} times as fast, with"
        f" {serial.written / MB:,.0f} MB written to temporary files and {alike.written / MB:,.0f} MB."
    )


_HEIGHT = 0.36  # of a bar; two a setting


def draw(figure: Figure, data: Data) -> None:
    """Two panels of bars, a pair a setting: times as fast as the first, and bytes written to temporary files."""
    left, right = figure.subplots(1, 2, sharey=True)
    places = range(len(data["settings"]))
    for axes, upper, lower in (
        (left, ("published", "published", ORANGE), ("ours", "here, 9.7", BLUE)),
        (right, ("written", "here, 9.7", BLUE), ("model", "model", INK)),
    ):
        for shift, (name, label, colour) in ((-_HEIGHT / 2, upper), (_HEIGHT / 2, lower)):
            axes.barh([place + shift for place in places], data[name], _HEIGHT, color=colour, label=label)
        axes.grid(axis="x", color=INK, alpha=0.25)
        axes.xaxis.set_major_formatter(FuncFormatter(thousands))
        axes.legend(loc="lower center", ncols=2, fontsize=9, bbox_to_anchor=(0.5, 1.0))
    left.set_yticks(list(places), data["settings"], fontsize=9)
    left.invert_yaxis()
    left.set_ylabel("published buffer, DDL / read threads")
    left.set_xlabel("times as fast as the first")
    right.set_xlabel("MB written to temporary files")


EXPERIMENT = Experiment("E4", "An index build by buffer and threads", PARTS, conclude, draw)
