"""The benchmark: its verdicts, its report, and its measurements on real servers."""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from advisor.models.lru.scenario import Scan
from lab.bench import __main__ as bench
from lab.bench import costs, exporters, many_tables, memory, record, report, rig, sharing
from lab.bench.exporters import Exporter
from lab.bench.figures import MORE, Bound, Effort, Figure, Line, Measurement, Say, Values, measure, spread
from lab.bench.registry import FIGURES
from lab.bench.sweep import GIB, SWEEP, SweepSettings, scenario
from lab.processes.service import NotServing
from lab.processes.usage import cpu_seconds
from lab.programs import mysqld_exporter
from lab.servers import Unavailable
from lab.servers.sql import query_number
from tests.unavailable import give_up


def figure(*values: float, bound: Bound | None = None, name: str = "made-up") -> tuple[Figure, list[Effort]]:
    """A figure with one line, whose values come from this list, beside 10; and the efforts of its measurements."""
    efforts: list[Effort] = []

    def measure(effort: Effort, say: Say) -> Measurement:
        say("measuring")
        efforts.append(effort)
        return Measurement({"line": Values(ours=(values[len(efforts) - 1],), beside=(10.0,))}, {"MySQL": "9.7"})

    line = Line("a scrape", "ms", "another", bound or Bound(most=0.5))
    return Figure(name, "A title", "How.", {"line": line}, measure, (1.0, 1.0)), efforts


def quiet(_: str) -> None:
    pass


def test_a_value_is_the_median_and_its_spread_the_middle_half() -> None:
    assert Values(ours=(1, 100, 3, 2, 4)).value == 3
    assert spread([1, 2, 3, 4, 5]) == (2, 4)
    assert spread([7]) == (7, 7)


def test_a_ratio_is_of_the_medians_or_the_median_of_the_rounds_ratios() -> None:
    ours, beside = (1.0, 2.0, 9.0), (2.0, 8.0, 9.0)
    assert Values(ours=ours, beside=beside).ratio == 2 / 8
    assert Values(ours=ours, beside=beside, paired=True).ratio == 0.5
    assert Values(ours=ours).ratio is None
    assert Values(ours=ours, beside=(0.0,)).ratio is None


@pytest.mark.parametrize(
    ("bound", "kept"),
    [
        (Bound(most=0.5), True),
        (Bound(most=0.4), False),
        (Bound(least=0.5), True),
        (Bound(least=0.6), False),
        (Bound(least=0.4, most=0.6), True),
        (Bound(most=5, of="value"), True),
        (Bound(most=4, of="value"), False),
    ],
)
def test_a_bound_is_of_the_ratio_or_of_the_value_and_includes_its_limit(bound: Bound, kept: bool) -> None:  # noqa: FBT001
    assert Values(ours=(5.0,), beside=(10.0,)).kept(bound) is kept


def test_a_bound_on_a_ratio_is_broken_without_a_ratio() -> None:
    assert not Values(ours=(5.0,)).kept(Bound(most=0.5))
    judged, _ = figure(5.0)
    assert judged.broken(Measurement({})) == ["line"]


def test_the_short_form_has_no_bound_that_takes_a_quiet_machine() -> None:
    lines = {"wall": Line("wall", "s", "", Bound(most=1.0, of="value", busy=False)), "cpu": Line("cpu", "s")}
    judged = replace(figure(5.0)[0], lines=lines)
    slow = Measurement({"wall": Values(ours=(2.0,))})
    assert judged.broken(slow) == ["wall"]
    assert judged.shortened().broken(slow) == []
    assert {name for name, each in FIGURES.items() if each.shortened() != each} == {"fleet"}


def test_a_kept_bound_is_measured_once() -> None:
    judged, efforts = figure(5.0, 9.0)
    found, times = measure(judged, Effort(short=True), quiet)
    assert (found.values["line"].value, times) == (5.0, 1)
    assert efforts == [Effort(short=True)]


@pytest.mark.parametrize("second", [4.0, 8.0])
def test_a_broken_bound_is_measured_again_and_longer(second: float) -> None:
    judged, efforts = figure(9.0, second)
    found, times = measure(judged, Effort(), quiet)
    assert (found.values["line"].value, times) == (second, 2)
    assert [each.rounds(20, 5) for each in efforts] == [20, 20 * MORE]


