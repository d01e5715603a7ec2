"""/live: a stream from a recording, from a server whose settings change, and through TLS."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from advisor.http.broadcast import STREAMS
from advisor.http.connections import SECURITY_HEADERS
from lab.servers import Server
from tests.advisor.http.certificates import Authority
from tests.advisor.http.secured import Secured, hashed
from tests.advisor.http.sse import Live, Told, events, stream, until
from tests.advisor.in_process import InProcess
from tests.advisor.sidecar import problem
from tests.waiting import wait_for

Compose = Callable[..., InProcess]
FIRST = ["state", "advice", "overview", "series"]


def test_a_recording_is_told_as_server_sent_events(replaying: InProcess) -> None:
    with Live(replaying) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        assert "content-encoding" not in response.headers  # the client takes gzip
        assert SECURITY_HEADERS.items() <= dict(response.headers).items()
        found = {each.kind: each.data for each in itertools.islice(events(response), 4)}
    assert list(found) == FIRST
    assert found["state"]["recording"]["name"] == "recording.jsonl.gz"
    now = {"now": found["state"]["now"]}
    assert {**found["state"], **now} == {**replaying.get("/state").json(), **now}
    age = {"age_seconds": found["advice"]["age_seconds"]}
    assert {**found["advice"], **age} == {**replaying.get("/advise").json(), **age}
    assert found["overview"] == replaying.get("/overview").json()
    series = {(each["name"], *each["labels"].items()): each for each in replaying.get("/series").json()["series"]}
    for each in found["series"]["series"]:
        assert each["values"] == series[each["name"], *each["labels"].items()]["values"][-1:]


def test_head_of_a_stream_has_its_headers_and_ends(replaying: InProcess) -> None:
    response = replaying.head("/live")
    assert (response.status_code, response.content) == (200, b"")
    assert response.headers["content-type"].startswith("text/event-stream")


def test_beyond_so_many_streams_there_is_a_problem_until_one_is_closed(replaying: InProcess) -> None:
    with ExitStack() as opened:
        for _ in range(STREAMS - 1):
            next(events(opened.enter_context(Live(replaying))))
        with Live(replaying) as last:
            next(events(last))
            with Live(replaying) as refused:
                response = refused.whole()
            assert problem(response) == (503, "too many pages are open at once")
            assert int(response.headers["retry-after"]) > 0
            assert replaying.get("/metrics").status_code == 200
        with Live(replaying) as again:
            assert again.status_code == 200


def test_a_stream_goes_through_tls_and_a_login_and_ends_with_a_signal(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    authority.issue("server")
    content = {
        "tls_server_config": {"cert_file": "server.pem", "key_file": "server.key"},
        "basic_auth_users": {"alice": hashed("correct-horse-9")},
    }
    sidecar = Secured(tmp_path, content)
    trusting = authority.trusting()
    try:
        with stream(sidecar, verify=trusting) as refused:
            refused.read()
        assert refused.status_code == 401
        with stream(sidecar, verify=trusting, auth=("alice", "correct-horse-9")) as response:
            found = events(response)
            assert next(found).kind == "state"
            assert sidecar.stop() == 0
            with pytest.raises(httpx.HTTPError):
                list(found)
        assert "Traceback" not in sidecar.log()
    finally:
        sidecar.kill()


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
def test_a_connection_that_was_cut_goes_on_where_it_was(server: Server, compose: Compose) -> None:
    sidecar = compose("--dsn", server.dsn, "--interval", "1s")
    with Live(sidecar) as response:
        found = events(response)
        last = until(found, lambda each: each.kind == "series")
    old = sidecar.get("/state").json()["at"]
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT @@innodb_old_blocks_pct")
        [(pct,)] = cursor.fetchall()
        cursor.execute("SET GLOBAL innodb_old_blocks_pct = 50")
        try:
            wait_for(lambda: sidecar.get("/state").json()["at"] >= old + 2)
            wait_for(lambda: sidecar.get("/events").json()["events"])
            with Live(sidecar, last.id) as response:
                newest = sidecar.get("/state").json()["at"]
                missed, found = list[Told](), events(response)
                while not missed or missed[-1].kind == "event" or missed[-1].data["at"][0] < newest:
                    missed.append(until(found, lambda each: each.kind in ("event", "series")))
        finally:
            cursor.execute(f"SET GLOBAL innodb_old_blocks_pct = {pct}")
    changed = [each.data for each in missed if each.kind == "event"]
    assert [(each["setting"], each["before"], each["after"]) for each in changed] == [
        ("innodb_old_blocks_pct", pct, 50)
    ]
    times = [each.data["at"][0] for each in missed if each.kind == "series"]
    known = sidecar.get("/series?names=old_pages").json()["at"]
    assert times == [each for each in known if last.data["at"][0] < each <= times[-1]]
