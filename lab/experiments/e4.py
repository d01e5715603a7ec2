"""E4: builds of an index on c char(120) of sysbench's table, by buffer and number of threads."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from advisor.models import ddl
from lab.experiments.base import Column, Conclusion, Experiment, Row
from lab.harness import measure as harness
from lab.harness.measure import Counters, Figures, leaf_pages, pages_read
from lab.harness.records import Data, Part, Say
from lab.harness.workloads import ask
from lab.programs import sysbench
from lab.reports.criterion import Criterion
from lab.reports.pictures import BLUE, INK, ORANGE, thousands
from lab.servers import PrivateServer
from lab.servers.sql import execute, query_number

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
    with server.connect() as connection:
        ask(connection, *(f"SET SESSION {name} = {value}" for name, value in variables.items()))
        add = f"ALTER TABLE {TABLE} ADD INDEX by_c (c), ALGORITHM=INPLACE"
        figures = harness.measure(server, partial(ask, connection, add), counters=COUNTERS)
        ask(connection, f"ALTER TABLE {TABLE} DROP INDEX by_c")
    return {name: round(value, 3) for name, value in figures.items()}


def measure(server: PrivateServer, say: Say, settings: Mapping[str, Variables]) -> Data:
    """Build the index with each setting in turn, in rounds."""
    say("filling the table")
    sysbench.prepare(server, "oltp_read_only", table_size=ROWS, create_secondary=False)
    execute(server, f"ANALYZE TABLE {TABLE}")
    say(f"{ROUNDS} rounds of {len(settings)} builds")
    builds = harness.in_turn(ROUNDS, *(partial(_build, server, variables) for variables in settings.values()))
    return {
        "leaf_pages": leaf_pages(server, sysbench.SCHEMA, "sbtest1"),
        # Mean bytes of an entry's columns: c, and the primary key, an INT.
        "entry_bytes": 4.0 + query_number(server, f"SELECT AVG(LENGTH(c)) FROM {TABLE}"),
        "builds": dict(zip(settings, builds, strict=True)),
    }


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
    Column("server", "server"),
    Column("buffer_there", "buffer there, MiB"),
    Column("buffer", "buffer here, MiB", ",.1f"),
    Column("ddl_threads", "DDL threads"),
    Column("read_threads", "read threads"),
    Column("published", "published, s", ".1f"),
    Column("published_times", "times as fast", ".2f"),
    Column("seconds", "ours, s", ".2f"),
    Column("times", "ours, times as fast", ".2f"),
    Column("written", "temporary files, MB written", ",.0f"),
    Column("model", "the model's, MB", ",.0f"),
    Column("merge_passes", "merge passes, the model's"),
    Column("file_seconds", "in temporary files, s of all threads", ".2f"),
    Column("pages_read", "pages read"),
)

Builds = Mapping[BuildSetting, Mapping[str, float]]
"""The builds with each setting, by the names of the columns."""


def conclude(parts: Mapping[str, Data]) -> Conclusion:
    """One row per setting, and one for the release without parallel builds."""
    part = parts[PARALLEL]
    # The model assumes 8 bytes for a key column, as the advisor does not know its type; here it is known.
    subtrees = ddl.subtrees(part["leaf_pages"], INT_BYTES / MODEL_KEY_BYTES)
    build = ddl.IndexBuild(ROWS, part["entry_bytes"], FIELDS, subtrees)
    costs = {setting: _cost(part["builds"][str(setting)]) for setting in SETTINGS}
    builds = {setting: cost | _beside(setting, cost, costs[FIRST], build) for setting, cost in costs.items()}
    serial = _cost(parts[SERIAL]["builds"][SERIAL])
    rows: list[Row] = [{"server": PARALLEL, **cost} for cost in builds.values()]
    return Conclusion(
        rows=(*rows, {"server": SERIAL, **serial}),
        criteria=tuple(_criteria(builds, serial)),
        figures={
            "first": builds[FIRST],
            "large": builds[LARGE],
            "alike": builds[ALIKE],
            "serial": serial,
            "serial_times": serial["seconds"] / builds[ALIKE]["seconds"],
            "less_written": builds[FIRST]["written"] / builds[LARGE]["written"],
            "subtrees": subtrees,
            "subtrees_there": subtrees * PUBLISHED_ROWS / ROWS,
            "excess": max(cost["most_written"] / cost["written"] for cost in costs.values()) - 1.0,
        },
        plot={
            "settings": [f"{_mib(setting)}, {setting.ddl_threads} / {setting.read_threads}" for setting in SETTINGS],
            "published": [round(cost["published_times"], 2) for cost in builds.values()],
            "ours": [round(cost["times"], 2) for cost in builds.values()],
            "written": [round(cost["written"], 1) for cost in builds.values()],
            "model": [round(cost["model"], 1) for cost in builds.values()],
        },
    )


def _cost(builds: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The cost of a build: medians, but for the least and the most MB written to temporary files.

    The least is written by the build whose readers had equal shares of the subtrees.
    """
    written = [build["written_bytes"] / MB for build in builds]
    medians = {name: statistics.median(build[name] for build in builds) for name in builds[0]}
    return medians | {"written": min(written), "most_written": max(written)}


