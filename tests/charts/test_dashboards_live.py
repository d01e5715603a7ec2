"""Every query of the dashboards, on a real Prometheus that scrapes sidecars on two real servers under load."""

import functools
import json
import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pymysql
import pytest

from advisor.ledger.journal import Journal
from advisor.ledger.ledger import Ledger
from exporter.connection.target import from_dsn
from lab import workloads
from lab.programs import prometheus
from lab.servers import Server
from tests.advisor.building import capture
from tests.advisor.ledger.outcomes import DAY, outcome
from tests.advisor.sidecar import UNLIKE, Sidecar, write_rule
from tests.charts.grafana import Chosen, label_values
from tests.charts.test_alerts import RECORDED
from tests.conftest import start_or_skip
from tests.unavailable import or_give_up
from tests.waiting import DEADLINE, wait_for
from tools.dashboards import registry
from tools.dashboards.board import panels

pytestmark = pytest.mark.server

JOB, PLAIN = "innodb", "plain"
"""The first job's targets have the labels of a cluster, the second's have not."""
PLACE = {"cluster": "eu1", "namespace": "shop"}
PAGE = "https://advisor.example/db"
INTERVAL = 2.0
STEP = 10.0
MODELS = registry.models()
NOBODY = "http://127.0.0.1:9"
CONFIG = "suppress:\n  - {rule: unwanted, reason: to be seen as suppressed}\n"
CONSUMER = "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME = 'events_stages_current'"
CHANGE = "SET GLOBAL innodb_old_blocks_pct = 40"

_RECORD = r"\binstance\w*:\w+:\w+"

Case = tuple[str, dict[str, Any]]


def lacking(target: Mapping[str, Any], series: Sequence[prometheus.Sample]) -> set[str]:
    """The labels in a legend or annotation text that no series has."""
    names = re.findall(r"\{\{(\w+)\}\}", target.get("legendFormat", "") + target.get("textFormat", ""))
    return set(names) - {label for each in series for label in each.labels}


@dataclass
class Watched:
    """The Prometheus under query."""

    server: prometheus.Prometheus
    chosen: Chosen
    began: float
    deadline: float

    def answer(self, target: dict[str, Any]) -> Sequence[prometheus.Sample]:
        """The series of a query, once they have the legend's labels; after the timeout, the series found."""
        while True:
            found = self._now(target)
            if (found and not lacking(target, found)) or time.monotonic() > self.deadline:
                return found
            time.sleep(INTERVAL)

    def _now(self, target: dict[str, Any]) -> Sequence[prometheus.Sample]:
        """The current series of a query, without NaN values."""
        # Grafana's points are at multiples of the step.
        now, start = time.time(), self.began // STEP * STEP
        end = now // STEP * STEP + STEP
        expression = replace(self.chosen, range=end - start).query(target["expr"])
        if target.get("instant"):
            found = self.server.query(expression, now)
        else:
            found = self.server.query_range(expression, start, end, STEP)
        return [each for each in found if any(math.isfinite(value) for _, value in each.values)]

    def uptimes(self) -> str:
        """What was seen of each server, for the message on a missing annotation: seconds of the range, and uptime."""
        found = self.server.query_range("innodb_server_uptime_seconds", self.began, time.time(), INTERVAL)
        lines = (
            f"{each.labels['instance']}: {[(round(at - self.began), value) for at, value in each.values]}"
            for each in found
        )
        return "\n".join(lines)


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with ExitStack() as stack:
        mysql = stack.enter_context(start_or_skip("mysql-9.7", {"innodb-buffer-pool-size": "32M"}))
        mariadb = stack.enter_context(
            start_or_skip("mariadb-10.11", {"innodb-buffer-pool-size": "16M", "innodb-change-buffering": "all"})
        )
        _tables(mysql, mariadb)
        load = stack.enter_context(workloads.Load(mysql.connect))
        load.repeat(_scan_and_count, pause=0.8)
        load.repeat(_build, pause=0.3)
        buffered = stack.enter_context(workloads.Load(mariadb.connect))
        buffered.repeat(_buffer_and_merge, pause=0.5)
        addresses = [
            stack.enter_context(_sidecar(server, tmp_path_factory.mktemp(server.name))) for server in (mysql, mariadb)
        ]
        addresses.append(stack.enter_context(_with_curve(tmp_path_factory.mktemp("replay"))))
        began = time.time()
        placed = [{"targets": addresses, "labels": PLACE}]
        jobs = [prometheus.job(JOB, static_configs=placed), prometheus.job(PLAIN, addresses[-1])]
        folder = tmp_path_factory.mktemp("prometheus")
        running = prometheus.running(folder, jobs, rules=[RECORDED], interval=INTERVAL, evaluation=INTERVAL)
        asked = stack.enter_context(or_give_up(running))
        _change_and_restart(mysql, mariadb, asked, buffered)
        variables = {"cluster": ".*", "namespace": ".*", "job": JOB, "instance": addresses, "datasource": "prometheus"}
        chosen = Chosen(variables, step=STEP, range=STEP, scrape=INTERVAL)
        yield Watched(asked, chosen, began, time.monotonic() + DEADLINE)


