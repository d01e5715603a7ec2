"""An HTTP server that answers like a Prometheus, or in any other way."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl

Form = Mapping[str, str]
Answers = Callable[[Form], "tuple[int, Mapping[str, str], bytes]"]


def vector(*series: tuple[Mapping[str, str], float], at: float = 1_000.0, **more: Any) -> bytes:
    """The body of an answer to an instant query at a time."""
    result = [{"metric": dict(labels), "value": [at, str(value)]} for labels, value in series]
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}, **more}).encode()


def error(kind: str, text: str) -> bytes:
    return json.dumps({"status": "error", "errorType": kind, "error": text}).encode()


def zipped(body: bytes, status: int = 200) -> tuple[int, Mapping[str, str], bytes]:
    return status, {"Content-Encoding": "gzip", "Content-Type": "application/json"}, gzip.compress(body)


def plain(body: bytes, status: int = 200) -> tuple[int, Mapping[str, str], bytes]:
    return status, {"Content-Type": "application/json"}, body


class Answering:
    """On a port of the loopback address; `answers` may be changed at any time."""

    def __init__(self, answers: Answers = lambda _: zipped(vector())) -> None:
        self.answers = answers
        self.asked: list[tuple[str, Form, Mapping[str, str]]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                form = dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
                outer.asked.append((self.path, form, {name.lower(): value for name, value in self.headers.items()}))
                status, headers, body = outer.answers(form)
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)
                self.close_connection = "Content-Length" in headers  # a lie about it ends the connection

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_: Any) -> None:
                """A client that went away is no error here."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
