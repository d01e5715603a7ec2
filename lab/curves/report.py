"""The measured parts of docs/miss-curve.md, and their pictures, from the record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lab.campaign import records
from lab.campaign.part import Data
from lab.curves import judge, once
from lab.curves.campaign import GROUP, SERVERS, workload
from lab.curves.judge import Case, Verdict
from lab.curves.plot import draw as draw_curves
from lab.curves.workloads import WORKLOADS
from lab.reports import pictures
from lab.reports.markdown import ran_on, table

PICTURES = pictures.FOLDER / "curves"
_SIZE = (9.5, 3.8)
_SERVER_NAMES = {"mysql-9.7": "MySQL 9.7", "mariadb-11.8": "MariaDB 11.8"}
_NO_RECORD = "Not measured yet.\n"


def verdicts() -> str:
    """Whether the bounds are kept, in all and by workload."""
    record = records.load(GROUP)
    if record is None:
        return _NO_RECORD
    by_workload = {each.name: _cases(record, each.name) for each in WORKLOADS}
    rows = [_row(f"[{name}](#{name.replace('.', '')})", cases) for name, cases in by_workload.items()]
    rows.append(_row("**all**", [case for cases in by_workload.values() for case in cases]))
    titles = [
        "workload",
        *(f"{name}: {what}" for name in _SERVER_NAMES.values() for what in ("within", "median error")),
    ]
    return f"{_summary(record)}\n{table(titles, rows)}\n{_origin(record)}\n"


def jobs() -> str:
    """What is advised for the job that reads everything once."""
    record = records.load(GROUP)
    if record is None:
        return _NO_RECORD
    rows = []
    for server, name in _SERVER_NAMES.items():
        data = record["parts"][f"{server}, {once.NAME}"]["data"]
        said = data.get("unanswerable") or f"at least {data['least']:.0%} of today's reads"
        rows.append([name, f"{data['judged']} times", f"{data['grown']} times", said])
    titles = ["server", f"`{once.RULE}` judged", "advised a larger pool", f"the curve at {once.TIMES:g} × the size"]
    return table(titles, rows)


def sections() -> str:
    """A section with a picture for each workload."""
    record = records.load(GROUP)
    if record is None:
        return _NO_RECORD
    return "\n".join(_section(record, each.name, each.about) for each in WORKLOADS)


def draw() -> None:
    """Draw the pictures."""
    record = records.load(GROUP)
    if record is None:
        return
    PICTURES.mkdir(parents=True, exist_ok=True)
    for each in WORKLOADS:
        pictures.save(draw_curves, plot(record, each.name), _SIZE, PICTURES / f"{each.name}.svg")


def plot(record: Mapping[str, Any], name: str) -> Data:
    """The numbers of a workload's picture: sizes as shares of the data, reads a lookup or transaction."""
    panels = []
    for server, title in _SERVER_NAMES.items():
        data = record["parts"][f"{server}, {name}"]["data"]
        reads = judge.by_size(data)
        panels.append(
            {
                "server": title,
                "measured": [[share, round(each, 4)] for share, each in reads.items()],
                "predictions": [
                    _shown(share, reads[share], data["predicted"][str(share)]) for share in data["watched"]
                ],
            }
        )
    return {"unit": data["unit"], "panels": panels}


def _shown(share: float, today: float, said: Data) -> Data:
    sizes = [
        [round(share * float(times), 4), *(round(each * today, 4) for each in reads)]
        for times, reads in said.get("sizes", {}).items()
    ]
    filled = [[size, round(reads * today, 4)] for size, reads in said.get("filled", ())]
    return {"share": share, "today": [share, round(today, 4)], "sizes": sizes, "filled": filled}


def _cases(record: Mapping[str, Any], name: str) -> list[Case]:
    return [
        case
        for part, each in record["parts"].items()
        if workload(part) == name
        for case in judge.cases(each["server"], name, each["data"])
    ]


def _row(title: str, cases: list[Case]) -> list[str]:
    found = [judge.verdict([case for case in cases if case.server == server]) for server in SERVERS]
    return [title, *(text for each in found for text in _texts(each))]


def _texts(found: Verdict) -> tuple[str, str]:
    return f"{found.held} of {found.cases}", f"{found.median:.1%}"


def _summary(record: Mapping[str, Any]) -> str:
    found = judge.verdict([case for each in WORKLOADS for case in _cases(record, each.name)])
    kept = "Both bounds are kept" if found.holds else "**The bounds are not kept**"
    return (
        f"{kept}: {found.held} of {found.cases} measured values ({found.share:.0%}) lie within their interval. The"
        f" median error is {found.median:.1%} of today's reads, and a tenth of the errors exceed {found.tenth:.0%}.\n"
    )


def _section(record: Mapping[str, Any], name: str, about: str) -> str:
    found = {server: [case for case in _cases(record, name) if case.server == server] for server in SERVERS}
    missed = "".join(f"- {each}\n" for server, cases in found.items() for each in _missed(_SERVER_NAMES[server], cases))
    picture = f"{PICTURES.relative_to(pictures.FOLDER.parent)}/{name}.svg"
    heading = f"### {name}\n\n{about[0].upper()}{about[1:]}.\n\n![Pages read by size of the pool]({picture})\n"
    return f"{heading}\nOutside of the interval, or too wide:\n\n{missed}" if missed else heading


def _missed(server: str, cases: list[Case]) -> Iterator[str]:
    for case in cases:
        if not case.holds:
            said = (
                "no answer"
                if case.expected is None
                else f"{case.low:.0%} to {case.high:.0%} predicted{', which is too wide' if case.wide else ''}"
            )
            yield (
                f"{server}, from {case.share:.0%} of the data to {case.times:g} × the size: {case.measured:.0%} of the"
                f" reads measured, {said}"
            )


def _origin(record: Mapping[str, Any]) -> str:
    models = {each["data"]["model"] for each in record["parts"].values()}
    cpu = [
        said["cpu"]
        for each in record["parts"].values()
        for said in each["data"].get("predicted", {}).values()
        if "cpu" in said
    ]
    return (
        f"{ran_on(record)} A curve took {sum(cpu) / len(cpu):.2f} s of CPU on average, {max(cpu):.2f} s at most. The"
        f" predictions are by the model's code {', '.join(sorted(models))} (a digest)."
    )
