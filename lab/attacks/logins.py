"""Guessed passwords, beside a Prometheus that has not logged in since the start."""

from __future__ import annotations

import base64
import secrets
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import bcrypt

from lab.attacks import clients
from lab.attacks.abandoned import core_seconds
from lab.attacks.attack import Attack, Line, Stage

SECONDS, SHORT_SECONDS = 20.0, 6.0
GUESSERS = 20
COST = 10
"""Of the hashes: as docs/security.md advises."""
SCRAPE_SECONDS = 10.0
"""Prometheus' own patience."""
BURST_SECONDS = 5.0
"""Until the burst of attempts is over (advisor.http.logins.RATE)."""
MOST_CORE = 0.6
"""Share of a core that the sidecar may take from then on; bcrypt alone takes a quarter."""


def _run(stage: Stage) -> Iterator[Line]:
    password = secrets.token_urlsafe(16)
    stored = bcrypt.hashpw(password.encode(), bcrypt.gensalt(COST)).decode()
    with tempfile.TemporaryDirectory(prefix="innodb-advisor-logins-") as folder:
        config = Path(folder) / "web.yml"
        config.write_text(f"basic_auth_users:\n  prometheus: {stored}\n  grafana: {stored}\n", encoding="utf-8")
        with stage.sidecar("--web-config", str(config)) as sidecar:
            ended = threading.Event()

            def guess(number: int) -> None:
                while not ended.is_set():
                    sent = _scrape(("prometheus", "grafana", "admin")[number % 3], secrets.token_hex(8))
                    clients.status(sidecar, sent, 7 if number % 2 else 0)  # half from Prometheus' own address

            guessers = [threading.Thread(target=guess, args=(number,), daemon=True) for number in range(GUESSERS)]
            for each in guessers:
                each.start()
            time.sleep(BURST_SECONDS)
            began, taken = time.monotonic(), core_seconds(sidecar.pid)
            time.sleep(SHORT_SECONDS if stage.short else SECONDS)
            share = (core_seconds(sidecar.pid) - taken) / (time.monotonic() - began)
            for what, number in (("another address", 8), ("the guessers' address", 0)):
                asked = time.monotonic()
                user = "prometheus" if number else "grafana"
                status = clients.status(sidecar, _scrape(user, password), number)
                took = time.monotonic() - asked
                yield Line(
                    f"first scrape with the right password, from {what}",
                    f"200 within {SCRAPE_SECONDS:.0f} s",
                    f"{status or 'no answer'} after {took:.1f} s",
                    status == 200 and took <= SCRAPE_SECONDS,
                )
            ended.set()
            yield Line(
                "core that the sidecar takes",
                f"≤ {MOST_CORE:.0%} of one, after a burst",
                f"{share:.0%}",
                share <= MOST_CORE,
            )
            for each in guessers:
                each.join(SCRAPE_SECONDS)


def _scrape(user: str, password: str) -> bytes:
    login = base64.b64encode(f"{user}:{password}".encode()).decode()
    return clients.request("GET", "/metrics", headers={"Authorization": f"Basic {login}"})


ATTACKS = (Attack("guessed-passwords", "guesses passwords of three users, twenty at a time", _run, (45.0, 25.0)),)
