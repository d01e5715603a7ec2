"""The measured parts of docs/miss-curve.md, and their pictures, from the record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lab.curves import judge, once
from lab.curves.campaign import GROUP, workload
from lab.curves.judge import Bound, Case
from lab.curves.loads import TpcC, Ycsb
from lab.curves.measure import OTHERS
from lab.curves.plot import draw as draw_curves
from lab.curves.predict import RULE
from lab.curves.workloads import WORKLOADS
from lab.harness import records
from lab.harness.records import Data
from lab.reports import pictures
from lab.reports.markdown import ran_on, table

PICTURES = pictures.FOLDER / "curves"
DRAWN = tuple(each for each in WORKLOADS if isinstance(each.load, TpcC | Ycsb) and not each.scans)
"""The workloads with a picture."""
_SIZE = (9.5, 3.8)
_SERVER_NAMES = {"mysql-9.7": "MySQL 9.7", "mariadb-11.8": "MariaDB 11.8"}
_NO_RECORD = "Not measured yet.\n"


def _of_record(write: Callable[[Mapping[str, Any]], str]) -> Callable[[], str]:
    """Text from the record, if there is one."""

    def text() -> str:
        record = records.load(GROUP)
        return _NO_RECORD if record is None else write(record)

    return text


@_of_record
def verdicts(record: Mapping[str, Any]) -> str:
    """The bounds, and whether they are kept."""
    columns = [_bounds(record, list(_SERVER_NAMES)), *(_bounds(record, [server]) for server in _SERVER_NAMES)]
    rows = [
        [row[0].text, *map(_found, row), f"{'≥' if row[0].least else '≤'} {row[0].wanted:.0%}"]
        for row in zip(*columns, strict=True)
    ]
    return f"{table(['', 'all', *_SERVER_NAMES.values(), 'bound'], rows)}\n{_origin(record)}\n"


@_of_record
def jobs(record: Mapping[str, Any]) -> str:
    """What is advised for the job that reads everything once."""
    rows = []
    for server, name in _SERVER_NAMES.items():
        data = record["parts"][f"{server}, {once.NAME}"]["data"]
        said = data.get("unanswerable") or f"at least {data['least']:.0%} of today's reads"
        rows.append([name, f"{data['judged']} times", f"{data['grown']} times", said])
    titles = ["server", f"`{RULE}` judged", "advised a larger pool", f"the curve at {once.TIMES:g} × the size"]
    return table(titles, rows)


@_of_record
def sections(record: Mapping[str, Any]) -> str:
    """The measured and predicted reads of each workload, and pictures of some."""
    rows = [
        [each.name, name, f"{data['measured']['1']['lives']:g} s", *_cells(server, each.name, data), _advice(data)]
        for each in WORKLOADS
        for server, name in _SERVER_NAMES.items()
        for data in (part["data"] for part in [record["parts"].get(f"{server}, {each.name}")] if part is not None)
    ]
    titles = ["workload", "server", "pages live", *(f"{times:g} ×" for times in OTHERS), "advised"]
    drawn = (
        f"### {each.name}\n\n{each.about}.\n\n![Pages read by size of the pool](img/curves/{each.name}.svg)\n"
        for each in DRAWN
    )
    return "\n".join((table(titles, rows), *drawn))


def draw() -> None:
    """Draw the pictures."""
    record = records.load(GROUP)
    if record is None:
        return
    PICTURES.mkdir(parents=True, exist_ok=True)
    for each in DRAWN:
        pictures.save(draw_curves, plot(record, each.name), _SIZE, PICTURES / f"{each.name}.svg")


def plot(record: Mapping[str, Any], name: str) -> Data:
    """The numbers of a workload's picture: sizes as multiples of today's, reads as shares of today's."""
    panels = []
    for server, title in _SERVER_NAMES.items():
        cases = list(judge.cases(server, name, record["parts"][f"{server}, {name}"]["data"]))
        measured = {1.0: [1.0], **{case.times: [case.measured] for case in cases}}
        predicted = {1.0: [1.0] * 3} | {
            case.times: [case.expected, case.low, case.high] for case in cases if case.expected is not None
        }
        panels.append({"server": title, "measured": _points(measured), "predicted": _points(predicted)})
    return {"panels": panels}


def _points(reads: Mapping[float, list[float]]) -> list[list[float]]:
    return [[times, *(round(each, 4) for each in reads[times])] for times in sorted(reads)]


def _bounds(record: Mapping[str, Any], servers: Iterable[str]) -> list[Bound]:
    """The bounds on some servers."""
    curves = [
        (part["server"], workload(name), part["data"])
        for name, part in record["parts"].items()
        if part["server"] in servers and workload(name) != once.NAME
    ]
    return judge.bounds(
        [case for curve in curves for case in judge.cases(*curve)],
        [advised for curve in curves for advised in judge.advised(*curve)],
    )


def _found(bound: Bound) -> str:
    if bound.found is None:
        return "–"
    text = f"{bound.found:.1%} of {bound.cases}" if bound.least else f"{bound.found:.1%}"
    return text if bound.holds else f"**{text}**"


def _cells(server: str, name: str, data: Data) -> list[str]:
    return [_cell(case) for case in judge.cases(server, name, data)]


def _cell(case: Case) -> str:
    """Measured, expected, low and high, in percent; bold if outside."""
    if case.expected is None:
        return f"**{case.measured:.0%}**: no answer"
    text = f"{case.measured:.0%}: {case.expected:.0%} ({case.low:.0%}–{case.high:.0%})"
    return text if case.inside else f"**{text}**"


def _advice(data: Data) -> str:
    advice = data["predicted"].get("advice")
    return f"{advice['times']:.2f} ×" if advice else "–"


def _origin(record: Mapping[str, Any]) -> str:
    models = {each["data"]["model"] for each in record["parts"].values()}
    predicted = [each["data"]["predicted"] for each in record["parts"].values() if "predicted" in each["data"]]
    cpu = [said["cpu"] for said in predicted if "cpu" in said] or [0.0]
    return (
        f"{ran_on(record)} A curve took {sum(cpu) / len(cpu):.2f} s of CPU on average, {max(cpu):.2f} s at most. The"
        f" predictions are by the model's code {', '.join(sorted(models))} (a digest)."
    )