def test_growth_compares_the_last_tenth_with_the_middle() -> None:
    settled = [float(min(n, 50)) for n in range(100)]
    assert memory.growth(settled) == 0
    assert memory.growth([float(n) for n in range(100)]) == 40
    assert memory.growth([1.0, 1.0]) == 0


def test_every_figure_has_a_bound_and_every_line_says_what_it_is() -> None:
    assert " ".join(FIGURES) == "peer advice pool catalogue sharing load memory whatif curve model fleet"
    for name, each in FIGURES.items():
        assert each.name == name
        assert any(line.bound for line in each.lines.values()), name
        assert each.seconds[1] < each.seconds[0]
        for line in each.lines.values():
            assert line.what
            assert line.bound is None or line.bound.of == "value" or line.beside, line.what


def test_the_bounds_equal_the_promised_ones() -> None:
    bounds = {
        (name, key): (line.bound.least, line.bound.most, line.bound.of)
        for name, each in FIGURES.items()
        for key, line in each.lines.items()
        if line.bound is not None
    }
    assert bounds == {
        ("peer", "latency"): (None, 0.5, "ratio"),
        ("peer", "cpu"): (None, 1.0, "ratio"),
        ("peer", "server"): (None, 1.0, "ratio"),
        ("advice", "cpu"): (None, 0.5, "value"),
        ("pool", "latency"): (None, 1.2, "ratio"),
        ("catalogue", "latency"): (None, 3.0, "ratio"),
        ("catalogue", "samples"): (None, 2000, "value"),
        ("sharing", "statements"): (None, 1.1, "ratio"),
        ("load", "throughput"): (0.98, None, "ratio"),
        ("load", "worst"): (None, 1.25, "ratio"),
        ("memory", "rss"): (None, 64.0, "value"),
        ("memory", "growth"): (None, 1.0, "value"),
        ("whatif", "answer"): (None, 1.0, "value"),
        ("whatif", "scrape"): (None, 100.0, "value"),
        ("curve", "hour"): (None, 1.0, "value"),
        ("model", "cpu"): (None, 1.0, "value"),
        ("model", "memory"): (None, 50.0, "value"),
        ("model", "off"): (None, 3.0, "value"),
        ("fleet", "wall"): (None, 60.0, "value"),
        ("fleet", "rss"): (None, 512.0, "value"),
        ("fleet", "prometheus"): (None, 600.0, "value"),
        ("fleet", "more"): (None, 12.0, "value"),
        ("fleet", "beside"): (None, 4.0, "ratio"),
        ("fleet", "flat"): (None, 1.5, "ratio"),
        ("fleet", "service"): (None, 512.0, "value"),
        ("fleet", "kept"): (None, 1.25, "ratio"),
    }