def _beside(
    setting: BuildSetting, cost: Mapping[str, float], first: Mapping[str, float], build: ddl.IndexBuild
) -> dict[str, float]:
    """A setting, its published numbers, its speed beside the first setting's, and what the model says of it."""
    return {
        "buffer_there": setting.published_buffer / MIB,
        "buffer": setting.buffer / MIB,
        "ddl_threads": setting.ddl_threads,
        "read_threads": setting.read_threads,
        "published": PUBLISHED[setting],
        "published_times": PUBLISHED[FIRST] / PUBLISHED[setting],
        "times": first["seconds"] / cost["seconds"],
        "model": build.written_bytes(setting.buffer, setting.read_threads) / MB,
        "merge_passes": build.merge_passes(setting.buffer, setting.read_threads),
    }


def _criteria(builds: Builds, serial: Mapping[str, float]) -> Iterator[Criterion]:
    ratios = [build["model"] / build["written"] for build in builds.values()]
    yield Criterion("bytes written, the model's beside ours, lowest", min(ratios), least=1.0 - WITHIN)
    yield Criterion("bytes written, the model's beside ours, highest", max(ratios), most=1.0 + WITHIN)
    for smaller, larger, least in ((FIRST, LARGE, 2.0), (LARGE, LARGEST, 1.2)):
        what = f"bytes written with {_mib(smaller)} beside those with {_mib(larger)}"
        yield Criterion(what, builds[smaller]["written"] / builds[larger]["written"], least=least)
    gained, published = builds[LARGE]["times"], f"(published: {builds[LARGE]['published_times']:.2f})"
    yield Criterion(f"time with {_mib(FIRST)} beside that with {_mib(LARGE)} {published}", gained, least=1.3)
    same_buffer = [builds[setting] for setting in SETTINGS if setting.published_buffer == LARGE.published_buffer]
    ours, theirs = (
        max(build[column] for build in same_buffer) / min(build[column] for build in same_buffer)
        for column in ("seconds", "published")
    )
    what = f"the same beside what threads alone change, slowest to fastest with {_mib(LARGE)} (published: {theirs:.2f})"
    yield Criterion(what, gained / ours, least=1.0)
    pages = max(build["pages_read"] for build in builds.values())
    yield Criterion("pages read by a build, most", pages, most=0.01 * ROWS)
    what = f"bytes written by {SERIAL} beside those with {_mib(ALIKE)}, {ALIKE.read_threads} threads"
    yield Criterion(what, serial["written"] / builds[ALIKE]["written"], least=2.0)


def _mib(setting: BuildSetting) -> str:
    """The published buffer, in words."""
    return f"{setting.published_buffer / MIB:,.0f} MiB"


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


EXPERIMENT = Experiment("E4", "An index build by buffer and threads", PARTS, COLUMNS, conclude, draw)
