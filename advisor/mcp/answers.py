"""The answers of tools that have a form of their own: lists of servers and of findings, a finding, and curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from advisor.contract.fleet import FleetFinding
from advisor.contract.plan import ColdStart, MemoryPlan, Plan, RollOut, Step, TargetName, Threshold
from advisor.contract.recommendation import (
    Action,
    Alternative,
    Change,
    Effect,
    Evidence,
    Frozen,
    Number,
    Recommendation,
    Severity,
    Trend,
)
from advisor.ledger.entry import Outcome
from advisor.ledger.history import GoneFinding, GradedRecommendation, GradedSetAside
from advisor.pool.curve import ExpectedReads, MissCurve
from advisor.render.phrases import moment


class WatchedServer(Frozen):
    """A server that questions can be asked about."""

    name: str = Field(description="What the other tools take as ``server``.")
    version: str | None = Field(None, description="Flavour and version; null where not known.")
    source: str = Field(description="What is known of it, and from where.")
    problem: str | None = Field(None, description="Why nothing new is known of it.")
    at: float | None = Field(None, description="Time of the newest snapshot, Unix seconds.")
    findings: Mapping[Severity, int] = Field({}, description="Findings by severity.")


class ServerList(Frozen):
    """The servers that questions can be asked about."""

    servers: tuple[WatchedServer, ...]
    warnings: tuple[str, ...] = ()


class FindingLine(Frozen):
    """A finding in short; get_finding has all of it."""

    server: str
    fingerprint: str
    rule: str
    severity: Severity
    subject: Mapping[str, str] = {}
    summary: str = ""
    settings: Mapping[str, Number | str] = Field({}, description="The values that it proposes.")
    actions: int = Field(0, description="What else it proposes: an index to add.")
    read_bytes_saved_per_second: Number | None = None
    trend: Trend | None = None
    since: float | None = Field(None, description="When it began, Unix seconds.")


class FindingList(Frozen):
    """The findings, the worst first."""

    at: float = Field(description="The newest snapshot's time, Unix seconds.")
    blind: int = Field(description="Rules that could not be judged: explain_silence has them.")
    set_aside: int = Field(0, description="Findings that are suppressed or overruled: explain_silence has them.")
    findings: tuple[FindingLine, ...]


class FindingAnswer(Frozen):
    """A finding: what to change, what it rests on, and what became of it before."""

    server: str
    fingerprint: str
    rule: str = Field(description="The resource innodb-advisor://rules/{rule} says why it is a problem.")
    severity: Severity
    state: Literal["standing", "suppressed or overruled", "gone"]
    reason: str = Field("", description="Why it is set aside, or since when it is gone and because of what.")
    subject: Mapping[str, str] = {}
    summary: str = ""
    confidence: Number | None = None
    effect: Effect | None = Field(None, description="Null where the advice is not about a quantity.")
    cost: Effect | None = None
    others: Effect | None = Field(None, description="Reads of everything that the change is not made for.")
    watched_seconds: Number | None = Field(None, description="Length of the window that it was judged over.")
    since: Number | None = Field(None, description="When it began, Unix seconds.")
    trend: Trend | None = Field(None, description="The newest minutes beside the whole window.")
    changes: tuple[Change, ...] = Field((), description="All of them together, with the statements and the way back.")
    actions: tuple[Action, ...] = Field((), description="What to do that is no setting.")
    evidence: tuple[Evidence, ...] = ()
    alternatives: tuple[Alternative, ...] = Field((), description="Other changes that help too.")
    outcomes: tuple[Outcome, ...] = Field((), description="Of changes that it asked for, the newest first.")
    notes: tuple[str, ...] = ()


class PlanAnswer(Frozen):
    """A change, ready to be merged."""

    server: str
    fingerprint: str
    rule: str
    subject: Mapping[str, str] = {}
    summary: str
    target: TargetName
    steps: tuple[Step, ...] = Field((), description="In their order: the next begins when its check says done.")
    undo: tuple[Step, ...] = Field((), description="The way back, in its order.")
    roll_out: tuple[RollOut, ...] = Field((), description="One: how the change reaches the members.")
    memory: tuple[MemoryPlan, ...] = Field((), description="One, or none where the change moves no memory.")
    cold_starts: tuple[ColdStart, ...] = Field((), description="Of each way to restart; none where none is needed.")
    abort_when: tuple[Threshold, ...] = ()
    done_when: tuple[Threshold, ...] = ()
    notes: tuple[str, ...] = ()
    changes: tuple[Change, ...] = Field((), description="The same as SQL, for a server that nobody else owns.")


class TableReads(Frozen):
    """Pages read a second of a table, by anything but full scans, with each size of the buffer pool."""

    subject: Mapping[str, str]
    pages_read_per_second: Mapping[str, Number] = Field(description="By multiple of today's size.")


class SizeReads(Frozen):
    """Pages read a second with a size of the buffer pool."""

    times: Number = Field(description="Multiple of today's size.")
    bytes: Number = Field(description="innodb_buffer_pool_size.")
    pages_read_per_second: ExpectedReads
    scan_pages_read_per_second: Number = Field(0, description="The part that full scans cause.")


class CurveAnswer(Frozen):
    """The pages read a second with buffer pools of other sizes."""

    server: str
    at: float = Field(description="The newest snapshot's time, Unix seconds.")
    watched_seconds: float
    pool_bytes: Number = Field(description="innodb_buffer_pool_size today.")
    pages_read_per_second: Number = Field(description="Today, as measured.")
    notes: tuple[str, ...] = Field(description="What the answer rests on, and what it cannot see.")
    sizes: tuple[SizeReads, ...] = Field(description="Ascending; today's is among them.")
    tables: tuple[TableReads, ...] = Field(description="The most read first.")


def plan_answer(plan: Plan, subject: Mapping[str, str]) -> PlanAnswer:
    """A plan whose parts are all items: a page has some of them."""
    parts = {
        "subject": subject,
        "roll_out": (plan.roll_out.model_copy(update={"cold_starts": ()}),),
        "memory": () if plan.memory is None else (plan.memory,),
        "cold_starts": tuple(start.model_copy(update={"reads": ()}) for start in plan.roll_out.cold_starts),
    }
    return PlanAnswer.model_validate({**dict(plan), **parts}, extra="ignore")


def finding_answer(server: str, finding: GradedRecommendation | GradedSetAside | GoneFinding) -> FindingAnswer:
    """A finding as `/advise/{fingerprint}` of its sidecar answers."""
    match finding:
        case GradedSetAside(recommendation=recommendation, reason=reason, outcomes=outcomes):
            state = "suppressed or overruled"
            return _answer(recommendation, server=server, state=state, reason=reason, outcomes=outcomes)
        case GoneFinding(first_seen=since):
            gone = "not seen now" if finding.resolved_at is None else f"gone since {moment(finding.resolved_at)}"
            return _answer(finding, server=server, state="gone", reason=f"{gone}: {finding.because}", since=since)
        case GradedRecommendation():
            return _answer(finding, server=server, state="standing")


def fleet_finding_answer(finding: FleetFinding) -> FindingAnswer:
    """A finding as a fleet's report has it."""
    page = () if finding.page_url is None else (f"its sidecar's page: {finding.page_url}",)
    return _answer(finding, state="standing", notes=(*finding.notes, *page))