def test_a_row_has_the_median_the_spread_the_ratio_the_bound_and_the_verdict() -> None:
    judged, _ = figure()
    rows = list(report.rows(judged, {"line": Values(ours=(1.0, 2.0, 3.0), beside=(20.0, 20.0, 20.0))}))
    assert rows == [("a scrape", "2.00 ms (1.50–2.50)", "20.0 ms, another", "0.1 ×", "≤ 0.5 ×", "kept")]
    rows = list(report.rows(judged, {"line": Values(ours=(1234.0,), beside=(2000.0,))}))
    assert rows == [("a scrape", "1,234 ms", "2,000 ms, another", "0.617 ×", "≤ 0.5 ×", "BROKEN")]
    assert list(report.rows(judged, {})) == [("a scrape", "not measured", "", "", "≤ 0.5 ×", "BROKEN")]
    without, _ = figure(bound=Bound(least=3, of="value"))
    assert next(iter(report.rows(without, {"line": Values(ours=(4.0,))})))[2:] == ("", "", "≥ 3 ms", "kept")


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of records and the page."""
    monkeypatch.setattr("lab.campaign.records.FOLDER", tmp_path)
    monkeypatch.setattr(report, "PAGE", tmp_path / "performance.md")
    return tmp_path


def chosen(monkeypatch: pytest.MonkeyPatch, *figures: Figure) -> None:
    monkeypatch.setattr(bench, "FIGURES", {each.name: each for each in figures})


def test_a_record_is_written_and_the_page_generated_from_it(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen(monkeypatch, figure(4.0)[0])
    done = CliRunner().invoke(bench.main, [])
    assert done.exit_code == 0, done.output
    assert "made-up: kept" in done.output
    saved = record.load("made-up")
    assert saved is not None
    assert (saved.lines["line"].ours, saved.times, saved.versions) == ((4.0,), 1, {"MySQL": "9.7"})
    page = (kept / "performance.md").read_text(encoding="utf-8")
    assert "| a scrape | 4.00 ms | 10.0 ms, another | 0.4 × | ≤ 0.5 × | kept |" in page


def test_the_page_equals_the_records_and_these_keep_their_bounds() -> None:
    made = report.document(FIGURES)
    assert (report.PAGE.read_text(encoding="utf-8") if report.PAGE.is_file() else None) == made, "run: make bench"
    assert f"| {report.BROKEN} |" not in (made or "")


def test_a_broken_bound_is_an_error_and_named(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen(monkeypatch, figure(9.0, 9.0)[0], figure(1.0, name="other")[0])
    done = CliRunner().invoke(bench.main, [])
    assert done.exit_code == bench.BROKEN
    assert "made-up: BROKEN: line" in done.output
    assert "other: kept" in done.output
    assert "Measured twice" in (kept / "performance.md").read_text(encoding="utf-8")


def test_the_short_form_keeps_no_record(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen(monkeypatch, figure(4.0)[0])
    assert CliRunner().invoke(bench.main, ["--short"]).exit_code == 0
    assert list(kept.iterdir()) == []


def test_an_unavailable_figure_is_reported_and_the_others_are_measured(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(effort: Effort, say: Say) -> Measurement:
        raise Unavailable(f"no server {effort} {say}")

    lacking, _ = figure()
    chosen(
        monkeypatch,
        Figure("lacking", "", "", lacking.lines, missing, (1.0, 1.0)),
        figure(4.0)[0],
    )
    done = CliRunner().invoke(bench.main, [])
    assert done.exit_code == bench.UNAVAILABLE
    assert "lacking: not measured: no server" in done.output
    assert [path.name for path in sorted(kept.glob("*.json"))] == ["bench-made-up.json"]


def test_an_interruption_ends_it_with_its_own_status(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(effort: Effort, say: Say) -> Measurement:
        say(str(effort))
        raise KeyboardInterrupt

    plain, _ = figure()
    chosen(monkeypatch, Figure("made-up", "", "", plain.lines, interrupted, (1.0, 1.0)))
    done = CliRunner().invoke(bench.main, [])
    assert done.exit_code == bench.INTERRUPTED
    assert "nothing is left running" in done.output
    assert list(kept.iterdir()) == []


def test_the_list_has_every_bound() -> None:
    done = CliRunner().invoke(bench.main, ["--list"])
    assert done.exit_code == 0
    assert "scrape: latency beside mysqld_exporter: ≤ 0.5 ×" in done.output
    assert all(f"{name}: " in done.output for name in FIGURES)


def test_exporters_take_turns_with_the_pause_between_two_scrapes_of_one() -> None:
    two = (Exporter("a", 1, 1), Exporter("b", 2, 2))
    assert [each.name for each in costs.in_turn(two, 3, 0.0)] == ["a", "b", "b", "a", "a", "b"]
    at: dict[str, list[float]] = {"a": [], "b": []}
    for each in costs.in_turn(two, 2, 0.2):
        at[each.name].append(time.monotonic())
    assert all(later - earlier >= 0.19 for earlier, later in at.values())


def test_the_cpu_time_of_another_process_equals_the_kernels_clock() -> None:
    before, own = cpu_seconds(os.getpid()), time.process_time()
    while time.process_time() - own < 0.05:
        sum(range(1000))
    assert cpu_seconds(os.getpid()) - before == pytest.approx(time.process_time() - own, abs=0.02)


def test_the_sweep_is_the_one_with_bounds() -> None:
    assert [len(set(values)) for values in zip(*SWEEP, strict=True)] == [5, 10, 3]
    assert len(SWEEP) == 150
    wanted = scenario(SweepSettings(128, 37, 1000.0), 1)
    assert wanted.pool.pages == 128 * GIB == 8_388_608
    assert sum(isinstance(step, Scan) for step in wanted.flat()) == 1 + 5 * 20


def test_the_sweep_is_compared_with_the_reference() -> None:
    found = FIGURES["model"].measure(Effort(short=True), quiet)
    assert list(found.values) == list(FIGURES["model"].lines)
    off = FIGURES["model"].lines["off"].bound
    assert off is not None
    assert found.values["off"].kept(off)
    ratio = found.values["faster"].ratio
    assert ratio is not None
    assert ratio < 1
    assert len(found.details) == 3


@pytest.fixture(scope="module")
def running() -> Iterator[rig.Rig]:
    with ExitStack() as stack:
        try:
            started = stack.enter_context(rig.rig())
        except Unavailable as error:
            give_up(str(error))
        yield started


@pytest.mark.server
def test_the_cost_of_a_scrape_is_counted_per_exporter(running: rig.Rig) -> None:
    idle = costs.Meter(running.server, running.peer)
    ours = costs.one(running.server, running.ours)
    assert idle.read().asked.statements == 0
    theirs = costs.one(running.server, running.peer)
    assert theirs.statements >= 10
    assert theirs.connections >= 1
    assert ours.connections == 0
    assert min(ours.samples, theirs.samples) > 100
    assert min(ours.latency_ms, theirs.latency_ms, theirs.cpu_ms, theirs.server_ms, theirs.server_cpu_ms) > 0
    assert running.ours.rss_mib() > 0


@pytest.mark.server
def test_the_peer_serves_what_its_flags_ask_for(running: rig.Rig) -> None:
    scraped = running.peer.scrape()
    assert b"\nmysql_up 1\n" in scraped.content
    assert b"\nmysql_info_schema_innodb_metrics_" in scraped.content
    assert b"\nmysql_engine_innodb_queries_inside_innodb " in scraped.content
    assert scraped.transferred < len(scraped.content)
    assert re.fullmatch(r"[\d.]+", mysqld_exporter.version())


@pytest.mark.server
def test_several_clients_run_at_once_and_their_errors_are_raised(running: rig.Rig) -> None:
    meter = costs.Meter(running.server, running.ours)
    sharing.together(running.ours, [sharing.scraper(0.0), sharing.scraper(0.5), sharing.page], 1.0)
    assert meter.read().asked.statements > 0

    def failing(exporter: Exporter, _: float) -> None:
        exporter.get("/no-such-page")

    with pytest.raises(NotServing, match="404"):
        sharing.together(running.ours, [failing], 0.1)


@pytest.mark.server
def test_a_closed_kept_connection_is_reopened(running: rig.Rig) -> None:
    with Exporter(running.peer.name, running.peer.pid, running.peer.port) as exporter:
        exporter.scrape()
        assert exporter._connection.sock is not None  # noqa: SLF001 - the other side's close, without waiting for it
        exporter._connection.sock.shutdown(socket.SHUT_RDWR)  # noqa: SLF001
        assert exporter.scrape().samples > 100


@pytest.mark.server
def test_a_peer_that_does_not_start_says_why(running: rig.Rig, tmp_path: Path) -> None:
    with (
        pytest.raises(NotServing, match="unknown long flag"),
        mysqld_exporter.running(running.server, tmp_path, exporters.PEER, "--no-such-flag"),
    ):
        pass


def test_many_tables_are_created_once_and_each_is_read_on_every_server(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    try:
        many_tables.make(folder, 20)
    except Unavailable as error:
        give_up(str(error))
    for _ in range(2):
        with many_tables.started(folder, 20) as server:
            found = "FROM performance_schema.table_io_waits_summary_by_table WHERE OBJECT_SCHEMA LIKE 'many%'"
            assert query_number(server, f"SELECT COUNT(*) {found} AND COUNT_FETCH > 0") == 20
            assert query_number(server, f"SELECT COUNT(DISTINCT OBJECT_SCHEMA) {found}") == many_tables.SCHEMAS
            assert query_number(server, "SELECT COUNT(*) FROM mysql.innodb_table_stats WHERE n_rows = 1") == 20
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
