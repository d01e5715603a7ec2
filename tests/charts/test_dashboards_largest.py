"""Panels of the largest: the same lines at each step, also where the order changes all the time."""

import json
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from lab.programs.prometheus import OLDEST, Prometheus, Sample, running
from tests.charts.grafana import Chosen
from tests.unavailable import or_give_up
from tests.waiting import wait_for
from tools.dashboards import registry
from tools.dashboards.board import queries

pytestmark = pytest.mark.system

MODELS = registry.models()
INDEXES, SHOWN, SECONDS = 20, 10, 6
TARGET = {"job": "innodb", "instance": "db-1:9747"}
CHOSEN = Chosen(
    {"cluster": ".*", "namespace": ".*", "job": ".+", "instance": ".+"}, step=1.0, range=float(SECONDS), scrape=1.0
)
RANKED = [
    pytest.param(target["expr"], id=f"{uid.removeprefix('innodb-advisor-')}/{title}/{target['refId']}")
    for uid, model in MODELS.items()
    for title, target in queries(model)
    if not target.get("instant") and re.search(r"topk\(", target["expr"])
]


def rules() -> list[dict[str, Any]]:
    """Indexes of which each takes its turn as the largest: the order is another one each second."""
    table = {"schema": "shop", "index": "PRIMARY", **TARGET}
    turns = [
        {
            "record": "innodb_index_resident_pages",
            "expr": f"(floor(vector(time())) + {number}) % {INDEXES} + 1",
            "labels": {**table, "table": f"t{number}"},
        }
        for number in range(INDEXES)
    ]
    return [*turns, {"record": "innodb_page_size_bytes", "expr": "vector(16384)", "labels": TARGET}]


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    folder = tmp_path_factory.mktemp("prometheus")
    file = folder / "turns.json"
    file.write_text(json.dumps({"groups": [{"name": "turns", "interval": "1s", "rules": rules()}]}))
    with or_give_up(running(folder, [], rules=[file], suite=OLDEST)) as started:
        wait_for(lambda: started.query(f"innodb_page_size_bytes offset {SECONDS + 1}s"))
        yield started


def asked(watched: Prometheus, expression: str) -> list[Sample]:
    end = time.time()
    return watched.query_range(CHOSEN.query(expression), end - SECONDS, end, 1)


def panel(title: str) -> Mapping[str, Any]:
    [target] = [target for heading, target in queries(MODELS["innodb-advisor-lru"]) if heading == title]
    return target


def test_the_lines_are_ranked_once_over_the_range(watched: Prometheus) -> None:
    def ranked_by_step() -> bool:
        by_step = asked(watched, f"topk({SHOWN}, innodb_index_resident_pages)")
        return len(by_step) > SHOWN and any(len(series.values) < SECONDS for series in by_step)

    wait_for(ranked_by_step)
    ranked = asked(watched, panel("Resident part of each index")["expr"])
    assert len(ranked) == SHOWN
    assert all(len(series.values) > SECONDS for series in ranked)
    # They are the ones that were the largest at some step, in bytes.
    peaks = {series.labels["table"]: max(value for _, value in series.values) for series in ranked}
    assert min(peaks.values()) >= (INDEXES - SHOWN) * 16384
    assert max(peaks.values()) == INDEXES * 16384


@pytest.mark.parametrize("expression", RANKED)
def test_no_panel_over_time_ranks_by_step(expression: str) -> None:
    # What ranks by group chooses one of several, and never changes the number of lines.
    assert re.findall(r"topk\((?!\d+, max_over_time\(\()", expression) == []
    assert expression.count("topk(") == expression.count("[$__range:$__interval] @ end())")
