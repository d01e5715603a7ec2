"""What answers say in a paragraph: the point, the figures with their errors, and which tool comes next."""

from __future__ import annotations

from advisor.advice.silence import Silences
from advisor.contract.recommendation import Change
from advisor.contract.settings import setting_text
from advisor.contract.templates import binary, duration, value_text
from advisor.contract.upgrade import UpgradeForecast
from advisor.ledger import words
from advisor.ledger.history import History
from advisor.mcp.answers import CurveAnswer, FindingAnswer, FindingList, PlanAnswer, ServerList, SizeReads
from advisor.pool.what_if import WhatIf
from advisor.render import phrases
from advisor.render.phrases import counted, moment


def servers(answer: ServerList) -> str:
    """How many, and which need a look."""
    troubled = [server for server in answer.servers if server.findings]
    away = sum(server.problem is not None for server in answer.servers)
    text = f"{counted(len(answer.servers), 'server')}, {len(troubled)} of them with findings"
    text += f"; of {away} nothing new, or not all, is known" if away else ""
    return f"{text}. list_findings has the findings. {' '.join(answer.warnings)}".strip()


def findings(answer: FindingList) -> str:
    """The worst one, and what is not seen."""
    known = f"{counted(len(answer.findings), 'finding')} at {moment(answer.at)}"
    text = f"{known}. Nothing to change." if not answer.findings else f"{known}."
    if answer.findings:
        worst = answer.findings[0]
        summary = f": {worst.summary}" if worst.summary else ""
        text += f" The worst is {worst.severity.value} {worst.rule} ({worst.fingerprint}){summary}."
        text += " get_finding has its evidence and statements."
    silent = [f"{counted(answer.blind, 'rule')} could not be judged"] if answer.blind else []
    silent += [f"{counted(answer.set_aside, 'finding')} set aside"] if answer.set_aside else []
    return f"{text} {' and '.join(silent)}: explain_silence says why." if silent else text


def finding(answer: FindingAnswer) -> str:
    """What it is, what to do, and what to expect."""
    parts = [f"{answer.severity.value} {answer.rule} on {answer.server}: {answer.summary or 'no summary'}."]
    if answer.reason:
        parts.append(f"It is {answer.state}: {answer.reason}.")
    parts += [f"Change {change_text(change)}." for change in answer.changes]
    parts += [f"Do: {action.do}." for action in answer.actions]
    if answer.effect is not None:
        parts.append(f"Expect {phrases.effect(answer.effect)}.")
    if answer.cost is not None:
        parts.append(f"It costs {phrases.amount(answer.cost)}.")
    if answer.outcomes:
        parts.append(f"{counted(len(answer.outcomes), 'change')} of its settings came before: get_outcome has them.")
    if answer.state == "standing" and answer.changes:
        parts.append("plan_change makes the patch; what_if tries other values.")
    return " ".join(parts)


def what_if(answer: WhatIf) -> str:
    """Reads now and then, and the error."""
    changes = ", ".join(f"{change.setting} = {setting_text(change.setting, change.to)}" for change in answer.changes)
    reads = answer.pages_read_per_second
    hot = answer.pages_of_others
    parts = [
        f"With {changes}: {value_text(reads.now)} -> {value_text(reads.then)} pages read a second in all, and",
        f"{value_text(hot.now)} -> {value_text(hot.then)} pages of the pool left to everything but scans.",
        f"Model error {answer.error:.1%}, confidence {answer.confidence:g},",
        f"from {duration(answer.watched_seconds)} that were watched.",
        *(f"Note: {note}." for note in answer.notes),
    ]
    return " ".join(parts)


def curve(answer: CurveAnswer) -> str:
    """Reads today, and with the sizes beside today's."""
    today = f"innodb_buffer_pool_size is {binary(answer.pool_bytes)}, with {value_text(answer.pages_read_per_second)}"
    parts = [f"{today} pages read a second as measured in {duration(answer.watched_seconds)}."]
    parts += [f"At {size}." for size in map(_size, answer.sizes)]
    parts.append("Low to high are the bounds; watch the hours that matter before memory is cut.")
    return " ".join(parts)


def plan(answer: PlanAnswer) -> str:
    """What it changes, in how many steps, and what ends it."""
    changes = "; ".join(
        f"{change.setting} {setting_text(change.setting, change.from_)} -> {setting_text(change.setting, change.to)}"
        for change in answer.changes
    )
    parts = [f"Plan for {answer.target} on {answer.server}: {changes}.", *(roll.how for roll in answer.roll_out)]
    parts += [f"{number}. {step.do}" for number, step in enumerate(answer.steps, 1)]
    parts.append("Nothing is applied: a person reviews and merges it. get_outcome says later what came of it.")
    return " ".join(parts)


def forecast(answer: UpgradeForecast) -> str:
    """What would not start, what gets worse, and what cannot be said."""
    parts = [f"{answer.server} to {answer.to}, from {duration(answer.watched_seconds)} that were watched:"]
    parts += [f"{warning}." for warning in answer.warnings]
    blockers = ", ".join(blocker.variable for blocker in answer.blockers)
    parts.append(f"it would not start with {blockers};" if blockers else "nothing known stops its start;")
    parts.append(f"{counted(len(answer.effects), 'change')} that may be worse, {len(answer.improvements)} better by")
    parts.append(f"themselves, {len(answer.settled)} findings that fall away,")
    parts.append(f"{counted(len(answer.not_foretold), 'question')} that cannot be answered.")
    parts += [f"The largest: {effect.summary}." for effect in answer.effects[:1]]
    return " ".join(parts)


def history(answer: History) -> str:
    """The newest outcomes."""
    if not answer.outcomes:
        stood = f" {counted(len(answer.findings), 'finding')} stood." if answer.findings else ""
        return f"No change of a setting was seen.{stood}"
    parts = [f"{counted(len(answer.outcomes) + answer.more_outcomes, 'outcome')}, the newest first."]
    for outcome in answer.outcomes[:2]:
        changes = "; ".join(map(words.change, outcome.changes))
        parts.append(f"{moment(outcome.at)} {changes}: {outcome.result.value}{_why(outcome.why)}.")
        if outcome.harm:
            undo = [statement for changed in outcome.changes for statement in changed.undo or (changed.undo_config,)]
            parts.append(f"It did harm; the way back: {'; '.join(undo)}.")
    return " ".join(parts)


def silence(answer: Silences) -> str:
    """How many rules by state."""
    counts: dict[str, set[str]] = {}
    for row in answer.silences:
        counts.setdefault(row.state, set()).add(row.rule)
    states = ", ".join(f"{len(rules)} {state}" for state, rules in counts.items()) or "none"
    first = answer.silences[0] if len(counts) == 1 and answer.silences else None
    example = f" {first.rule}: {'; '.join(first.reasons)}." if first else ""
    return f"Rules by state over {duration(answer.watched_seconds)} of {answer.server}: {states}.{example}"


def change_text(change: Change) -> str:
    """A change with its statement, and where it is made."""
    before = "" if change.from_ is None else f" (now {setting_text(change.setting, change.from_)})"
    how = "; ".join(change.apply) or f"by {change.via}: {change.config}"
    note = f" {change.note}" if change.note else ""
    return f"{change.setting} to {setting_text(change.setting, change.to)}{before}, {how}{note}"


def _size(size: SizeReads) -> str:
    reads = size.pages_read_per_second
    bounds = f"{value_text(reads.low)} to {value_text(reads.high)}"
    return f"{size.times:g} times ({binary(size.bytes)}) {value_text(reads.expected)} a second ({bounds})"


def _why(why: str) -> str:
    return f", {why}" if why else ""
