"""In the advice on every capture, effect, alternatives, error, texts and metrics start from one measured figure."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from advisor.advice import evaluation, metrics
from advisor.alerting.alert import annotations_of
from advisor.casetest import cases
from advisor.contract.links import Links
from advisor.contract.recommendation import Advice, Recommendation
from advisor.facts import facts
from advisor.observe.source import Replay
from advisor.observe.window import Window
from advisor.render import advice as documents
from advisor.render import text
from advisor.render.markdown import markdown
from advisor.render.phrases import amount
from advisor.rules.check import Rule
from advisor.rules.rulebook import Rulebook
from lab.harness.watch import RULES_FOLDER, rules

OF_THE_MODEL = tuple(rule for rule in rules() if rule.file.choose is not None)
BOOK = Rulebook(RULES_FOLDER)
PER_PASS = "pages read per pass"


FIRING = sorted({case.recording for rule in OF_THE_MODEL for case in cases.load(rule) if case.expect})
"""The captures that a rule with a choice of the model fires on."""


def chosen(advice: Advice) -> Iterator[tuple[Rule, Recommendation]]:
    for finding in (*advice.recommendations, *(aside.recommendation for aside in advice.overruled)):
        if finding.effect is not None and finding.effect.model is not None:
            yield next(rule for rule in OF_THE_MODEL if rule.id == finding.rule), finding


@pytest.fixture(scope="module", params=FIRING, ids=lambda path: f"{path.parts[-3]}/{path.parts[-2]}")
def case(request: pytest.FixtureRequest) -> tuple[Window, Advice]:
    """The window of a capture, and the advice on it."""
    window = Window.of(Replay(request.param).history, float("inf"))
    return window, evaluation.advise(OF_THE_MODEL, window)


def test_each_capture_has_advice(case: tuple[Window, Advice]) -> None:
    assert list(chosen(case[1]))


def test_the_effect_starts_from_what_was_measured(case: tuple[Window, Advice]) -> None:
    window, advice = case
    known = facts(window)
    for _, finding in chosen(advice):
        assert finding.effect is not None
        assert finding.effect.now is not None
        if finding.effect.quantity == PER_PASS:
            [scan] = [scan for scan in known.lists["scans"] if scan.subject == finding.subject]
            assert finding.effect.now == round(scan.pages_read_last_pass or 0.0)
        else:
            assert finding.effect.now == pytest.approx(known.pool.pages_read_per_second, rel=0.1)


def test_the_evidence_shows_where_the_effect_starts(case: tuple[Window, Advice]) -> None:
    """On MySQL 5.7, the last pass and a part of the next read 9,708 pages of a file; the table has 9,065."""
    for rule, finding in chosen(case[1]):
        evidence = {item.name: item.value for item in finding.evidence}
        assert finding.effect is not None
        if "pages_read_last_pass" in evidence:
            assert evidence["pages_read_last_pass"] == pytest.approx(finding.effect.now, abs=0.5)
        else:
            assert finding.effect.quantity != PER_PASS, rule.id


def test_alternatives_start_where_the_effect_starts(case: tuple[Window, Advice]) -> None:
    for _, finding in chosen(case[1]):
        assert finding.effect is not None
        for other in finding.alternatives:
            if other.effect.quantity == finding.effect.quantity:
                assert other.effect.now == finding.effect.now
            assert other.others is not None
            assert finding.others is not None
            assert other.others.now == finding.others.now


def test_the_error_covers_the_models_deviation_and_is_never_nothing(case: tuple[Window, Advice]) -> None:
    for _, finding in chosen(case[1]):
        by_model = [item.value for item in finding.evidence if item.name.endswith("by_the_model")]
        for effect in (finding.effect, *(alternative.effect for alternative in finding.alternatives)):
            assert effect is not None
            assert effect.now
            assert effect.error
            if by_model and effect is finding.effect:
                assert effect.error * effect.now >= abs(float(by_model[0]) - effect.now) * 0.99 - 1


def test_the_saved_bytes_are_the_effects(case: tuple[Window, Advice]) -> None:
    window, advice = case
    known = facts(window)
    exposed = {
        (sample.labels["rule"], sample.labels["subject"]): sample.value
        for family in metrics.families(advice, BOOK)
        for sample in family.samples
        if family.name == "innodb_advisor_predicted_read_bytes_saved_per_second"
    }
    for _, finding in chosen(advice):
        effect = finding.effect
        assert effect is not None
        assert effect.now is not None
        rate = 1.0
        if effect.quantity == PER_PASS:
            [scan] = [scan for scan in known.lists["scans"] if scan.subject == finding.subject]
            rate = (scan.passes_per_hour or 0.0) / 3600
        saved = (effect.now - effect.predicted) * rate * (known.pool.page_bytes or 0.0)
        assert effect.read_bytes_saved_per_second == pytest.approx(saved, rel=0.01)
        if finding in advice.recommendations:
            assert exposed[finding.rule, ".".join(finding.subject.values())] == effect.read_bytes_saved_per_second


def test_every_text_has_the_effect_of_the_json(case: tuple[Window, Advice]) -> None:
    for _, finding in chosen(case[1]):
        assert finding.effect is not None
        amount_text = amount(finding.effect)
        for shown in (
            text.text(documents.finding(finding)),
            markdown(documents.finding(finding)),
            annotations_of(finding, "", Links("http://a"))["description"],
        ):
            assert amount_text in " ".join(shown.split())
