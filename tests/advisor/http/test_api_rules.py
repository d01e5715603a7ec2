"""/rules over HTTP: the active rules and their states, a rule in every form, and reloading."""

from __future__ import annotations

import shutil
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from advisor.cli.listening import reload_on_hangup
from advisor.rules import check, page
from tests.advisor.building import RECORDING, RULES_FOLDER, capture
from tests.advisor.in_process import InProcess
from tests.advisor.sidecar import UNLIKE, problem, values, write_rule
from tests.waiting import wait_for

SCAN = "scan-exceeds-old-sublist"
Compose = Callable[..., InProcess]
BUILT_IN = {rule.id: rule for rule in check.load(RULES_FOLDER)}


def states(sidecar: InProcess) -> dict[str, dict[str, object]]:
    return {rule["id"]: rule for rule in sidecar.get("/rules").json()["rules"]}


def metric(sidecar: InProcess, name: str, **labels: str) -> float:
    return values(sidecar.get("/metrics").text)[f"innodb_advisor_{name}", frozenset(labels.items())]


def test_active_rules_have_their_origin_and_state(unlike: InProcess) -> None:
    rules = states(unlike)
    assert list(rules) == sorted({**BUILT_IN, **UNLIKE})
    assert {name for name, rule in rules.items() if rule["origin"] == "built-in"} == set(BUILT_IN)
    verdicts = {name: (rules[name]["applies"], rules[name]["state"], rules[name]["lacks"]) for name in (SCAN, *UNLIKE)}
    assert verdicts == {
        SCAN: (True, "set aside", []),
        "overruling": (True, "firing", []),
        "only-an-action": (True, "firing", []),
        "breaking": (True, "failed", []),
        "unwanted": (True, "set aside", []),
        "only-on-the-moon": (False, None, []),
    }
    assert rules[SCAN]["title"] == BUILT_IN[SCAN].file.title
    assert rules["overruling"]["severity"] == "critical"


def test_a_blind_rule_names_what_it_lacks(compose: Compose) -> None:
    sidecar = compose("--recording", capture("mariadb-10.11/read-ahead-wasted"))
    rule = states(sidecar)[SCAN]
    assert (rule["applies"], rule["state"]) == (True, "blind")
    assert rule["lacks"] == ["count_statements", "table_files", "table_scans"]
    for asked, blind in ((SCAN, {SCAN}), ("change-buffering-without-benefit", set())):
        assert {verdict["rule"] for verdict in sidecar.get(f"/advise?rule={asked}").json()["blind"]} == blind


def test_without_a_server_the_rules_have_no_known_state(away: InProcess) -> None:
    rules = states(away)
    assert set(rules) == set(BUILT_IN)
    assert {(rule["applies"], rule["state"]) for rule in rules.values()} == {(None, None)}


def test_a_users_rule_replaces_the_built_in_one(compose: Compose, tmp_path: Path) -> None:
    write_rule(tmp_path, id=SCAN, title="Mine")
    sidecar = compose("--recording", capture(RECORDING), "--rules", tmp_path)
    rule = states(sidecar)[SCAN]
    assert (rule["title"], rule["state"]) == ("Mine", "firing")
    assert rule["origin"] != "built-in"
    assert sidecar.get(f"/rules/{SCAN}").json()["title"] == "Mine"
    assert metric(sidecar, "rules", origin="user") == 1.0
    assert metric(sidecar, "rules", origin="built-in") == len(BUILT_IN) - 1


def test_a_rule_as_json_is_its_file(unlike: InProcess) -> None:
    response = unlike.get(f"/rules/{SCAN}")
    assert response.headers["content-type"] == "application/json"
    assert response.json() == BUILT_IN[SCAN].file.model_dump(mode="json", by_alias=True, exclude_unset=True)


@pytest.mark.parametrize("form", ["application/yaml", "text/plain"])
def test_a_rule_as_yaml_is_its_file_with_its_comments(unlike: InProcess, form: str) -> None:
    response = unlike.get(f"/rules/{SCAN}", headers={"Accept": form})
    assert response.headers["content-type"].partition(";")[0] == form
    assert "Accept" in response.headers["vary"].split(", ")
    assert response.text == (RULES_FOLDER / f"{SCAN}.yaml").read_text()


def test_a_rule_whose_file_changed_or_vanished_is_shown_as_active(compose: Compose, tmp_path: Path) -> None:
    for path in RULES_FOLDER.glob("*.yaml"):
        shutil.copy(path, tmp_path)
    sidecar = compose("--recording", capture(RECORDING), "--rules", tmp_path)
    here = tmp_path / f"{SCAN}.yaml"
    for change in (lambda: write_rule(tmp_path, id=SCAN), here.unlink):
        change()
        shown = sidecar.get(f"/rules/{SCAN}", headers={"Accept": "application/yaml"}).text
        again = tmp_path / "again"
        again.mkdir(exist_ok=True)
        (again / f"{SCAN}.yaml").write_text(shown)
        assert check.load_file(again / f"{SCAN}.yaml").file == BUILT_IN[SCAN].file
        for form in ("application/json", "text/markdown"):
            assert BUILT_IN[SCAN].file.title in sidecar.get(f"/rules/{SCAN}", headers={"Accept": form}).text


