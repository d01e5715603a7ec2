"""Hostile names of a real server, and a rule of others, through real Alertmanagers to a chat: shown, never obeyed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from lab.programs import alertmanager
from lab.programs.webhook import Webhook
from lab.servers import PrivateServer
from tests import hostile_tables
from tests.advisor.alerting.harness import RESEND, alertmanager_or_skip, lasting_alerts
from tests.advisor.in_process import InProcess
from tests.hostile_names import IDENTIFIERS, raw
from tests.waiting import wait_for

pytestmark = [pytest.mark.system, pytest.mark.xdist_group("mysql-9.7")]
TEXT = "{{ range .Alerts }}{{ .Annotations.summary }}\n{{ .Annotations.description }}\n{{ end }}"
CALLS = re.compile(r"<[!@#]|<https?:|(?<!\w)@(?:all|channel|everyone|here)\b")
"""What Slack obeys: https://docs.slack.dev/messaging/formatting-message-text"""


class Chat:
    """An Alertmanager that tells a Slack and a webhook, with its own templates but for the text."""

    def __init__(self, suite: str, folder: Path) -> None:
        self._suite, self._folder = suite, folder
        self.slack, self.webhook = Webhook(), Webhook()

    def start(self, stack: ExitStack) -> str:
        stack.enter_context(self.slack)
        stack.enter_context(self.webhook)
        slack = {"api_url": self.slack.url, "channel": "#databases", "text": TEXT, "mrkdwn_in": ["pretext"]}
        configured = json.loads(alertmanager.configuration(self.webhook.url))
        configured["receivers"][0]["slack_configs"] = [slack]
        started = stack.enter_context(alertmanager_or_skip(self._suite, self._folder, json.dumps(configured)))
        return f"http://127.0.0.1:{started.port}"

    def told(self) -> set[str]:
        """The tables that the webhook was told of."""
        return {
            alert["labels"]["subject"]
            for alert in self.webhook.alerts("firing")
            if alert["labels"]["rule"] == hostile_tables.RULE
        }


@pytest.fixture(scope="module")
def chats(
    tmp_path_factory: pytest.TempPathFactory, shared_server: Callable[[str], PrivateServer]
) -> Iterator[dict[str, Chat]]:
    """What they were told of all names."""
    folder = tmp_path_factory.mktemp("names")
    (folder / "rules").mkdir()
    (folder / "rules" / f"{hostile_tables.RULE}.yaml").write_text(hostile_tables.TEXT, encoding="utf-8")
    with ExitStack() as stack:
        stack.enter_context(lasting_alerts())
        server = shared_server("mysql-9.7")
        made = {suite: Chat(suite, folder / suite) for suite in alertmanager.SUITES}
        urls = [chat.start(stack) for chat in made.values()]
        stack.enter_context(hostile_tables.tables(server))
        options = ("--dsn", server.dsn, "--interval", "0.5s", "--rules", folder / "rules")
        posting = ("--alertmanager-resend", f"{RESEND}s", *(part for url in urls for part in ("--alertmanager", url)))
        stack.enter_context(InProcess(*options, *posting))
        wait_for(lambda: all(len(chat.told()) >= len(IDENTIFIERS) for chat in made.values()))
        yield made


@pytest.fixture(params=alertmanager.SUITES)
def chat(request: pytest.FixtureRequest, chats: dict[str, Chat]) -> Chat:
    return chats[request.param]


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (text for part in value.values() for text in strings(part))
    elif isinstance(value, list):
        yield from (text for part in value for text in strings(part))
    elif isinstance(value, str):
        yield value


def test_nothing_in_a_chat_is_obeyed(chat: Chat) -> None:
    texts = [text for message in list(chat.slack.notifications) for text in strings(message)]
    assert len(texts) > len(IDENTIFIERS)
    assert [text for text in texts if raw(text)] == []
    assert [call[0] for text in texts if (call := CALLS.search(text))] == []


def test_each_name_is_shown(chat: Chat) -> None:
    everything = "\n".join(text for message in list(chat.slack.notifications) for text in strings(message))
    assert "{{ .Labels }} {{ $value }} {{ template }}" in everything
    assert "</pre><script>" in everything
    assert r"\x1b[31mred\x1b[0m" in everything
    assert r"user\u202egnp.exe" in everything
    assert r"\x3c!channel>" in everything


def test_slack_takes_nothing_for_a_format(chat: Chat) -> None:
    attached = [attachment for message in list(chat.slack.notifications) for attachment in message["attachments"]]
    assert attached
    assert all(attachment["mrkdwn_in"] == ["pretext"] for attachment in attached)


def test_each_alert_is_told_once(chat: Chat) -> None:
    subjects = [
        alert["labels"]["subject"]
        for alert in chat.webhook.alerts("firing")
        if alert["labels"]["rule"] == hostile_tables.RULE
    ]
    assert len(subjects) == len(set(subjects)) == len(IDENTIFIERS)
