"""docs/proofs.md, from the records."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from advisor.rules.check import Rule
from lab.harness import records
from lab.harness.watch import rules
from lab.proofs import PROOFS, PROVED
from lab.proofs.gaps import UNAVAILABLE_SERVERS, UNPROVED, rests_on
from lab.proofs.record import MOST_HARM, MOST_OFF, Comparison, CounterProofRecord, ProofRecord
from lab.reports.markdown import ran_on, table

_HEAD = f"""\

A rule is shipped after a proof and a counter-proof on a real server. A row above is a rule, with what it predicts
before and after its advice was followed, and with how folklore changes the worst quantity. `make lab` makes the
records that this page is generated from; `make proofs`, which CI runs, a few that count pages.

The proof: the lab creates the condition, and the rule fires. The lab compares the rule's evidence with its own
measurements. It executes the rule's statements unchanged and measures their effect. The rule falls silent. The lab
executes the rule's rollback.

The counter-proof: the lab creates a state in which folklore would fire. The rule is silent. The lab follows folklore
and measures the effect.

Every proof keeps these bounds. A predicted effect in pages is within {MOST_OFF:.0%} of the measured one. After the
advice, reads and time of the same work are at most {MOST_HARM - 1:.0%} worse. For repeated scans and lookups, the best
time after is compared with the median before, because other work on the machine only adds time.

