"""Rules and advice as metrics: one series for each change, and for each rule whether it is blind."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from advisor.advice import metrics
from advisor.advice.ledger_recorder import LedgerRecorder
from advisor.advice.service import Service
from advisor.alerting import delivery as alerting_metrics
from advisor.contract.changes import change_at
from advisor.contract.links import Links
from advisor.contract.recommendation import (
    Advice,
    Change,
    Effect,
    Failed,
    Recommendation,
    SetAside,
    Severity,
    fingerprint,
)
from advisor.files.yaml_file import FileError
from advisor.ledger import metrics as ledger_metrics
from advisor.ledger.ledger import Ledger
from advisor.observe.source import Replay
from advisor.pool import metrics as curve_metrics
from advisor.rules.rulebook import Rulebook
from exporter.sampling import metrics as exporter_metrics
from tests.advisor.building import RECORDING, RULES_FOLDER, advised, capture, captured
from tests.advisor.ledger.outcomes import outcome
from tests.advisor.sidecar import values, write_rule
from tests.unavailable import promtool_says

BOOK = Rulebook(RULES_FOLDER)
SCAN, INFO = "scan-exceeds-old-sublist", "recommendation_info"
LINKS = Links("https://a.example/db1")


class Ready(Collector):
    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        return self._families


def exposed(advice: Advice | None, rules: Rulebook = BOOK, links: Links | None = None) -> str:
    registry = CollectorRegistry()
    registry.register(Ready(list(metrics.families(advice, rules, links))))
    return generate_latest(registry).decode()


def samples(
    advice: Advice | None, name: str, rules: Rulebook = BOOK, links: Links | None = None
) -> list[tuple[dict[str, str], float]]:
    return named(exposed(advice, rules, links), name)


def named(text: str, name: str) -> list[tuple[dict[str, str], float]]:
    return [
        (dict(labels), value) for (metric, labels), value in values(text).items() if metric == f"innodb_advisor_{name}"
    ]


def one(text: str, name: str, **labels: str) -> float | None:
    """The value of the series with these labels; None where there is none."""
    matching = [value for known, value in named(text, name) if known == labels]
    return matching[0] if matching else None


def change(setting: str, to: int) -> Change:
    line = f"{setting} = {to}"
    return Change(setting=setting, from_=1, to=to, dynamic=True, apply=(), rollback=(), persist=(), config=line)


def finding_of(
    subject: dict[str, str], *changes: Change, saved: float | None = None, rule: str = SCAN
) -> Recommendation:
    return Recommendation(
        rule=rule,
        severity=Severity.WARNING,
        confidence=1.0,
        fingerprint=fingerprint(rule, subject),
        summary="a summary",
        subject=subject,
        evidence=(),
        changes=changes,
        effect=None if saved is None else Effect(quantity="reads", predicted=0, read_bytes_saved_per_second=saved),
        watched_seconds=1.0,
        references=(),
    )


def advice(*recommendations: Recommendation, **more: tuple[object, ...]) -> Advice:
    return Advice.model_validate(
        {"server": "mysql 9.7.4", "at": 1.0, "watched_seconds": 1.0, "recommendations": recommendations, "blind": ()}
        | more
    )


def test_a_recommendation_names_rule_severity_subject_and_setting() -> None:
    labels = {"rule": SCAN, "severity": "warning", "subject": "shop.orders", "setting": "innodb_old_blocks_pct"}
    assert (labels, 1.0) in samples(advised(captured("mysql-9.7/repeated-scan")), "recommendation")


def test_a_recommendation_without_a_change_of_a_setting_names_none() -> None:
    [(labels, value)] = samples(advice(finding_of({})), "recommendation")
    assert (labels["setting"], labels["subject"], value) == ("", "", 1.0)


def test_a_recommendation_of_two_changes_is_two_series() -> None:
    several = advice(finding_of({}, change("innodb_io_capacity", 2000), change("innodb_flush_neighbors", 0)))
    named = [labels["setting"] for labels, _ in samples(several, "recommendation")]
    assert named == ["innodb_io_capacity", "innodb_flush_neighbors"]


@pytest.mark.parametrize(
    "name",
    [
        "mysql-9.7/repeated-scan",
        "mysql-9.7/read-ahead-wasted",
        "mysql-9.7/change-buffer-off",
        "mysql-5.6/repeated-scan",
        "mariadb-10.5/change-buffer-merges",
    ],
)
def test_the_same_change_with_the_same_sql_is_made_of_the_series_alone(name: str) -> None:
    window = captured(name)
    given = advised(window)
    text = exposed(given)
    assert any(finding.changes for finding in given.recommendations)
    for finding in given.recommendations:
        subject = ".".join(finding.subject.values())
        confidence = one(text, "confidence", rule=finding.rule, subject=subject)
        assert confidence == finding.confidence
        for wanted in finding.changes:
            labels = {"rule": finding.rule, "subject": subject, "setting": wanted.setting}
            [info] = [
                info
                for info, _ in named(text, "recommendation_info")
                if info.items() >= labels.items() and info["fingerprint"] == finding.fingerprint
            ]
            after = info["value"] or one(text, "recommended_value", **labels)
            before = info["from"] or one(text, "setting_value", **labels)
            assert after is not None
            assert change_at(window.latest, wanted.setting, before, after) == wanted


def test_a_recommendation_without_a_change_still_tells_its_fingerprint() -> None:
    finding = finding_of({"cure": "GRANT PROCESS ON *.* TO a"})
    [(labels, _)] = samples(advice(finding), "recommendation_info")
    assert labels == {
        "rule": SCAN,
        "subject": "GRANT PROCESS ON *.* TO a",
        "setting": "",
        "from": "",
        "value": "",
        "fingerprint": finding.fingerprint,
    }
    assert samples(advice(finding), "recommended_value") == samples(advice(finding), "setting_value") == []


def test_words_are_labels_and_numbers_are_values() -> None:
    word = change("innodb_change_buffering", 0).model_copy(update={"from_": None, "to": "all"})
    finding = finding_of({}, word, change("innodb_io_capacity", 2000))
    info = {labels["setting"]: (labels["from"], labels["value"]) for labels, _ in samples(advice(finding), INFO)}
    assert info == {"innodb_change_buffering": ("", "all"), "innodb_io_capacity": ("", "")}
    for name, number in (("recommended_value", 2000), ("setting_value", 1)):
        [(labels, value)] = samples(advice(finding), name)
        assert (labels["setting"], value) == ("innodb_io_capacity", number)


def test_a_new_number_makes_no_new_series() -> None:
    one_fit, next_fit = (
        values(exposed(advice(finding_of({}, change("innodb_io_capacity", to))))) for to in (2000, 2100)
    )
    assert one_fit.keys() == next_fit.keys()
    assert one_fit != next_fit


def test_findings_whose_labels_are_the_same_are_one_series() -> None:
    one, two = {"schema": "a.b", "table": "c"}, {"schema": "a", "table": "b.c"}
    pct = change("innodb_old_blocks_pct", 60), change("innodb_old_blocks_pct", 70)
    alike = advice(
        *(
            finding_of(subject, change, saved=saved)
            for subject, change, saved in zip((one, two), pct, (3.0, 2.0), strict=True)
        ),
        suppressed=tuple(SetAside(recommendation=finding_of(subject), reason="") for subject in (one, two)),
        failed=(Failed(rule=SCAN, reason="for a"), Failed(rule=SCAN, reason="for b")),
    )
    assert len({finding.fingerprint for finding in alike.recommendations}) == 2
    for name in ("recommendation", "suppressed", "recommendation_page_info"):  # samples refuses what is there twice
        [(labels, value)] = samples(alike, name, links=LINKS)
        assert (labels["subject"], value) == ("a.b.c", 1.0)
    [(_, saved)] = samples(alike, "predicted_read_bytes_saved_per_second")
    assert saved == 3.0
    assert ({"rule": SCAN}, 1.0) in samples(alike, "rule_failed")


def test_each_recommendation_is_linked_to_the_page_also_if_it_is_suppressed() -> None:
    shop, other = finding_of({"schema": "shop", "table": "orders"}), finding_of({})
    given = advice(shop, suppressed=(SetAside(recommendation=other, reason=""),))
    assert samples(given, "page_info", links=LINKS) == [({"url": LINKS.page}, 1.0)]
    assert samples(None, "page_info", links=LINKS) == [({"url": LINKS.page}, 1.0)]
    linked = [labels for labels, _ in samples(given, "recommendation_page_info", links=LINKS)]
    assert {labels["subject"]: labels["url"] for labels in linked} == {
        "shop.orders": f"https://a.example/db1/#{shop.fingerprint}",
        "": f"https://a.example/db1/#{other.fingerprint}",
    }
    assert [labels["fingerprint"] for labels in linked] == [labels["url"].partition("#")[2] for labels in linked]
    assert samples(given, "page_info") == samples(given, "recommendation_page_info") == []


@pytest.mark.parametrize("name", ["mysql-9.7/repeated-scan", "mariadb-11.8/idle", "mysql-5.6/idle", "odd names"])
def test_promtool_accepts_the_metrics(name: str) -> None:
    odd = advice(finding_of({"schema": 'a"b\\', "table": "c\nd\u00e9{}"}, saved=1.0), finding_of({"schema": "x"}))
    text = exposed(odd if name == "odd names" else advised(captured(name)), links=LINKS)
    assert "innodb_advisor_rule_blind" in text
    assert promtool_says(text) == ""


def test_the_saving_is_in_bytes_a_second() -> None:
    window = captured("mysql-9.7/repeated-scan")
    known = samples(advised(window), "predicted_read_bytes_saved_per_second")
    [saved] = [value for labels, value in known if labels == {"rule": SCAN, "subject": "shop.orders"}]
    [scan] = [finding for finding in advised(window).recommendations if finding.rule == SCAN]
    [passes] = [item.value for item in scan.evidence if item.name == "passes"]
    assert scan.effect is not None
    assert scan.effect.now is not None
    assert saved == scan.effect.read_bytes_saved_per_second
    assert saved == pytest.approx(scan.effect.now * 16_384 * float(passes) / scan.watched_seconds, rel=0.01)


def test_every_rule_says_whether_it_is_blind_or_broken() -> None:
    given = advised(captured("mariadb-11.8/idle"))
    blind = {labels["rule"]: value for labels, value in samples(given, "rule_blind")}
    assert set(blind) == {rule.id for rule in BOOK.rules}
    # A pool with free pages settles it, although no scans are known.
    assert (blind[SCAN], blind["count-has-no-small-index"]) == (0.0, 1.0)
    assert {labels["rule"]: value for labels, value in samples(given, "rule_failed")} == dict.fromkeys(blind, 0.0)


def test_without_a_window_only_the_rules_themselves_are_known() -> None:
    assert {name for name, _ in values(exposed(None))} == {
        "innodb_advisor_rules",
        "innodb_advisor_rules_last_reload_successful",
        "innodb_advisor_rules_last_reload_success_timestamp_seconds",
    }
    assert samples(None, "rules") == [({"origin": "built-in"}, len(BOOK.rules)), ({"origin": "user"}, 0.0)]


def test_a_failed_reload_is_known_and_so_is_when_the_rules_in_force_were_loaded(tmp_path: Path) -> None:
    write_rule(tmp_path)
    rules = Rulebook(RULES_FOLDER, tmp_path)
    [(_, before)] = samples(None, "rules_last_reload_success_timestamp_seconds", rules)
    assert before == rules.rule_set.loaded_at
    (tmp_path / "broken.yaml").write_text("id: [")
    with pytest.raises(FileError):
        rules.reload()
    assert samples(None, "rules_last_reload_successful", rules) == [({}, 0.0)]
    assert samples(None, "rules_last_reload_success_timestamp_seconds", rules) == [({}, before)]
    assert ({"origin": "user"}, 1.0) in samples(None, "rules", rules)


async def test_a_scrape_has_the_outcomes_that_the_ledger_told() -> None:
    kept = outcome(0, 12)
    recorder = LedgerRecorder(Ledger(outcomes={kept.id: kept}))
    service = Service(Replay(capture(RECORDING)), BOOK, recorder=recorder)
    families = {family.name: family for family in await metrics.Exposition(service).families()}
    [sample] = families["innodb_advisor_outcomes"].samples
    assert (sample.labels, sample.value) == ({"rule": kept.rule, "result": "kept"}, 1)
    assert "innodb_advisor_outcome_error_ratio" in families


def test_no_two_families_have_the_same_name_in_openmetrics() -> None:
    modules = (exporter_metrics, metrics, curve_metrics, ledger_metrics, alerting_metrics)
    specs = [spec for module in modules for spec in module.SPECS.values()]
    ends = {"info": "_info", "counter": "_total"}  # no part of a family's name there
    names = Counter(spec.name.removesuffix(ends.get(spec.kind, "")) for spec in specs)
    assert [name for name, count in names.items() if count > 1] == []
