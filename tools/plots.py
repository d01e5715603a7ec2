"""The pictures of docs/lru-model.md, of the model and real servers: `python -m tools.plots` draws them.

Each SVG holds its numbers in its description, as JSON. tests/tools/test_plots.py compares them with the model.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MultipleLocator

from advisor.models.lru import simulation
from advisor.models.lru.instance import Instance
from advisor.models.lru.popularity import groups
from advisor.models.lru.scanning import ScanPass
from advisor.models.lru.scenario import Pass, Pool, Scan, Scenario
from lab.lru_scenarios import PlayedScenario, saved
from lab.reports import pictures
from lab.reports.pictures import BLUE, FOLDER, GREEN, INK, MEASURED, MODEL, ORANGE, thousands

Data = dict[str, Any]
"""A picture's numbers: lists of whole pages by name."""

MYSQL_PAGES, MYSQL_TABLE = 16_382, 11_491
MYSQL_MEASURED = [11_491, 10_859, 10_859, 10_859, 10_859]
"""Pages read by each pass over a table on MySQL 9.7.4, 256 MiB pool (innodb_old_blocks_pct 37, no free list) filled
before by what the server itself had read and by two other tables."""
MYSQL_FILLED = {"start": 983, "large": MYSQL_TABLE, "small": 2_915}  # pages, in this order
PCTS = range(5, 96)
PASSES = 5


def e3_steps() -> Data:
    """Pages read per pass: the steps of experiment E3, the setting that ends them, and a server without steps."""
    steps, wide = saved("seed-002-steps"), saved("seed-002-pct-95")
    return {
        "mariadb_measured": _read(steps.passes[1:]),
        "mariadb_model": _modelled(steps)[1:],
        "mariadb_pct_95_measured": _read(wide.passes[1:]),
        "mariadb_pct_95_model": _modelled(wide)[1:],
        "mysql_measured": MYSQL_MEASURED,
        "mysql_model": _read(simulation.simulate(_mysql(37)).passes[-PASSES:]),
    }


def e3_list() -> Data:
    """The list, from its head, after each pass of the steps: stretches of the table's pages and of others."""
    scenario = saved("seed-002-steps").scenario
    table = scenario.steps[-1]
    assert isinstance(table, Scan)  # noqa: S101 - it is what the experiment scans
    sizes = scenario.sizes()
    pages = {name: groups(size, 0, skewed=False) for name, size in sizes.items()}
    instance = Instance(scenario.pool, pages, dict.fromkeys(sizes, 1.0), count=1)
    return {
        "pool": scenario.pool.pages,
        "passes": [_layers(instance, table.scan) for scanned in _scanned(instance, scenario) if scanned == table.scan],
    }


def e2_flip() -> Data:
    """Pages read per pass, model and real server: E2 case 3, and a hot set that enters the pool."""
    case_3, hot_set = saved("e2-case-3"), saved("hot-set-flips")
    hot = {
        f"hot_set_{name}_{source}": _read([measured for measured in passes if measured.object == object_])
        for source, passes in (
            ("measured", hot_set.passes),
            ("model", simulation.simulate(hot_set.scenario).passes[1:]),
        )
        for name, object_ in (("scan", "a"), ("lookups", "h"))
    }
    return {"case_3_measured": _read(case_3.passes[1:]), "case_3_model": _modelled(case_3)[1:]} | hot


def cliff() -> Data:
    """Pages that the last of five passes reads, by innodb_old_blocks_pct."""
    return {
        "pct": list(PCTS),
        "model": [_read(simulation.simulate(_mysql(pct)).passes)[-1] for pct in PCTS],
        "measured_pct": [37, 95],
        "measured": [MYSQL_MEASURED[-1], 0],
    }


def _mysql(pct: int) -> Scenario:
    """A table larger than the old sublist at its default, scanned repeatedly in a pool that others filled."""
    return Scenario(
        pool=Pool(pages=MYSQL_PAGES, old_blocks_pct=pct, old_blocks_time_ms=200.0),
        steps=(
            *(Scan(scan=name, pages=pages, seconds=0.1, gap_seconds=0.5) for name, pages in MYSQL_FILLED.items()),
            Scan(scan="table", pages=MYSQL_TABLE, passes=PASSES, seconds=0.1, gap_seconds=0.5),
        ),
    )


def _read(passes: Iterable[Pass]) -> list[int]:
    return [round(measured.pages_read) for measured in passes]


def _modelled(played: PlayedScenario) -> list[int]:
    """The model's pages for the measured passes."""
    return _read(simulation.simulate(played.scenario).passes[1:])


def _scanned(instance: Instance, scenario: Scenario) -> Iterator[str]:
    """The object of each scan of a scenario, after its pass."""
    now = 0.0  # ms
    for step in scenario.flat():
        assert isinstance(step, Scan)  # noqa: S101 - the steps of E3 are scans
        ScanPass(instance, step, now).run()
        instance.list.tidy()
        now += (step.seconds + step.gap_seconds) * 1000
        yield step.scan


def _layers(instance: Instance, object_: str) -> Data:
    """The list from head to tail: [pages of the object, pages of others] of each stretch, and the midpoint."""
    stretches: list[list[float]] = []
    for layer in (*instance.list.young, *instance.list.old):
        pages = [sum(run.pages for run in layer.runs if (run.object == object_) == own) for own in (True, False)]
        if stretches and any(last == more == 0 for last, more in zip(stretches[-1], pages, strict=True)):
            stretches[-1] = [last + more for last, more in zip(stretches[-1], pages, strict=True)]
        else:
            stretches.append(pages)
    return {
        "young": round(instance.list.young_pages),
        "stretches": [[round(pages) for pages in stretch] for stretch in stretches],
    }


