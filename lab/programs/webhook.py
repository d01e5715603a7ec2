"""A receiver of Alertmanager's webhooks that stores the notifications."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

HOST = "127.0.0.1"
_TAKEN = b"ok"
"""As Slack answers; Alertmanager's other webhooks look at the status alone."""


class _Server(ThreadingHTTPServer):
    request_queue_size = 128  # Alertmanager tells of many groups at once


class Webhook:
    """Listens on a free port of the loopback address, in threads of its own; a context manager.

    Attributes:
        notifications: The received bodies (version 4 of Alertmanager's documentation), oldest first.
    """

    def __init__(self) -> None:
        self.notifications: list[dict[str, Any]] = []
        notifications = self.notifications

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                notifications.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.send_header("Content-Length", str(len(_TAKEN)))
                self.end_headers()
                self.wfile.write(_TAKEN)

            def log_message(self, *_: object) -> None:
                """Nothing: the notifications are kept."""

        self._server = _Server((HOST, 0), Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="lab.programs.webhook", daemon=True
        )

    @property
    def url(self) -> str:
        """Where notifications are to be sent."""
        return f"http://{HOST}:{self._server.server_address[1]}/"

    def alerts(self, status: str | None = None) -> list[dict[str, Any]]:
        """The alerts of all notifications in the order in which they came, those that are `firing` or `resolved`."""
        alerts = [alert for notification in list(self.notifications) for alert in notification["alerts"]]
        return [alert for alert in alerts if status in (None, alert["status"])]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
