"""Whatever rows a server returns, Prometheus accepts the served text, and no number in it is impossible."""

import functools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics
from prometheus_client.parser import text_string_to_metric_families

from exporter.exposition import Spec, assemble
from exporter.recording import file
from exporter.rows import Rows, Value, plain
from exporter.sampling.assembly import Answer, Assembler
from exporter.sampling.metrics import SPECS, families
from exporter.server import Server
from exporter.snapshot import Snapshot

CAPTURES = Path(__file__).parents[1] / "captures"
RECORDED = [
    CAPTURES / server / "repeated-scan" / "recording.jsonl.gz"
    for server in ("mysql-9.7", "mysql-5.6", "mariadb-11.8", "mariadb-10.11", "mariadb-10.5")
]
SETTINGS = {"innodb_setting", "innodb_setting_info"}
NUMBERS = [-1, 0, 2**31, 2**32 - 1, 2**53, 2**63, 2**64 - 1, 10**30, -(2**63), 0.5, 1e300, float("inf"), float("nan")]
TEXTS = ["", " ", "NULL", "nan", "inf", "-1", "1_0", "٣", "9" * 5000, "18446744073709551615", "0x10", "1e400", "ON"]
NAMES = [
    "a\nb",
    'a"b',
    "a\\",
    "a\\nb",
    "😀",
    "日" * 64,
    "\0",
    "\ufffd",
    "\ud800",
    "__other__",
    "a/b",
    "`a`.`b`",
    "/",
    "@",
]

values = st.one_of(
    st.sampled_from([None, *NUMBERS, *TEXTS, *NAMES]),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary().map(lambda raw: raw.decode(errors="replace")),
)


class _Only:
    """A collector of families for prometheus_client's own rendering."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        return iter(self._families)


def rendered(snapshot: Snapshot) -> str:
    registry = CollectorRegistry(auto_describe=False)
    exposed = list(families(snapshot))
    registry.register(_Only(exposed))
    assert openmetrics(registry).endswith(b"# EOF\n")  # type: ignore[no-untyped-call]  # it has no types
    return generate_latest(registry).decode()


@functools.cache
def answers(path: Path) -> tuple[Server, dict[str, Answer]]:
    """The server's identity, and each collector's first answer."""
    first_answers: dict[str, Answer] = {}
    servers: list[Server] = []

    class Taking(Assembler):
        def __init__(self, server: Server, account: str) -> None:
            super().__init__(server, account)
            servers.append(server)

        def take(self, answer: Answer) -> None:
            super().take(answer)
            first_answers.setdefault(answer.collector, answer)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file, "Assembler", Taking)
        list(file.replay(path))
    return servers[0], first_answers


@st.composite
def odd_answers(draw: st.DrawFn) -> tuple[Server, list[Answer]]:
    """A real server's answers, with some values of one answer replaced."""
    server, first_answers = answers(draw(st.sampled_from(RECORDED)))
    # The rows of the machine are made by the sidecar itself.
    kinds = sorted(
        name for name, answer in first_answers.items() if name != "machine" and any(map(len, answer.results))
    )
    name = draw(st.sampled_from(kinds))
    odd = first_answers[name]
    results = [[list(row) for row in rows.rows] for rows in odd.results]
    for _ in range(draw(st.integers(1, 4))):
        rows = results[draw(st.sampled_from([n for n, rows in enumerate(results) if rows]))]
        row = rows[draw(st.integers(0, len(rows) - 1))]
        row[draw(st.integers(0, len(row) - 1))] = plain(draw(values))
        if draw(st.booleans()):
            rows.append(list(row))  # the same name again
    changed = tuple(Rows(rows.columns, tuple(map(tuple, new))) for rows, new in zip(odd.results, results, strict=True))
    odd = Answer(odd.collector, odd.at, odd.seconds, changed)
    return server, [odd if answer.collector == name else answer for answer in first_answers.values()]


@settings(max_examples=60)
@given(odd_answers())
def test_odd_values_give_no_odd_metrics(given_answers: tuple[Server, list[Answer]]) -> None:
    server, taken = given_answers
    assembler = Assembler(server, "root@localhost")
    for answer in taken:
        assembler.take(answer)
    seen: set[tuple[str, str]] = set()
    for family in text_string_to_metric_families(rendered(assembler.snapshot(taken[0].at + 1))):
        for sample in family.samples:
            series = sample.name, json.dumps(sample.labels, sort_keys=True)
            assert series not in seen
            seen.add(series)
            if family.name not in SETTINGS:
                assert 0 <= sample.value < 2**63, sample


SPEC = Spec("innodb_table_scan_rows_total", "counter", "Rows.", ("schema", "table"))
names = st.one_of(st.sampled_from(NAMES), st.text(), st.binary())


@given(st.lists(st.tuples(names, names, st.integers(0, 2**53)), max_size=20))
def test_no_names_make_one_series_twice(tables: list[tuple[str | bytes, str | bytes, int]]) -> None:
    """Names that differ only in bytes that are not UTF-8 become equal; all others stay different."""
    labels = [(str(plain(schema)), str(plain(table))) for schema, table, _ in tables]
    samples = ((SPEC.name, label, float(n)) for label, (_, _, n) in zip(labels, tables, strict=True))
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Only(list(assemble({SPEC.name: SPEC}, samples))))
    written = generate_latest(registry).decode()
    read = [
        (sample.labels["schema"], sample.labels["table"])
        for family in text_string_to_metric_families(written)
        for sample in family.samples
    ]
    assert len(read) == len(set(read)) == len(set(labels))
    lines = [line for line in written.split("\n") if line and not line.startswith("#")]
    assert len(lines) == len(set(lines)) == len(read)


def test_of_two_equal_series_the_first_is_served() -> None:
    samples = [(SPEC.name, ("a", "b"), 1.0), (SPEC.name, ("a", "b"), 2.0), (SPEC.name, ("a", "c"), 3.0)]
    [family] = assemble(SPECS, samples)
    assert [(sample.labels, sample.value) for sample in family.samples] == [
        ({"schema": "a", "table": "b"}, 1.0),
        ({"schema": "a", "table": "c"}, 3.0),
    ]


def value_of(columns: list[str], row: list[object]) -> tuple[Value, ...]:
    return Rows.of(columns, [row]).rows[0]


def test_half_a_surrogate_pair_from_a_recording_becomes_a_replacement_mark() -> None:
    assert value_of(["name"], json.loads('["a\\ud800b"]')) == ("a\ufffd\ufffd\ufffdb",)