def _tables(mysql: Server, mariadb: Server) -> None:
    with mysql.connect() as connection, connection.cursor() as cursor:
        workloads.make_table(connection, "orders", 2_500)
        workloads.make_table(connection, "built", 1_500)
        cursor.execute(CONSUMER)
    with mariadb.connect() as connection:
        workloads.make_indexed_table(connection, "lines", 80_000)


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
def _sidecar(server: Server, folder: Path) -> Iterator[str]:
    """A sidecar for a server, with every option that adds metrics; its address."""
    rules, state = folder / "rules", folder / "state"
    for each in (rules, state):
        each.mkdir()
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


def _told(state: Path, server: Server) -> None:
    """Outcomes of earlier days: a window after a change would take too long here."""
    earlier = (outcome(0.0, 12.0, at=DAY), outcome(0.0, 400.0, at=2 * DAY))
    Journal(state, from_dsn(server.dsn).address).keep(earlier, Ledger.of(earlier))


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


def _change_and_restart(mysql: Server, mariadb: Server, asked: prometheus.Prometheus, load: workloads.Load) -> None:
    """After a while, change a setting of one server and restart the other."""
    wait_for(lambda: asked.query("rate(innodb_ibuf_merges_total[1m]) > 0"))
    wait_for(lambda: asked.query(f'innodb_setting{{name="innodb_old_blocks_pct"}} offset {STEP + 2 * INTERVAL:g}s'))
    with mysql.connect() as connection, connection.cursor() as cursor:
        cursor.execute(CHANGE)
    load.stop()
    mariadb.restart()


def _title(target: Case) -> str:
    return target[0]


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


@pytest.mark.parametrize("case", [*_targets()], ids=_title)
def test_a_panels_query_has_data_and_its_legends_labels(watched: Watched, case: Case) -> None:
    title, target = case
    series = watched.answer(target)
    assert series, f"{title}: no data for {watched.chosen.query(target['expr'])}"
    assert not lacking(target, series)


@pytest.mark.parametrize("case", [*_annotations()], ids=_title)
def test_an_annotation_marks_what_happened(watched: Watched, case: Case) -> None:
    title, event = case
    marked = [each for each in watched.answer(event) if any(value > 0 for _, value in each.values)]
    assert marked, f"{title}: nothing for {watched.chosen.query(event['expr'])}\n{watched.uptimes()}"
    assert not lacking(event, marked)


def test_only_a_change_of_a_setting_is_marked_with_its_value(watched: Watched) -> None:
    event = next(event for title, event in _annotations() if title == "lru/Settings")
    assert {(each.labels["name"], each.labels["value"]) for each in watched.answer(event)} == {
        ("innodb_old_blocks_pct", "40")
    }


@pytest.mark.parametrize("case", [*_variables()], ids=_title)
def test_a_variable_has_values_to_choose_from(watched: Watched, case: Case) -> None:
    series, label = label_values(case[1]["query"]["query"])
    found = watched.server.query(f"count by ({label}) ({watched.chosen.query(series)})")
    of_all = {name: {value} for name, value in PLACE.items()}
    wanted = {"job": {JOB, PLAIN}, "instance": set(watched.chosen.values["instance"]), **of_all}
    # The job itself chooses among all; a target without the label is no value to choose.
    assert {each.labels[label] for each in found if label in each.labels} == wanted[label]


def test_it_shows_targets_with_and_without_the_labels_of_a_cluster(watched: Watched) -> None:
    [target] = [target for title, target in _targets() if title == "advice/Instances/A"]

    def found(job: str, **chosen: str) -> set[tuple[str | None, str]]:
        only = replace(watched, chosen=replace(watched.chosen, values={**watched.chosen.values, "job": job, **chosen}))
        return {(each.labels.get("cluster"), each.labels["job"]) for each in only.answer(target)}

    assert found(".+") == {("eu1", JOB), (None, PLAIN)}
    assert found(PLAIN) == {(None, PLAIN)}
    assert found(".+", cluster="eu1", namespace="shop") == {("eu1", JOB)}


LINKED = [case for case in _targets() if "page_info" in case[1]["expr"]]


@pytest.mark.parametrize("case", LINKED, ids=_title)
def test_findings_and_servers_link_to_the_page_and_findings_to_their_place_on_it(watched: Watched, case: Case) -> None:
    title, target = case
    urls = {each.labels["url"] for each in watched.answer(target)}
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


RECORDED_OR_NOT = [case for case in _targets() if re.search(_RECORD, case[1]["expr"])]


@pytest.mark.parametrize("case", RECORDED_OR_NOT, ids=_title)
def test_sums_over_instances_equal_the_recording_rules(watched: Watched, case: Case) -> None:
    expression = watched.chosen.query(case[1]["expr"])

    def values(of: str) -> dict[frozenset[tuple[str, str]], float]:
        return {frozenset(each.labels.items()): each.value for each in watched.server.query(of)}

    def same() -> bool:  # a finding may appear between a rule evaluation and a scrape
        found = values(expression)
        return bool(found) and found == values(re.sub(_RECORD, "nothing_of_this_name", expression))

    for record in re.findall(_RECORD, expression):
        assert wait_for(functools.partial(watched.server.query, record))
    assert wait_for(same)
