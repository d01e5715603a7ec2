"""/advise over HTTP: filters, forms, one finding; and that working it out keeps nobody waiting."""

from __future__ import annotations

import asyncio
from urllib.parse import unquote

import pytest

from advisor.advice.metrics import Exposition
from advisor.advice.service import Service
from advisor.contract.recommendation import Advice, Severity
from advisor.ledger.history import GradedRecommendation, GradedSetAside, dated
from advisor.ledger.ledger import Ledger
from advisor.observe.source import Replay
from advisor.render import advice as documents
from advisor.render import text
from advisor.render.markdown import markdown
from advisor.rules import check
from advisor.rules.configuration import Suppression
from advisor.rules.rulebook import Rulebook
from exporter.snapshot import Snapshot
from tests.advisor.building import RECORDING, RULES_FOLDER, advised, capture, captured
from tests.advisor.http.standing import passes
from tests.advisor.in_process import InProcess
from tests.advisor.sidecar import problem

SCAN = "scan-exceeds-old-sublist"
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"


def advice(sidecar: InProcess, query: str = "") -> Advice:
    return Advice.model_validate_json(sidecar.get(f"/advise{query}").content)


def undated(advice: Advice) -> Advice:
    """The advice without what only a sidecar knows: when it was made, and when findings were first seen."""
    advice = dated(advice, Ledger())
    made = tuple(finding.model_copy(update={"first_seen": None}) for finding in advice.recommendations)
    update = dict.fromkeys(("computed_at", "age_seconds", "next_at"))
    return advice.model_copy(update={**update, "recommendations": made})


def test_the_advice_is_what_the_rules_say_of_the_recording(replaying: InProcess) -> None:
    response = replaying.get("/advise")
    assert response.headers["content-type"] == "application/json"
    assert "Accept" in response.headers["vary"].split(", ")
    answer = Advice.model_validate_json(response.content)
    assert undated(answer) == advised(captured(RECORDING))
    assert {finding.first_seen for finding in answer.recommendations} == {answer.at}
    assert answer.age_seconds is not None
    assert answer.next_at is None  # a recording has no newer snapshot
    [finding] = [finding for finding in response.json()["recommendations"] if finding["rule"] == SCAN]
    assert finding["changes"][0]["from"] == 37
    assert finding["why"] == check.load_file(RULES_FOLDER / f"{SCAN}.yaml").file.why.strip()


def test_the_last_advice_is_the_same_without_the_time_of_the_answer(replaying: InProcess) -> None:
    whole = advice(replaying)
    assert advice(replaying, "?last=true") == whole.model_copy(update={"age_seconds": None, "next_at": None})
    assert advice(replaying, "?last=true&severity=critical").recommendations == ()


def test_a_shorter_look_back_sees_less(replaying: InProcess) -> None:
    whole, part = (advice(replaying, query) for query in ("", "?window=3"))
    assert 0 < part.watched_seconds <= 3 < whole.watched_seconds


@pytest.mark.parametrize("severity", list(Severity))
def test_a_severity_asks_for_what_is_as_severe_or_more(unlike: InProcess, severity: Severity) -> None:
    whole, part = advice(unlike), advice(unlike, f"?severity={severity}")
    severe = tuple(finding for finding in whole.recommendations if finding.severity.rank >= severity.rank)
    assert part.recommendations == severe
    assert [finding.recommendation.rule for finding in part.suppressed] == (
        ["unwanted"] if severity == Severity.INFO else []
    )


def test_a_rule_asks_for_what_it_says_and_may_be_repeated(unlike: InProcess) -> None:
    part = advice(unlike, "?rule=breaking&rule=only-an-action")
    assert [finding.rule for finding in part.recommendations] == ["only-an-action"]
    assert [rule.rule for rule in part.failed] == ["breaking"]
    assert (part.blind, part.suppressed, part.overruled) == ((), (), ())
    assert advice(unlike, f"?rule={SCAN}").failed == ()


def test_a_schema_or_a_table_asks_for_what_is_about_it(unlike: InProcess) -> None:
    for query in ("?schema=shop", "?table=orders", "?schema=shop&table=orders"):
        part = advice(unlike, query)
        assert SCAN in [finding.recommendation.rule for finding in part.overruled]
        assert {finding.subject.get("schema") for finding in part.recommendations} <= {"shop"}
        assert "overruling" not in [finding.rule for finding in part.recommendations]
    for query in ("?schema=shops", "?table=order", "?schema=shop&table=customers"):
        part = advice(unlike, query)
        assert (part.recommendations, part.overruled, part.suppressed) == ((), (), ())


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("window=abc", "window must be a number"),
        ("window=", "window must be a number"),
        ("window=0", "window must be greater than 0"),
        ("window=-1", "window must be greater than 0"),
        ("window=3601", "window must be less than or equal to 3600"),
        ("window=nan", "window must be "),
        ("window=1e999", "window must be less than or equal to 3600"),
        ("severity=error", "severity must be 'info', 'warning' or 'critical'"),
        ("schema=", "schema must not be empty"),
        ("sverity=warning", "sverity is not known here"),
        ("rule=scan-exceeds-old", f"no rule scan-exceeds-old; did you mean {SCAN}"),
        ("rule=" + SCAN + "&rule=%ff", "no rule \ufffd; there are "),
    ],
)
def test_a_parameter_that_cannot_be_used_is_a_problem(replaying: InProcess, query: str, message: str) -> None:
    status, detail = problem(replaying.get(f"/advise?{query}"))
    assert status == 422
    assert detail.startswith(message)


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("*/*", "application/json"),
        ("", "application/json"),
        ("application/json; charset=utf-8", "application/json"),
        ("text/markdown", "text/markdown; charset=utf-8"),
        ("text/plain;q=0.5, text/markdown;q=0.9, application/json;q=0.1", "text/markdown; charset=utf-8"),
        ("text/*", "text/plain; charset=utf-8"),
        ("Text/Plain", "text/plain; charset=utf-8"),
    ],
)
def test_the_form_is_the_one_accepted_best(unlike: InProcess, accept: str, form: str) -> None:
    whole = advice(unlike)
    for path in ("/advise", f"/advise/{whole.recommendations[0].fingerprint}"):
        response = unlike.get(path, headers={"Accept": accept})
        assert (response.status_code, response.headers["content-type"]) == (200, form)
        assert "Accept" in response.headers["vary"].split(", ")
    answer = unlike.get("/advise", headers={"Accept": accept})
    document = documents.advice(whole)
    shown = {"text/markdown; charset=utf-8": markdown(document), "text/plain; charset=utf-8": text.text(document)}
    if form in shown:
        assert answer.text == shown[form]
    else:
        assert undated(Advice.model_validate_json(answer.content)) == undated(whole)