def draw_e3_steps(figure: Figure, data: Mapping[str, Any]) -> None:
    """Lines: three pairs of measured and model."""
    axes = figure.subplots()
    _pair(axes, data, "mysql", "MySQL 9.7, pct 37", GREEN)
    _pair(axes, data, "mariadb", "MariaDB 10.11, pct 37", BLUE)
    _pair(axes, data, "mariadb_pct_95", "MariaDB 10.11, pct 95", ORANGE)
    _label(axes, "pass over the table", "pages read from disk")
    axes.legend(loc="center right", fontsize=9, bbox_to_anchor=(1.0, 0.55))


def draw_e3_list(figure: Figure, data: Mapping[str, Any]) -> None:
    """A strip for each pass, from head to tail, filled in proportion to the table's pages."""
    axes = figure.subplots()
    for number, after in enumerate(data["passes"], 1):
        edges = list(itertools.accumulate((own + others for own, others in after["stretches"]), initial=0))
        bottoms = [number - 0.4 + 0.8 * others / max(own + others, 1) for own, others in after["stretches"]]
        bottoms.append(bottoms[-1])
        axes.fill_between(edges, number - 0.4, bottoms, step="post", color=INK, alpha=0.35, linewidth=0)
        axes.fill_between(edges, bottoms, number + 0.4, step="post", color=BLUE, linewidth=0)
        own_pages = sum(own for own, _ in after["stretches"])
        axes.plot([after["young"]] * 2, [number - 0.48, number + 0.48], color=ORANGE, linewidth=2.5)
        axes.text(data["pool"] * 1.01, number, f"{own_pages:,}", va="center")
    axes.text(data["pool"] * 1.01, 0.4, "of the table", va="center", fontsize=9)
    axes.set_xlim(0, data["pool"])
    axes.set_ylim(len(data["passes"]) + 0.6, 0.4)
    axes.fill_between([], [], color=BLUE, label="pages of the table")
    axes.fill_between([], [], color=INK, alpha=0.35, label="pages of others")
    axes.plot([], [], color=ORANGE, linewidth=2.5, label="midpoint: young | old")
    axes.legend(loc="lower center", ncols=3, fontsize=9, bbox_to_anchor=(0.5, 1.0))
    axes.set_xlabel("position in the list, pages from the head")
    axes.set_ylabel("after pass")
    axes.yaxis.set_major_locator(MultipleLocator(1))
    axes.xaxis.set_major_formatter(FuncFormatter(thousands))


def draw_e2_flip(figure: Figure, data: Mapping[str, Any]) -> None:
    """Two panels: case 3, and the scans and lookups of the hot set."""
    left, right = figure.subplots(1, 2, sharey=True)
    _pair(left, data, "case_3", "scan", BLUE)
    _label(left, "pass over the table that comes last", "pages read from disk")
    left.set_title("E2 case 3: a free list", fontsize=11)
    _pair(right, data, "hot_set_scan", "scan", BLUE)
    _pair(right, data, "hot_set_lookups", "lookups", ORANGE)
    _label(right, "round", "")
    right.set_title("A hot set beside the scan, pct 80", fontsize=11)
    for axes in (left, right):
        axes.legend(loc="upper right", fontsize=9)


def draw_cliff(figure: Figure, data: Mapping[str, Any]) -> None:
    """The model's line and the measured points."""
    axes = figure.subplots()
    axes.plot(data["pct"], data["model"], color=BLUE, label="model")
    axes.plot(data["measured_pct"], data["measured"], "o", color=ORANGE, label="MySQL 9.7, measured")
    _label(axes, "innodb_old_blocks_pct, % of the pool", "pages read by the fifth pass")
    axes.xaxis.set_major_locator(MultipleLocator(10))
    axes.legend(loc="lower left", fontsize=9)


def _pair(axes: Axes, data: Mapping[str, Any], name: str, label: str, colour: str) -> None:
    """Measured numbers and the model's."""
    for source, marks in (("measured", MEASURED), ("model", MODEL)):
        values: Sequence[int] = data[f"{name}_{source}"]
        axes.plot(range(1, len(values) + 1), values, color=colour, label=f"{label}, {source}", **marks)


def _label(axes: Axes, x: str, y: str) -> None:
    pictures.label(axes, x, y)
    axes.set_ylim(bottom=-300)
    axes.xaxis.set_major_locator(MultipleLocator(1))


PICTURES: Mapping[str, tuple[Callable[[], Data], Callable[[Figure, Mapping[str, Any]], None], tuple[float, float]]] = {
    "e3-steps": (e3_steps, draw_e3_steps, (7.5, 4.2)),
    "e3-list": (e3_list, draw_e3_list, (8.0, 4.2)),
    "e2-flip": (e2_flip, draw_e2_flip, (9.5, 4.2)),
    "cliff": (cliff, draw_cliff, (7.5, 3.6)),
}
"""By the file's name: the numbers, who draws them, and the size in inches."""


def render(name: str, path: Path) -> None:
    """Draw a picture; the same numbers give the same file."""
    numbers, draw, size = PICTURES[name]
    pictures.save(draw, numbers(), size, path)


def main() -> None:
    """Draw them all."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in PICTURES:
        render(name, FOLDER / f"{name}.svg")


if __name__ == "__main__":
    main()
