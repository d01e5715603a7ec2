"""Every query of the dashboards, on a real Prometheus that scrapes sidecars on two real servers under load."""

import functools
import itertools
import json
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pymysql
import pytest

from advisor.ledger.ledger import Ledger
from exporter.connection.target import from_dsn
from lab.harness import workloads
from lab.programs import prometheus
from lab.servers import PrivateServer
from tests.advisor.building import capture
from tests.advisor.ledger.outcomes import DAY, outcome
from tests.advisor.ledger.recordings import stored
from tests.advisor.sidecar import UNLIKE, Sidecar, write_rule
from tests.charts.grafana import Chosen, label_values
from tests.charts.test_alerts import RECORDED
from tests.conftest import start_or_skip
from tests.unavailable import or_give_up
from tests.waiting import wait_for
from tools.dashboards import registry
from tools.dashboards.board import panels

pytestmark = [pytest.mark.system, pytest.mark.xdist_group("dashboards")]

JOB, PLAIN = "innodb", "plain"
"""The first job's targets have the labels of a cluster, the second's have not."""
PLACE = {"cluster": "eu1", "namespace": "shop"}
PAGE = "https://advisor.example/db"
INTERVAL = 1.0
STEP = 5.0
MODELS = registry.models()
NOBODY = "http://127.0.0.1:9"
CONFIG = "suppress:\n  - {rule: unwanted, reason: to be seen as suppressed}\n"
CONSUMER = "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME = 'events_stages_current'"
BUFFERING = {"innodb-buffer-pool-size": "8M", "innodb-change-buffering": "all", "performance-schema": "OFF"}
"""Options of a server that buffers changes, and where some collectors find nothing to read."""
CHANGED, VALUES = "innodb_old_blocks_pct", ("40", "37")

_RECORD = r"\binstance\w*:\w+:\w+"

Case = tuple[str, dict[str, Any]]


def lacking(target: Mapping[str, Any], series: Sequence[prometheus.Sample]) -> set[str]:
    """The labels in a legend or annotation text that no series has."""
    names = re.findall(r"\{\{(\w+)\}\}", target.get("legendFormat", "") + target.get("textFormat", ""))
    return set(names) - {label for sample in series for label in sample.labels}


@dataclass
class QueriedPrometheus:
    """The Prometheus under query."""

    server: prometheus.Prometheus
    chosen: Chosen
    began: float

    def answer(self, target: Mapping[str, Any]) -> Sequence[prometheus.Sample]:
        """The series of a query so far, without NaN values; none until they have the legend's labels."""
        # Grafana's points are at multiples of the step.
        now, start = time.time(), self.began // STEP * STEP
        end = now // STEP * STEP + STEP
        expression = replace(self.chosen, range=end - start).query(target["expr"])
        if target.get("instant"):
            series = self.server.query(expression, now)
        else:
            series = self.server.query_range(expression, start, end, STEP)
        series = [sample for sample in series if any(math.isfinite(value) for _, value in sample.values)]
        return [] if lacking(target, series) else series


def all_come_true(events: Mapping[str, Callable[[], object]]) -> None:
    """Wait for all of these, in any order; name those that do not happen."""
    pending = dict(events)

    def settled() -> bool:
        for title in [title for title, event in pending.items() if event()]:
            del pending[title]
        return not pending

    try:
        wait_for(settled)
    except AssertionError:
        pytest.fail(f"nothing for {', '.join(pending)}")


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QueriedPrometheus]:
    with ExitStack() as stack:
        scanned = stack.enter_context(start_or_skip("mysql-9.7", {"innodb-buffer-pool-size": "32M"}))
        buffering = stack.enter_context(start_or_skip("mysql-9.7", BUFFERING))
        _tables(scanned, buffering)
        load = stack.enter_context(workloads.BackgroundLoad(scanned.connect))
        load.repeat(_scan_and_count, pause=0.8)
        load.repeat(_build, pause=0.3)
        buffered = stack.enter_context(workloads.BackgroundLoad(buffering.connect))
        buffered.repeat(_buffer_and_merge, pause=0.5)
        addresses = [
            stack.enter_context(_sidecar(server, tmp_path_factory.mktemp(server.name)))
            for server in (scanned, buffering)
        ]
        addresses.append(stack.enter_context(_with_curve(tmp_path_factory.mktemp("replay"))))
        began = time.time()
        placed = [{"targets": addresses, "labels": PLACE}]
        jobs = [prometheus.job(JOB, static_configs=placed), prometheus.job(PLAIN, addresses[-1])]
        folder = tmp_path_factory.mktemp("prometheus")
        running = prometheus.running(folder, jobs, rules=[RECORDED], interval=INTERVAL)
        asked = stack.enter_context(or_give_up(running))
        wait_for(lambda: asked.query("rate(innodb_ibuf_merges_total[1m]) > 0"))
        buffered.stop()
        buffering.restart()
        variables = {"cluster": ".*", "namespace": ".*", "job": JOB, "instance": addresses, "datasource": "prometheus"}
        chosen = Chosen(variables, step=STEP, range=STEP, scrape=INTERVAL)
        watched = QueriedPrometheus(asked, chosen, began)
        _change_until_marked(scanned, watched)
        yield watched


