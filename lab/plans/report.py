"""What the record of memory plans shows, for the section "Memory" of docs/plan.md."""

from __future__ import annotations

from collections.abc import Iterator

from lab.harness import records
from lab.plans.memory import GROUP, TIGHT
from lab.plans.record import (
    LEAST_OF_CHANGE,
    LEAST_OF_LIMIT,
    MOST_OF_CHANGE,
    MOST_OF_LIMIT,
    CarriedOutStep,
    LimitedPlan,
    MemoryRecord,
)
from lab.reports.markdown import ran_on, table

_MIB = 2**20
_HEAD = f"""
**What moves with a setting.** Full pools of several sizes in a real memory cgroup, and index builds. What was measured
must be {LEAST_OF_CHANGE:.0%} to {MOST_OF_CHANGE:.0%} of the plan's figure. Free pages may be missing from it: MariaDB
keeps innodb_lru_scan_depth pages free, some of which were never in memory.

"""
_STEPS = f"""
**The order of the steps.** A server under load, in a memory cgroup whose limit is {TIGHT:g} times what it has in use.
The plan is carried out step by step, each until a real Prometheus says by the step's own query that it is done; then
its way back. No process may be killed, and at the peak {LEAST_OF_LIMIT:.0%} to {MOST_OF_LIMIT:.0%} of the plan's limit
must be in use: less would be wasted. Then the other order: a lower limit before the pool is smaller must be refused,
and a larger pool before the limit must get the server killed. The cgroup is of version 1; one of version 2 does not
refuse a limit below what is in use: it kills.

"""


def section() -> str:
    """The tables; empty while there is no record."""
    record = records.load(GROUP)
    if record is None:
        return ""
    parts = {name: MemoryRecord.model_validate(data) for name, data in records.data(record).items()}
    moved = table(
        ("part", "setting", "from, MiB", "to, MiB", "planned, MiB", "measured, MiB", "of planned", "free pages, MiB"),
        (row for name, part in parts.items() for row in _moved(name, part)),
    )
    titles = ("part", "limit, MiB", "steps", "until done, s", "most in use", "kills", "the other order")
    steps = table(titles, (row for name, part in parts.items() if part.plan for row in _rows(name, part.plan)))
    return f"{_HEAD}{moved}{_STEPS}{steps}\n{ran_on(record)}\n"


def _moved(name: str, part: MemoryRecord) -> Iterator[list[str]]:
    for moved in part.moved:
        mib = (moved.before, moved.after, moved.planned, moved.measured)
        yield [
            name,
            f"`{moved.setting}`",
            *(f"{size / _MIB:,.0f}" for size in mib),
            f"{moved.share:.0%}",
            f"{moved.unused / _MIB:,.0f}",
        ]


def _rows(name: str, plan: LimitedPlan) -> Iterator[list[str]]:
    before, after, back = plan.most
    limit, limit_then = (f"{size / _MIB:,.0f}" for size in (plan.limit, plan.limit_then))
    of_limit = f"the limit first: {'refused' if plan.refused else 'taken'}"
    of_setting = f"the pool first: {'killed' if plan.killed else 'not killed'}"
    yield [name, limit, "before", "", f"{before:.0%}", "", ""]
    yield [name, limit_then, *_steps(plan.steps), f"{after:.0%}", "", of_setting]
    yield [name, limit, *_steps(plan.back), f"{back:.0%}", f"{plan.kills}", of_limit]


def _steps(steps: tuple[CarriedOutStep, ...]) -> tuple[str, str]:
    words = (step.do.partition(":")[0].partition(",")[0].rstrip(".") for step in steps)
    return "; ".join(words), "; ".join(f"{step.seconds:g}" for step in steps)
