"""The sidecar in this process: composed as `innodb-advisor serve` composes it, and asked without a socket."""

from __future__ import annotations

import contextlib
import functools
import logging
import math
from contextlib import ExitStack
from typing import Any, Self

import httpx
import pytest
from anyio.from_thread import start_blocking_portal

from advisor.cli import logs
from advisor.cli import serve as command
from advisor.cli.listening import guarded
from advisor.http.limits import Allowance, Limits
from advisor.http.web_settings import WebSettings
from tests.waiting import DEADLINE, wait_for

PORT = 9747
ADDRESS = "127.0.0.1"
UNLIMITED = Allowance(burst=math.inf)
"""Tests of other things ask as often as they like; a limit would depend on how fast they are."""


class _Parsed(Exception):
    """`serve` has parsed its arguments, and would begin."""


def options_of(*arguments: object) -> tuple[dict[str, Any], WebSettings | None]:
    """What the arguments of `serve` mean: the options of ``composed``, and the web configuration."""
    options: dict[str, Any] = {}

    def parsed(**values: Any) -> None:
        options.update(values)
        raise _Parsed

    words = [str(argument) for argument in arguments]
    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(_Parsed):
        patch.setattr(logs, "begin", lambda _: None)
        patch.setattr(command, "composed", parsed)
        command.serve.main(words, standalone_mode=False, help_option_names=["-h", "--help"])
    path = command.serve.make_context("serve", words).params["web_config"]
    return options, WebSettings(path) if path else None


class InProcess:
    """`innodb-advisor serve` with these arguments, behind its guard, on an event loop in a thread of its own.

    Attributes:
        url: Its address.
        app: The application.
        guarded: The application behind its guard.
        portal: To its event loop.
    """

    def __init__(self, *arguments: object, local: bool = True, port: int = PORT) -> None:
        """Start it.

        Args:
            arguments: Of the command line, without --listen.
            local: Whether it listens on the loopback address alone.
            port: Of its URLs.
        """
        self.url = f"http://{ADDRESS}:{port}"
        options, web = options_of(*arguments)
        self._records: list[str] = []
        self._stack = ExitStack()
        try:
            self._stack.enter_context(_logged(self._records))
            _, compose = self._stack.enter_context(command.composed(**options))
            self.app = compose("http", port)
            self.app.state.limits = Limits(UNLIMITED)
            self.guarded = guarded(self.app, web, options["addresses"], local=local)
            self.portal = self._stack.enter_context(start_blocking_portal())
            lifespan = self.app.router.lifespan_context(self.app)
            self._stack.enter_context(self.portal.wrap_async_context_manager(lifespan))
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Shut the application down, as a signal does."""
        self._stack.close()

    def request(self, method: str, path: str, *, address: str = ADDRESS, **options: Any) -> httpx.Response:
        """Ask it, from this address."""
        return self.portal.call(functools.partial(self._request, method, path, address, **options))

    async def _request(self, method: str, path: str, address: str, **options: Any) -> httpx.Response:
        transport = httpx.ASGITransport(self.guarded, raise_app_exceptions=False, client=(address, 1))
        async with httpx.AsyncClient(transport=transport, base_url=self.url, timeout=DEADLINE) as client:
            return await client.request(method, path, **options)

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.request("GET", path, **options)

    def post(self, path: str, **options: Any) -> httpx.Response:
        return self.request("POST", path, **options)

    def head(self, path: str, **options: Any) -> httpx.Response:
        return self.request("HEAD", path, **options)

    def log(self) -> str:
        """What it logged so far."""
        return "\n".join(self._records)

    def judged(self) -> bool:
        """Whether every rule was judged, and the ledger has the findings: they are dated then.

        A rule is blind while its model is fitted for the first time.
        """
        response = self.get("/advise")
        if response.status_code != httpx.codes.OK:
            return False
        advice = response.json()
        return all(blind["lacks"] != "time" for blind in advice["blind"]) and all(
            finding["first_seen"] is not None for finding in advice["recommendations"]
        )

    def settle(self) -> None:
        """Wait until it has judged by every rule, and has a miss curve: after that a recording gives the same."""
        wait_for(self.judged)
        self.get("/curve")
        wait_for(lambda: "innodb_advisor_curve_timestamp_seconds" in self.get("/metrics").text)


class _logged(logging.Handler):  # noqa: N801 - used as a context manager
    """Log lines of this process, kept in a list."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__(logging.INFO)
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(self.format(record))

    def __enter__(self) -> Self:
        root = logging.getLogger()
        self._level = root.level
        root.setLevel(min(root.level, logging.INFO) or logging.INFO)
        root.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        root = logging.getLogger()
        root.removeHandler(self)
        root.setLevel(self._level)