def _tables(scanned: PrivateServer, buffering: PrivateServer) -> None:
    with scanned.connect() as connection, connection.cursor() as cursor:
        workloads.make_table(connection, "orders", 2_500)
        workloads.make_table(connection, "built", 1_500)
        cursor.execute(CONSUMER)
    with buffering.connect() as connection:
        workloads.make_indexed_table(connection, "lines", 40_000)


def _scan_and_count(connection: "pymysql.Connection[Any]") -> None:
    workloads.scan(connection, "orders")
    for _ in range(3):
        workloads.count(connection, "orders")


def _build(connection: "pymysql.Connection[Any]") -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE shop.built ADD INDEX added (filler(255)), ALGORITHM=INPLACE")
        cursor.execute("ALTER TABLE shop.built DROP INDEX added")


def _buffer_and_merge(connection: "pymysql.Connection[Any]") -> None:
    workloads.insert_rows(connection, "lines", 600, indexes=3, read_back=False, seed=None)
    with connection.cursor() as cursor:  # reading these pages merges their pending changes
        cursor.execute("SELECT COUNT(*) FROM shop.lines FORCE INDEX (k1) WHERE k1 < 200000000")
        cursor.fetchall()


@contextmanager
def _sidecar(server: PrivateServer, folder: Path) -> Iterator[str]:
    """A sidecar for a server, with every option that adds metrics; its address."""
    rules, state = folder / "rules", folder / "state"
    for directory in (rules, state):
        directory.mkdir()
    for rule_id in ("breaking", "unwanted"):
        write_rule(rules, id=rule_id, **UNLIKE[rule_id])
    saves = {"quantity": "pages", "predicted": 0, "read_bytes_saved_per_second": "1048576.0"}
    write_rule(rules, id="saving", effect=saves)
    config = folder / "innodb-advisor.yaml"
    config.write_text(CONFIG)
    _told(state, server)
    sidecar = Sidecar(
        folder,
        *("--dsn", server.dsn, "--interval", f"{INTERVAL:g}s", "--collect-lru-pages"),
        *("--rules", rules, "--config", config, "--state-dir", state, "--alertmanager", NOBODY),
        *("--external-url", PAGE),
    )
    try:
        yield sidecar.url.removeprefix("http://")
    finally:
        sidecar.stop()


def _told(state: Path, server: PrivateServer) -> None:
    """Outcomes of earlier days: a window after a change would take too long here."""
    earlier = (outcome(0.0, 12.0, at=DAY), outcome(0.0, 400.0, at=2 * DAY))
    stored(state, Ledger.of(earlier), from_dsn(server.dsn).address)


@contextmanager
def _with_curve(folder: Path) -> Iterator[str]:
    """A sidecar that replays a server with a miss curve: those under load here do too much at once to have one soon."""
    recording = capture("mysql-9.7/change-buffer-off-resident")
    sidecar = Sidecar(folder, "--recording", recording, "--external-url", PAGE)
    try:
        assert sidecar.get("/curve").status_code == 200
        yield sidecar.url.removeprefix("http://")
    finally:
        sidecar.stop()


def _change_until_marked(server: PrivateServer, watched: QueriedPrometheus) -> None:
    """Change a setting until Prometheus has scraped it before and after: on a busy machine it misses scrapes."""
    event = next(event for title, event in _annotations() if title == "lru/Settings")
    values = itertools.cycle(VALUES)

    def seen(value: str) -> object:
        return watched.server.query(f'innodb_setting_info{{name="{CHANGED}",value="{value}"}} offset {2 * STEP:g}s')

    def marked() -> object:
        value = next(values)
        with server.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"SET GLOBAL {CHANGED} = {value}")
        wait_for(lambda: seen(value))
        return watched.answer(event)

    wait_for(lambda: seen(VALUES[-1]))
    wait_for(marked)


def _targets() -> Iterator[Case]:
    for model in MODELS.values():
        for panel in panels(model):
            for target in panel.get("targets", ()):
                yield f"{model['uid'].removeprefix('innodb-advisor-')}/{panel['title']}/{target['refId']}", target


