"""The records of runs on real servers keep their bounds, are complete, and equal the pages and pictures."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

from lab import __main__ as lab
from lab import steady
from lab.bench.registry import BENCHMARKS
from lab.experiments import EXPERIMENTS
from lab.experiments import report as experiments
from lab.gauntlet.trial import study as gauntlet
from lab.gauntlet.workload import SERVERS
from lab.gauntlet.workloads import workloads
from lab.harness import records
from lab.harness.campaign import Study
from lab.harness.watch import rules
from lab.outcomes import changed, followed
from lab.proofs import COUNTER_PROOFS, PROOFS, PROVED, SHORT, counters
from lab.proofs import report as proofs
from lab.proofs.gaps import UNPROVED
from lab.proofs.proof import Proof
from lab.proofs.record import Comparison, EvidenceCheck, MeasuredEffect, PromisedLimit
from lab.reports import pictures
from lab.reports.criterion import Criterion, broken

OFF = 0.002  # relative, for numbers in a picture: another machine may round differently
STUDIES = {
    study.group: study
    for study in (
        *lab.OTHERS.values(),
        *lab.PROOFS.values(),
        *(gauntlet(server, workloads()) for server in SERVERS),
        followed.study(),
        changed.study(),
        steady.study(),
    )
}


def test_every_rule_has_a_proof_or_a_reason_why_not() -> None:
    known = [*PROVED, *UNPROVED]
    assert sorted(known) == sorted(rule.id for rule in rules()), (
        "add a proof to lab/proofs, or to UNPROVED in lab/proofs/gaps.py why no server at hand can have one"
    )


def test_every_proved_rule_has_a_counter_proof_and_the_short_form_some_of_both() -> None:
    assert [rule for rule in PROVED if rule not in {counter.rule for counter in COUNTER_PROOFS}] == []
    assert {*SHORT} <= {str(part) for study in STUDIES.values() for part in study.parts}
    assert {"folklore" in name for name in SHORT} == {True, False}


@pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
def test_a_record_has_every_part_of_its_study_and_keeps_the_bounds(study: Study) -> None:
    record = records.load(study.group)
    assert record is not None
    assert sorted((name, entry["server"]) for name, entry in record["parts"].items()) == sorted(
        (part.name, part.server) for part in study.parts
    )
    assert list(study.broken(record["parts"])) == []


def test_there_are_no_other_records() -> None:
    groups = {str(path.relative_to(records.FOLDER).with_suffix("")) for path in records.FOLDER.rglob("*.json")}
    assert groups == {*STUDIES, "fleet", *(f"bench-{name}" for name in BENCHMARKS)}


@pytest.mark.parametrize("rule", PROVED)
def test_a_proofs_record_keeps_the_bounds(rule: str) -> None:
    record = proofs.recorded()[rule]
    for proof in record.proofs.values():
        assert list(broken(proof.criteria())) == []
        assert proof.applied
        assert proof.taken_back or all(statement.startswith("ANALYZE TABLE") for statement in proof.applied)
    assert [text for _, counter in record.counters for text in broken(counter.criteria())] == []


@pytest.mark.parametrize("proof", PROOFS, ids=lambda proof: f"{proof.rule} {min(proof.options)}")
def test_a_proofs_record_has_what_the_proof_declares(proof: Proof) -> None:
    recorded = proofs.recorded()[proof.rule].proofs
    for record in (recorded[server] for server in proof.options):
        assert [fact.name for fact in record.facts] == [fact.name for fact in proof.facts]
        assert [measure.what for measure in record.measures] == [measure.what for measure in proof.measures]
        assert bool(record.effects) >= (proof.effect is not None)
        assert filled(proof.condition, record.condition)
        assert filled(proof.notes, record.notes)
        assert record.altered == proof.why_altered


@pytest.mark.parametrize("rule", PROVED)
def test_a_counter_proofs_record_has_what_it_declares(rule: str) -> None:
    for (counter, declared), (server, record) in zip(counters(rule), proofs.recorded()[rule].counters, strict=True):
        assert (record.folklore, record.source, server) == (counter.folklore, counter.source, declared)
        assert [measure.what for measure in record.measures] == [measure.what for measure in counter.measures]
        assert filled(counter.condition, record.condition)
        assert filled(counter.notes, record.notes)


def filled(template: str, text: str) -> bool:
    """Whether a text is the template with some values."""
    parts = Formatter().parse(template)
    pattern = "".join(re.escape(words) + ("" if field is None else ".*") for words, field, *_ in parts)
    return re.fullmatch(pattern, text) is not None


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiments_picture_shows_its_numbers(name: str) -> None:
    _, _, conclusion = experiments.conclusions()[name]
    drawn = flat(pictures.shown(experiments.PICTURES / f"{name}.svg"))
    assert drawn == pytest.approx(flat(conclusion.plot), rel=OFF, abs=2), "run: .venv/bin/python -m tools.docs"
    assert (experiments.PICTURES / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def flat(data: object) -> list[float]:
    """All numbers in order."""
    if isinstance(data, dict):
        return [number for key in sorted(data) for number in flat(data[key])]
    if isinstance(data, list | tuple):
        return [number for item in data for number in flat(item)]
    return [float(data)] if isinstance(data, int | float) else []


def test_the_pages_links_resolve() -> None:
    for path in (Path("docs/experiments.md"), Path("docs/proofs.md")):
        page = (pictures.FOLDER.parents[1] / path).read_text(encoding="utf-8")
        headings = {heading.lower() for heading in re.findall(r"^## (.*)$", page, re.MULTILINE)}
        anchors = {re.sub(r"[^\w -]", "", heading).replace(" ", "-") for heading in headings}
        assert [target for target in re.findall(r"\]\(#([^)]+)\)", page) if target not in anchors] == []


EFFECT = MeasuredEffect(quantity="pages", unit="pages", now=110, predicted=10, before=100, after=20)
READ = Comparison(what="pages read", unit="pages", before=100, after=105)
TOOK = Comparison(what="time of a pass", unit="s", before=1.0, after=1.2, least=1.04)
EVIDENCE = EvidenceCheck(name="table_pages", said=109, known=100)
PROMISE = PromisedLimit(what="pages read", unit="pages", before=1, most=20, after=20)


@pytest.mark.parametrize(
    ("figure", "changed", "failure"),
    [
        (EFFECT, {}, "error of the predicted pages: 0.25, not at most 0.2"),
        (EFFECT, {"unit": "seconds"}, None),
        (EFFECT, {"after": 100}, "pages, after the advice: 100, not at most 100"),
        (READ, {}, None),
        (READ, {"after": 106}, "pages read, after to before: 1.06, not at most 1.05"),
        (READ, {"before": 0, "after": 0}, None),
        (READ, {"before": 0, "after": 1}, "pages read, after to before: inf, not at most 1.05"),
        (TOOK, {}, None),
        (TOOK, {"least": 1.06}, "time of a pass, after to before: 1.06, not at most 1.05"),
        (EVIDENCE, {}, None),
        (EVIDENCE, {"said": 111}, "table_pages, by the evidence: 111, not 90 to 110"),
        (PROMISE, {}, None),
        (PROMISE, {"after": 21}, "pages read, after the advice: 21, not at most 20"),
    ],
)
def test_wrong_evidence_a_missed_prediction_and_harm_break_a_proof(
    figure: EvidenceCheck | MeasuredEffect | Comparison | PromisedLimit, changed: dict[str, Any], failure: str | None
) -> None:
    assert list(broken(figure.model_copy(update=changed).criteria())) == ([] if failure is None else [failure])


def test_an_experiment_is_judged_when_all_its_parts_are_there() -> None:
    study = STUDIES["experiments/E4"]
    assert list(study.broken({})) == list(study.broken({"mysql-5.6": {"data": {}}})) == []


def test_a_criterion_has_bounds() -> None:
    assert Criterion("pages", 5, least=5, most=5).holds
    assert not Criterion("pages", 5, least=6).holds
    assert not Criterion("pages", 5, most=4).holds
    assert Criterion("pages", 5, least=4, most=6).bounds == "4 to 6"