def test_a_rule_as_markdown_is_its_page(unlike: InProcess) -> None:
    response = unlike.get(f"/rules/{SCAN}", headers={"Accept": "text/markdown"})
    assert response.headers["content-type"] == "text/markdown; charset=utf-8"
    shown, proofs = response.text.split("`innodb-advisor rules test` replays its cases:\n\n")
    assert page.markdown(BUILT_IN[SCAN], "built-in").startswith(shown)
    assert proofs.startswith("- fires on a table scanned repeatedly in a full pool: `mysql-9.7/repeated-scan`\n")


def test_an_unknown_form_of_a_rule_is_a_problem(unlike: InProcess) -> None:
    message = "not acceptable; available: application/json, application/yaml, text/plain, text/markdown, text/html"
    assert problem(unlike.get(f"/rules/{SCAN}", headers={"Accept": "image/png"})) == (406, message)


@pytest.mark.parametrize(
    ("rule_id", "message"),
    [
        ("scan-exceeds-old", f"no rule scan-exceeds-old; did you mean {SCAN}"),
        ("xyz", "no rule xyz; there are "),
        ("..%2fsecret", "Not Found"),
    ],
)
def test_an_unknown_rule_is_a_problem_with_similar_ids(unlike: InProcess, rule_id: str, message: str) -> None:
    status, detail = problem(unlike.get(f"/rules/{rule_id}"))
    assert status == 404
    assert detail.startswith(message)


def test_rules_are_reloaded_or_rejected_as_a_whole(compose: Compose, tmp_path: Path) -> None:
    sidecar = compose("--recording", capture(RECORDING), "--rules", tmp_path)
    began = metric(sidecar, "rules_last_reload_success_timestamp_seconds")
    assert metric(sidecar, "rules_last_reload_successful") == 1.0

    write_rule(tmp_path, id="mine", severity="critical")
    response = sidecar.post("/-/reload")
    assert (response.status_code, response.headers["content-type"]) == (200, "application/json")
    loaded = response.json()
    assert loaded["rules"] == len(BUILT_IN) + 1
    assert loaded["loaded_at"] > began
    assert metric(sidecar, "rules_last_reload_success_timestamp_seconds") == loaded["loaded_at"]
    assert sidecar.get("/advise").json()["recommendations"][0]["rule"] == "mine"

    write_rule(tmp_path, id="mine", severity="info")  # valid, but another file is not
    (tmp_path / "broken.yaml").write_text("id: broken\ntitle: A rule\nwhn: [1.0 > 0.0]\n")
    status, reason = problem(sidecar.post("/-/reload"))
    assert (status, reason) == (400, sidecar.get("/rules").json()["problem"])
    assert reason.startswith(f"{tmp_path}/broken.yaml:3:1: whn: there is no such key; there are id, title, severity, ")
    assert states(sidecar)["mine"]["severity"] == "critical"
    assert "broken" not in states(sidecar)
    assert metric(sidecar, "rules_last_reload_successful") == 0.0
    assert metric(sidecar, "rules_last_reload_success_timestamp_seconds") == loaded["loaded_at"]
    assert metric(sidecar, "rules", origin="user") == 1.0

    (tmp_path / "broken.yaml").unlink()
    before = signal.getsignal(signal.SIGHUP)
    try:
        reload_on_hangup(sidecar.app.state.rules)
        signal.raise_signal(signal.SIGHUP)
        wait_for(lambda: states(sidecar)["mine"]["severity"] == "info")
        wait_for(lambda: metric(sidecar, "rules_last_reload_successful") == 1.0)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert sidecar.get("/rules").json()["problem"] is None


def test_reloading_needs_a_post(unlike: InProcess) -> None:
    response = unlike.get("/-/reload")
    assert problem(response)[0] == 405
    assert response.headers["allow"] == "POST"


def test_every_response_during_reloads_uses_one_set_of_rules(compose: Compose, tmp_path: Path) -> None:
    own, empty, full = tmp_path / "own", tmp_path / "empty", tmp_path / "full"
    for folder in (empty, full):
        folder.mkdir()
    for rule_id in ("one", "two"):
        write_rule(full, id=rule_id)
    own.symlink_to(empty)
    sidecar = compose("--recording", capture("mysql-9.7/idle"), "--rules", own)

    def change() -> None:
        for folder in (full, empty, full, empty):
            (tmp_path / "next").symlink_to(folder)
            (tmp_path / "next").replace(own)
            assert sidecar.post("/-/reload").status_code == 200

    changing = threading.Thread(target=change)
    changing.start()
    while changing.is_alive():
        names = {name for name, rule in states(sidecar).items() if rule["origin"] != "built-in"}
        assert names in (set(), {"one", "two"})
        assert metric(sidecar, "rules", origin="user") in (0.0, 2.0)
    changing.join()
