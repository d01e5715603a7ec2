"""`innodb-advisor mcp` over streamable HTTP, and with a sidecar elsewhere."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from lab.processes.ports import HOST
from tests.advisor.building import RECORDING, capture
from tests.advisor.http.secured import hashed, write
from tests.advisor.listening import Listening
from tests.advisor.mcp.agent import Agent, started
from tests.advisor.sidecar import Sidecar

LOGIN = httpx2.BasicAuth("agent", "correct-horse-9")


class Mcp(Sidecar):
    """`innodb-advisor mcp` on a port of its own."""

    SERVES = "mcp"


@pytest.fixture
def served(tmp_path: Path) -> Mcp:
    web = write(tmp_path / "web.yml", {"basic_auth_users": {"agent": hashed("correct-horse-9")}})
    return Mcp(tmp_path, "--recording", capture(RECORDING), "--web-config", web)


async def test_it_asks_for_the_login_of_the_web_configuration(served: Mcp) -> None:
    try:
        url = f"{served.url}/mcp"
        async with httpx2.AsyncClient() as stranger:
            assert (await stranger.post(url, json={})).status_code == 401
        async with (
            httpx2.AsyncClient(auth=LOGIN, timeout=60) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            agent = Agent(client)
            [line] = (await agent.ask("list_findings")).answer["findings"]
            assert (await agent.ask("get_finding", fingerprint=line["fingerprint"])).answer["changes"]
        async with httpx2.AsyncClient(auth=LOGIN) as browser:
            answer = await browser.post(url, json={}, headers={"Sec-Fetch-Site": "cross-site"})
            assert answer.status_code == 403
    finally:
        served.stop()


async def test_it_asks_a_sidecar_elsewhere(tmp_path: Path) -> None:
    with Listening("--recording", capture(RECORDING)) as sidecar:
        async with started("--url", sidecar.url) as agent:
            [server] = (await agent.ask("list_servers")).answer["servers"]
            [line] = (await agent.ask("list_findings", server=server["name"])).answer["findings"]
            assert line["fingerprint"] in sidecar.get("/advise").text
            assert (await agent.ask("explain_silence", rule=line["rule"])).answer["silences"][0]["state"] == "firing"
            assert (await agent.ask("what_if", settings={"innodb_old_blocks_pct": 80})).answer["changes"]
            assert "no rule of-nobody" in await agent.refused("explain_silence", rule="of-nobody")
            login = write(tmp_path / "login.yml", {"basic_auth": {"username": "agent", "password": "wrong"}})
        async with started("--url", sidecar.url, "--url-config", login) as agent:
            assert (await agent.ask("list_findings")).answer["findings"]


async def test_a_sidecar_that_is_away_is_named() -> None:
    async with started("--url", f"http://{HOST}:1") as agent:
        why = await agent.refused("list_findings")
        assert why.startswith(f"http://{HOST}:1: ")
        assert why.endswith("(is `innodb-advisor serve` running there?)")
