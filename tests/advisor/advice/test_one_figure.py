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

OF_THE_MODEL = tuple(each for each in rules() if each.file.choose is not None)
BOOK = Rulebook(RULES_FOLDER)
PER_PASS = "pages read per pass"


FIRING = sorted({case.recording for rule in OF_THE_MODEL for case in cases.load(rule) if case.expect})
"""The captures that a rule with a choice of the model fires on."""


def chosen(advice: Advice) -> Iterator[tuple[Rule, Recommendation]]:
    for found in (*advice.recommendations, *(each.recommendation for each in advice.overruled)):
        if found.effect is not None and found.effect.model is not None:
            yield next(each for each in OF_THE_MODEL if each.id == found.rule), found


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
    for _, found in chosen(advice):
        assert found.effect is not None
        assert found.effect.now is not None
        if found.effect.quantity == PER_PASS:
            [scan] = [each for each in known.lists["scans"] if each.subject == found.subject]
            assert found.effect.now == round(scan.pages_read_last_pass or 0.0)
        else:
            assert found.effect.now == pytest.approx(known.pool.pages_read_per_second, rel=0.1)


def test_the_evidence_shows_where_the_effect_starts(case: tuple[Window, Advice]) -> None:
    """On MySQL 5.7, the last pass and a part of the next read 9,708 pages of a file; the table has 9,065."""
    for rule, found in chosen(case[1]):
        evidence = {item.name: item.value for item in found.evidence}
        assert found.effect is not None
        if "pages_read_last_pass" in evidence:
            assert evidence["pages_read_last_pass"] == pytest.approx(found.effect.now, abs=0.5)
        else:
            assert found.effect.quantity != PER_PASS, rule.id


def test_alternatives_start_where_the_effect_starts(case: tuple[Window, Advice]) -> None:
    for _, found in chosen(case[1]):
        assert found.effect is not None
        for other in found.alternatives:
            if other.effect.quantity == found.effect.quantity:
                assert other.effect.now == found.effect.now
            assert other.others is not None
            assert found.others is not None
            assert other.others.now == found.others.now


def test_the_error_covers_the_models_deviation_and_is_never_nothing(case: tuple[Window, Advice]) -> None:
    for _, found in chosen(case[1]):
        by_model = [item.value for item in found.evidence if item.name.endswith("by_the_model")]
        for effect in (found.effect, *(each.effect for each in found.alternatives)):
            assert effect is not None
            assert effect.now
            assert effect.error
            if by_model and effect is found.effect:
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
    for _, found in chosen(advice):
        effect = found.effect
        assert effect is not None
        assert effect.now is not None
        rate = 1.0
        if effect.quantity == PER_PASS:
            [scan] = [each for each in known.lists["scans"] if each.subject == found.subject]
            rate = (scan.passes_per_hour or 0.0) / 3600
        saved = (effect.now - effect.predicted) * rate * (known.pool.page_bytes or 0.0)
        assert effect.read_bytes_saved_per_second == pytest.approx(saved, rel=0.01)
        if found in advice.recommendations:
            assert exposed[found.rule, ".".join(found.subject.values())] == effect.read_bytes_saved_per_second


def test_every_text_has_the_effect_of_the_json(case: tuple[Window, Advice]) -> None:
    for _, found in chosen(case[1]):
        assert found.effect is not None
        said = amount(found.effect)
        for shown in (
            text.text(documents.finding(found)),
            markdown(documents.finding(found)),
            annotations_of(found, "", Links("http://a"))["description"],
        ):
            assert said in " ".join(shown.split())
