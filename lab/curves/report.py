"""The measured parts of docs/miss-curve.md, and their pictures, from the record."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from lab.curves import judge
from lab.curves.judge import SizeCase
from lab.curves.loads import TpcC, Ycsb
from lab.curves.measure import GROUP, ONCE, OTHERS, workload_name
from lab.curves.predict import ONCE_TIMES, RULE
from lab.curves.workloads import WORKLOADS
from lab.harness import records
from lab.harness.records import Data
from lab.reports import pictures
from lab.reports.criterion import Criterion
from lab.reports.markdown import ran_on, table
from lab.reports.pictures import BLUE, INK

PICTURES = pictures.FOLDER / "curves"
DRAWN = tuple(load for load in WORKLOADS if isinstance(load.load, TpcC | Ycsb) and not load.scans)
"""The workloads with a picture."""
_SIZE = (9.5, 3.8)
_SERVER_NAMES = {"mysql-9.7": "MySQL 9.7", "mariadb-11.8": "MariaDB 11.8"}
_TICKS = (0.5, 0.75, 1, 1.5, 2, 3)
_LEFT, _RIGHT, _TOP = 0.45, 3.3, 1.2
"""Ends of the axes: multiples of today's size, and of the most reads that were measured."""


def _of_record(write: Callable[[Mapping[str, Any]], str]) -> Callable[[], str]:
    """Text from the record, if there is one."""

    def text() -> str:
        record = records.load(GROUP)
        return "Not measured yet.\n" if record is None else write(record)

    return text


@_of_record
def verdicts(record: Mapping[str, Any]) -> str:
    """The bounds, and whether they are kept."""
    columns = [_criteria(record, _SERVER_NAMES), *(_criteria(record, [server]) for server in _SERVER_NAMES)]
    rows = [
        [row[0].what, *map(_value, row), f"≤ {row[0].most:.0%}" if row[0].most else f"≥ {row[0].least:.0%}"]
        for row in zip(*columns, strict=True)
    ]
    return f"{table(['', 'all', *_SERVER_NAMES.values(), 'bound'], rows)}\n{_origin(record)}\n"


@_of_record
def jobs(record: Mapping[str, Any]) -> str:
    """What is advised for the job that reads everything once."""
    rows = []
    for server, name in _SERVER_NAMES.items():
        data = record["parts"][f"{server}, {ONCE}"]["data"]
        curve = data.get("unanswerable") or f"at least {data['least']:.0%} of today's reads"
        rows.append([name, f"{data['judged']} times", f"{data['grown']} times", curve])
    titles = ["server", f"`{RULE}` judged", "advised a larger pool", f"the curve at {ONCE_TIMES:g} × the size"]
    return table(titles, rows)


@_of_record
def sections(record: Mapping[str, Any]) -> str:
    """The measured and predicted reads of each workload, and pictures of some."""
    rows = [
        [load.name, name, f"{data['measured']['1']['lives']:g} s", *map(_cell, judge.cases(data)), _advice(data)]
        for load in WORKLOADS
        for server, name in _SERVER_NAMES.items()
        for data in (part["data"] for part in [record["parts"].get(f"{server}, {load.name}")] if part is not None)
    ]
    titles = ["workload", "server", "pages live", *(f"{times:g} ×" for times in OTHERS), "advised"]
    drawn = (
        f"### {load.name}\n\n{load.about}.\n\n![Pages read by size of the pool](img/curves/{load.name}.svg)\n"
        for load in DRAWN
    )
    return "\n".join((table(titles, rows), *drawn))


def draw() -> None:
    """Draw the pictures."""
    record = records.load(GROUP)
    if record is None:
        return
    PICTURES.mkdir(parents=True, exist_ok=True)
    for load in DRAWN:
        pictures.save(_draw, plot(record, load.name), _SIZE, PICTURES / f"{load.name}.svg")


def plot(record: Mapping[str, Any], name: str) -> Data:
    """The numbers of a workload's picture: sizes as multiples of today's, reads as shares of today's."""
    panels = []
    for server, title in _SERVER_NAMES.items():
        cases = list(judge.cases(record["parts"][f"{server}, {name}"]["data"]))
        measured = {1.0: [1.0], **{case.times: [case.measured] for case in cases}}
        predicted = {1.0: [1.0] * 3} | {
            case.times: [case.expected, case.low, case.high] for case in cases if case.expected is not None
        }
        panels.append({"server": title, "measured": _points(measured), "predicted": _points(predicted)})
    return {"panels": panels}


def _points(reads: Mapping[float, list[float]]) -> list[list[float]]:
    return [[times, *(round(share, 4) for share in reads[times])] for times in sorted(reads)]


def _draw(figure: Figure, data: Data) -> None:
    """Measured and predicted reads by size of the pool: a panel for each server, with the same scale."""
    panels = data["panels"]
    every = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, panel in zip(every, panels, strict=True):
        axes.set_title(panel["server"], fontsize=11)
        sizes, expected, low, high = zip(*panel["predicted"], strict=True)
        axes.fill_between(sizes, low, high, color=BLUE, alpha=0.18, linewidth=0, label="low to high")
        axes.plot(sizes, expected, color=BLUE, linestyle="--", linewidth=1.5, label="expected")
        sizes, measured = zip(*panel["measured"], strict=True)
        axes.plot(sizes, measured, color=INK, marker="o", linewidth=1, markersize=5, label="measured")
        _scale(axes)
    every[0].set_ylim(0, _TOP * max(reads for panel in panels for _, reads in panel["measured"]))
    every[0].set_ylabel("pages read, as a share of today's")
    every[0].yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f} %"))
    handles, labels = every[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize=9)


def _scale(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_xlim(_LEFT, _RIGHT)
    axes.xaxis.set_major_locator(FixedLocator(_TICKS))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} ×"))
    axes.set_xlabel("size of the pool, as a multiple of today's")
    axes.grid(axis="y", color=INK, alpha=0.25)


def _criteria(record: Mapping[str, Any], servers: Collection[str]) -> list[Criterion]:
    """The bounds on some servers."""
    return judge.criteria(
        [
            part["data"]
            for name, part in record["parts"].items()
            if part["server"] in servers and workload_name(name) != ONCE
        ]
    )


def _value(criterion: Criterion) -> str:
    if criterion.value is None:
        return "–"
    text = f"{criterion.value:.1%} of {criterion.cases}" if criterion.most is None else f"{criterion.value:.1%}"
    return text if criterion.holds else f"**{text}**"


def _cell(case: SizeCase) -> str:
    """Measured, expected, low and high, in percent; bold if outside."""
    if case.expected is None:
        return f"**{case.measured:.0%}**: no answer"
    text = f"{case.measured:.0%}: {case.expected:.0%} ({case.low:.0%}–{case.high:.0%})"
    return text if case.inside else f"**{text}**"


def _advice(data: Data) -> str:
    advice = data["predicted"].get("advice")
    return f"{advice['times']:.2f} ×" if advice else "–"


def _origin(record: Mapping[str, Any]) -> str:
    parts = [part["data"] for part in record["parts"].values()]
    cpu = [data["predicted"]["cpu"] for data in parts if "cpu" in data.get("predicted", {})] or [0.0]
    return (
        f"{ran_on(record)} A curve took {sum(cpu) / len(cpu):.2f} s of CPU on average, {max(cpu):.2f} s at most. The"
        f" predictions are by the model's code {', '.join(sorted({data['model'] for data in parts}))} (a digest)."
    )