def _annotations() -> Iterator[Case]:
    for model in MODELS.values():
        for event in model["annotations"]["list"]:
            yield f"{model['uid'].removeprefix('innodb-advisor-')}/{event['name']}", event


def _variables() -> Iterator[Case]:
    for model in MODELS.values():
        for variable in model["templating"]["list"]:
            if variable["type"] == "query":
                yield f"{model['uid'].removeprefix('innodb-advisor-')}/{variable['name']}", variable


def test_every_panels_query_has_data_and_its_legends_labels(watched: QueriedPrometheus) -> None:
    all_come_true({title: functools.partial(watched.answer, target) for title, target in _targets()})


def test_every_annotation_marks_what_happened(watched: QueriedPrometheus) -> None:
    def marked(event: Mapping[str, Any]) -> bool:
        return any(value > 0 for series in watched.answer(event) for _, value in series.values)

    all_come_true({title: functools.partial(marked, event) for title, event in _annotations()})


def test_only_a_change_of_a_setting_is_marked_with_its_value(watched: QueriedPrometheus) -> None:
    event = next(event for title, event in _annotations() if title == "lru/Settings")
    marked = wait_for(lambda: watched.answer(event))
    assert {series.labels["name"] for series in marked} == {CHANGED}
    assert {series.labels["value"] for series in marked} <= {*VALUES}


def test_every_variable_has_values_to_choose_from(watched: QueriedPrometheus) -> None:
    of_all = {name: {value} for name, value in PLACE.items()}
    expected = {"job": {JOB, PLAIN}, "instance": set(watched.chosen.values["instance"]), **of_all}

    def complete(query: str) -> bool:
        series, label = label_values(query)
        samples = watched.server.query(f"count by ({label}) ({watched.chosen.query(series)})")
        # The job itself chooses among all; a target without the label is no value to choose.
        return {series.labels[label] for series in samples if label in series.labels} == expected[label]

    all_come_true({title: functools.partial(complete, variable["query"]["query"]) for title, variable in _variables()})


def test_it_shows_targets_with_and_without_the_labels_of_a_cluster(watched: QueriedPrometheus) -> None:
    [target] = [target for title, target in _targets() if title == "advice/Instances/A"]

    def shown(job: str, **chosen: str) -> set[tuple[str | None, str]]:
        only = replace(watched, chosen=replace(watched.chosen, values={**watched.chosen.values, "job": job, **chosen}))
        return {
            (sample.labels.get("cluster"), sample.labels["job"]) for sample in wait_for(lambda: only.answer(target))
        }

    assert shown(".+") == {("eu1", JOB), (None, PLAIN)}
    assert shown(PLAIN) == {(None, PLAIN)}
    assert shown(".+", cluster="eu1", namespace="shop") == {("eu1", JOB)}


LINKED = [case for case in _targets() if "page_info" in case[1]["expr"]]


def test_findings_and_servers_link_to_the_page_and_findings_to_their_place_on_it(watched: QueriedPrometheus) -> None:
    for title, target in LINKED:
        urls = {sample.labels["url"] for sample in wait_for(functools.partial(watched.answer, target))}
        if "rule, subject" in target["expr"]:
            assert all(re.fullmatch(PAGE + "/#[0-9a-f]{16}", url) for url in urls), title
        else:
            assert urls == {PAGE}, title


def test_every_link_of_a_table_to_the_page_has_an_address() -> None:
    for model in MODELS.values():
        for panel in panels(model):
            if "${__data.fields.Page}" in json.dumps(panel) or "${__field.labels.url}" in json.dumps(panel):
                assert any("group_left (url)" in target["expr"] for target in panel["targets"]), panel["title"]
    assert {title.rpartition("/")[0] for title, _ in LINKED} == {
        f"advice/{title}"
        for title in (
            "Instances",
            "Advice",
            "Reads that advice would save, by finding",
            "Suppressed",
            "Blind rules",
            "Failing rules",
        )
    }


def test_sums_over_instances_equal_the_recording_rules(watched: QueriedPrometheus) -> None:
    def values(expression: str) -> dict[frozenset[tuple[str, str]], float]:
        return {frozenset(sample.labels.items()): sample.value for sample in watched.server.query(expression)}

    def same(expression: str) -> bool:  # a finding may appear between a rule evaluation and a scrape
        recorded = all(watched.server.query(record) for record in re.findall(_RECORD, expression))
        samples = values(expression)
        return recorded and bool(samples) and samples == values(re.sub(_RECORD, "nothing_of_this_name", expression))

    queries = {title: watched.chosen.query(target["expr"]) for title, target in _targets()}
    events = {title: functools.partial(same, query) for title, query in queries.items() if re.search(_RECORD, query)}
    assert events
    all_come_true(events)