On loads that no rule was made for, everything that is advised is followed as well: [the gauntlet](#the-gauntlet).

"""
_NOT_PROVOKED = "what-no-server-here-can-provoke"
_TITLES = ("rule", "servers", "fires where it should", "silent where folklore fires and does harm")


class RuleRecord:
    """A rule's proofs and counter-proofs."""

    def __init__(self, rule: str, record: Mapping[str, Any]) -> None:
        data = records.data(record)
        self.raw = record
        servers = [server for proof in PROOFS if proof.rule == rule for server in proof.options]
        self.proofs = {name: ProofRecord.model_validate(data[name]) for name in servers}
        self.counters = [
            (part["server"], CounterProofRecord.model_validate(part["data"]))
            for name, part in record["parts"].items()
            if name not in self.proofs
        ]


def recorded() -> dict[str, RuleRecord]:
    """The rules that have a record."""
    known = ((rule, records.load(f"proofs/{rule}")) for rule in PROVED)
    return {rule: RuleRecord(rule, record) for rule, record in known if record is not None}


def page() -> str:
    """The page as a whole."""
    proved = recorded()
    rows = [_row(rule, proved.get(rule.id)) for rule in rules()]
    sections = "".join(_section(rule, proved[rule.id]) for rule in rules() if rule.id in proved)
    return f"# The proofs\n\n{table(_TITLES, rows)}{_HEAD}{_unproved()}{sections}"


def _unproved() -> str:
    """The section on rules without a proof and on unavailable servers."""
    rows = [[f"`{rule}`", why, "; ".join(map(_source, rests_on(rule)))] for rule, why in UNPROVED.items()]
    servers = [[name, _listed(applying)] for name, applying in UNAVAILABLE_SERVERS.items()]
    return (
        "## What no server here can provoke\n\n"
        + table(["rule", "why", "its cases rest on"], rows)
        + "\nThese servers are unavailable here. Rules for them rest on documents, and on the code that they share with"
        " a series\nthat is available. MySQL 8.0.43 and 5.7.44 were recorded elsewhere under known loads"
        " ([tests/captures](../tests/captures)).\n\n" + table(["server", "rules that apply to it"], servers)
    )


def _source(text: str) -> str:
    if text.startswith("http"):
        return f"<{text}>"
    return f"[{text}](../tests/captures/{text}/note.yaml)" if "/" in text else text


def _listed(applying: tuple[str, ...]) -> str:
    """The rules, or the exceptions if these are fewer."""
    others = [rule.id for rule in rules() if rule.id not in applying]
    if not others:
        return "all"
    return f"all but {', '.join(others)}" if len(others) < len(applying) else ", ".join(applying)


def _row(rule: Rule, record: RuleRecord | None) -> list[str]:
    if record is None:
        return [f"`{rule.id}`", "", f"[not provoked here](#{_NOT_PROVOKED})", ""]
    first = next(iter(record.proofs.values()))
    fires = "yes; it predicts nothing"
    if first.effects:
        effect = first.effects[0]
        off = max(effect.error for proof in record.proofs.values() for effect in proof.effects)
        fires = f"{_change(effect.before, effect.after, effect.unit)}, {off:.0%} off"
    harms = Counter(_harm(counter) for _, counter in record.counters)
    harm = ", ".join(text if times == 1 else f"{text} ({times} times)" for text, times in harms.items())
    return [f"[`{rule.id}`](#{rule.id})", _servers(record.proofs), fires, harm]


def _change(before: float, after: float, unit: str) -> str:
    if unit == "bytes":
        return f"{before / 2**20:,.0f} → {after / 2**20:,.0f} MiB"
    return f"{_number(before)} → {_number(after)} {unit}"


def _servers(proofs: Mapping[str, ProofRecord]) -> str:
    """The servers, such as `mysql 9.7, 5.6; mariadb 11.8`."""
    flavours: dict[str, list[str]] = {}
    for server in proofs:
        flavour, _, series = server.partition("-")
        flavours.setdefault(flavour, []).append(series)
    return "; ".join(f"{flavour} {', '.join(series)}" for flavour, series in flavours.items())


def _harm(counter: CounterProofRecord) -> str:
    worst = max(counter.measures, key=lambda measure: measure.ratio)
    return f"{worst.unit.split()[0]} {_times(worst)}" if worst.ratio > MOST_HARM else "in vain"


def _section(rule: Rule, record: RuleRecord) -> str:
    return "\n".join(["", *_paragraphs(rule, record)])


def _paragraphs(rule: Rule, record: RuleRecord) -> Iterator[str]:
    yield f"## {rule.id}\n"
    yield f"{rule.file.title} ([its page](rules/{rule.id}.md)).\n"
    for server, proof in record.proofs.items():
        yield from _proof(server, record.raw["parts"][server], proof)
    for server, counter in record.counters:
        yield from _counter(server, counter)
    yield f"{ran_on(record.raw)}\n"


def _proof(server: str, part: Mapping[str, Any], proof: ProofRecord) -> Iterator[str]:
    yield f"**{server}.** {_sentence(proof.condition)}\n"
    if proof.altered:
        yield f"Altered: {_sentence(proof.altered)}\n"
    yield f"> {proof.summary}\n"
    yield "```sql\n" + "\n".join(_ended(statement) for statement in proof.applied) + "\n```\n"
    rows = [[fact.name, "evidence", _number(fact.said), _number(fact.known), "", ""] for fact in proof.facts]
    for effect in proof.effects:
        numbers = map(_number, (effect.now, effect.before, effect.predicted, effect.after))
        rows.append([f"{effect.quantity}, {effect.unit}", f"effect, {effect.error:.0%} off", *numbers])
    for measure in proof.measures:
        before, after = map(_number, (measure.before, measure.after))
        rows.append([f"{measure.what}, {measure.unit}", _times(measure), "", before, "", after])
    for promise in proof.promises:
        before, most, after = map(_number, (promise.before, promise.most, promise.after))
        rows.append([f"{promise.what}, {promise.unit}", "promise, at most", "", before, most, after])
    yield table(["", "", "the rule says", "measured", "predicted", "measured after"], rows)
    tries = f" It took {part['attempts']} attempts." if part["attempts"] > 1 else ""
    yield f"Silent afterwards, and taken back.{tries} {_sentence(proof.notes)}".rstrip() + "\n"


def _counter(server: str, counter: CounterProofRecord) -> Iterator[str]:
    yield f"**Where folklore would fire, {server}.** {_sentence(counter.condition)}\n"
    yield f"Folklore: {counter.folklore.rstrip('.')} ({counter.source}).\n"
    yield "```sql\n" + "\n".join(_ended(statement) for statement in counter.followed) + "\n```\n"
    rows = [
        [f"{measure.what}, {measure.unit}", _number(measure.before), _number(measure.after), _times(measure)]
        for measure in counter.measures
    ]
    yield table(["", "before", "folklore followed", ""], rows)
    yield f"The rule is silent. {_sentence(counter.notes)}".rstrip() + "\n"


def _sentence(text: str) -> str:
    """The text with a full stop and an initial capital, unless it starts with a setting's name; empty stays empty."""
    if not text:
        return ""
    capital = text[0] if "_" in text.split(maxsplit=1)[0] else text[0].upper()
    return f"{capital}{text[1:].rstrip('.')}."


def _times(measure: Comparison) -> str:
    return "from none" if math.isinf(measure.ratio) else f"{measure.ratio:.3g} ×"


def _ended(statement: str) -> str:
    """SQL with a semicolon; a line of an option file as a comment."""
    return f"{statement};" if statement.split(" ", 1)[0].isupper() else f"# option file: {statement}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