def _answer(finding: Recommendation | GoneFinding | FleetFinding, **more: object) -> FindingAnswer:
    """A finding's own fields, as far as an answer has them, and more."""
    return FindingAnswer.model_validate({**dict(finding), **more}, extra="ignore")


def finding_line(finding: Recommendation | FleetFinding, **more: object) -> FindingLine:
    """A finding in short: its own fields, as far as a line has them, and more."""
    settings = {change.setting: change.to for change in finding.changes}
    counted = {"settings": settings, "actions": len(finding.actions)}
    return FindingLine.model_validate({**dict(finding), **counted, **more}, extra="ignore")


def curve_answer(curve: MissCurve) -> CurveAnswer:
    """A miss curve with its tables beside its sizes: a page has some of them."""
    reads: dict[str, tuple[Mapping[str, str], dict[str, Number]]] = {}
    for size in curve.sizes:
        for table in size.tables:
            reads.setdefault(table.name, (table.subject, {}))[1][f"{size.times:g}"] = (
                table.pages_read_per_second.expected
            )
    tables = [TableReads(subject=subject, pages_read_per_second=by_size) for subject, by_size in reads.values()]
    sizes = [dict(size) for size in curve.sizes]
    return CurveAnswer.model_validate({**dict(curve), "sizes": sizes, "tables": tables}, extra="ignore")