@pytest.mark.parametrize("accept", ["image/png", "application/json;q=0", "application/*;q=0, text/*;q=0.0", "json"])
def test_where_no_form_is_accepted_it_says_which_there_are(replaying: InProcess, accept: str) -> None:
    response = replaying.get("/advise", headers={"Accept": accept})
    assert problem(response) == (
        406,
        "not acceptable; available: application/json, text/plain, text/markdown, text/html",
    )
    assert "Accept" in response.headers["vary"].split(", ")


@pytest.mark.parametrize("path", ["/advise", "/advise?rule=none", "/advise/0123456789abcdef", "/advise/a%23%22"])
def test_a_browser_gets_the_page(replaying: InProcess, path: str) -> None:
    shown = replaying.get(path, headers={"Accept": BROWSER}, follow_redirects=True)
    assert (shown.status_code, shown.text) == (200, replaying.get("/").text)
    assert shown.headers["content-security-policy"] == replaying.get("/").headers["content-security-policy"]
    first = shown.history[0] if shown.history else shown
    assert "Accept" in first.headers["vary"].split(", ")
    assert shown.url.fragment == unquote(path.partition("/advise/")[2])


def test_a_finding_is_had_by_its_fingerprint_whether_it_is_made_or_set_aside(unlike: InProcess) -> None:
    whole = advice(unlike)
    for made in whole.recommendations:
        response = unlike.get(f"/advise/{made.fingerprint}")
        assert (
            GradedRecommendation.model_validate_json(response.content).model_dump(exclude={"outcomes"})
            == made.model_dump()
        )
    for aside in (*whole.suppressed, *whole.overruled):
        path = f"/advise/{aside.recommendation.fingerprint}"
        assert (
            GradedSetAside.model_validate_json(unlike.get(path).content).model_dump(exclude={"outcomes"})
            == aside.model_dump()
        )
        for form in ("text/plain", "text/markdown"):
            shown = unlike.get(path, headers={"Accept": form}).text
            assert "Set aside: " in shown
            assert aside.recommendation.changes[0].apply[0] in shown
    assert {finding.recommendation.rule for finding in whole.suppressed} == {"unwanted"}
    assert SCAN in {finding.recommendation.rule for finding in whole.overruled}


@pytest.mark.parametrize("fingerprint", ["0123456789abcdef", "nope", "%00", "%ff", "a" * 2000])
def test_a_fingerprint_that_nothing_has_is_a_problem_with_a_hint(replaying: InProcess, fingerprint: str) -> None:
    status, detail = problem(replaying.get(f"/advise/{fingerprint}"))
    assert status == 404
    assert detail.startswith("nothing that is found now has the fingerprint ")
    assert detail.endswith("; /advise has all there is")


async def test_no_advice_stands_in_the_metrics_while_the_server_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service(Replay(capture(RECORDING)), Rulebook(RULES_FOLDER))
    exposition = Exposition(service)

    async def shown() -> bool:
        return "innodb_advisor_recommendation" in {family.name for family in await exposition.families()}

    await service.assessment()
    assert await shown()
    monkeypatch.setattr(Replay, "latest", None)
    assert not await shown()


async def test_a_scrape_does_not_wait_for_a_server_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Replay(capture(RECORDING))

    async def hang(*_: object, **__: object) -> Snapshot:
        await asyncio.Event().wait()
        raise AssertionError

    async def up() -> float:
        scrape = asyncio.create_task(exposition.families())
        await passes(4.0)
        assert not scrape.done()
        await passes(1.0)
        [family] = [family for family in scrape.result() if family.name == "innodb_up"]
        return float(family.samples[0].value)

    monkeypatch.setattr(source, "collect", hang)
    exposition = Exposition(Service(source, Rulebook(RULES_FOLDER)))
    assert await up() == 1.0
    monkeypatch.setattr(Replay, "latest", None)
    assert await up() == 0.0


async def test_loading_anew_says_what_is_suppressed_in_vain(caplog: pytest.LogCaptureFixture) -> None:
    rules = Rulebook(RULES_FOLDER, suppressions=lambda: [Suppression(rule=f"{SCAN}s")])
    rules.reload()
    assert f"no such rule: {SCAN}s; did you mean {SCAN}?" in caplog.text


async def test_advice_has_the_time_when_it_was_worked_out_and_its_age() -> None:
    now = 1_800_000_000.0
    service = Service(Replay(capture(RECORDING)), Rulebook(RULES_FOLDER), clock=lambda: now, now=lambda: now)
    await service.assessment()
    now += 5.0
    advice = (await service.assessment()).advice
    assert (advice.computed_at, advice.age_seconds) == (1_800_000_000.0, 5.0)
