"""Two Alertmanagers that share their notifications, as docs/alerting.md has it: each alert goes to both."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lab.processes.ports import free_port
from lab.programs import alertmanager
from lab.programs.webhook import Webhook

PEER_SECONDS, GROUP_SECONDS = 5, 12
"""How long the second member waits for the first one's notification, and time between two notifications of a group:
a third of Alertmanager's own 15 s, and 5 min.

A member that waits notifies of what it saw before. So the second has to be the longer one, and both members have to
look at the same moments, as they do after `restart_all`: else the second one may tell the past after an end.
"""


class Member:
    """A member of a cluster, which can go away and come back on the same ports, with what it wrote.

    Attributes:
        url: Without a path.
    """

    def __init__(self, suite: str, folder: Path, configured: str) -> None:
        """Nothing is started yet; the arguments are those of ``alertmanager.running``."""
        self._suite, self._folder, self._configured = suite, folder, configured
        self._port, self.gossip = free_port(), f"{alertmanager.HOST}:{free_port()}"
        self.url = f"http://{alertmanager.HOST}:{self._port}"
        self._pid = 0
        self._running = ExitStack()

    def start(self, *peers: str) -> None:
        """Start it.

        Args:
            peers: Where the other members gossip.

        Raises:
            Unavailable: Alertmanager is unavailable here.
            NotServing: It did not start.
        """
        flags = [f"--cluster.peer={each}" for each in peers]
        timing = (f"--cluster.peer-timeout={PEER_SECONDS}s", "--cluster.settle-timeout=5s")
        started = self._running.enter_context(
            alertmanager.running(
                self._suite, self._folder, self._configured, *flags, *timing, port=self._port, gossip=self.gossip
            )
        )
        self._pid = started.pid

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Stop it; with SIGKILL it forgets what it has not written."""
        os.kill(self._pid, number)
        self._running.close()

    def close(self) -> None:
        """Stop it if it runs."""
        self._running.close()


class Alertmanagers:
    """A cluster of two that tells one webhook; a context manager.

    Attributes:
        members: Both.
        webhook: Gets each alert by itself, at once.
    """

    def __init__(self, suite: str, folder: Path) -> None:
        """Nothing is started yet."""
        self.webhook = Webhook()
        configured = alertmanager.configuration(self.webhook.url, group_interval=f"{GROUP_SECONDS}s")
        self.members = tuple(Member(suite, folder / f"member-{number}", configured) for number in (1, 2))

    @property
    def urls(self) -> Sequence[str]:
        """Of both members."""
        return [each.url for each in self.members]

    def restart(self, member: Member, number: signal.Signals = signal.SIGTERM) -> None:
        """Restart a member."""
        member.stop(number)
        member.start(*self._peers(member))

    def restart_all(self) -> None:
        """Restart both at the same time: an alert that reaches one alone sets their clocks apart."""
        for each in self.members:
            each.stop()
        with ThreadPoolExecutor(len(self.members)) as pool:
            list(pool.map(lambda each: each.start(*self._peers(each)), self.members))

    def told(self, rule: str, status: str | None = None) -> list[dict[str, Any]]:
        """What the webhook was told of a rule, oldest first; of alerts that are `firing` or `resolved`."""
        return [each for each in self.webhook.alerts(status) if each["labels"].get("rule") == rule]

    def _peers(self, member: Member) -> list[str]:
        return [each.gossip for each in self.members if each is not member]

    def __enter__(self) -> Self:
        self.webhook.__enter__()
        for each in self.members:
            each.start(*self._peers(each))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in self.members:
            each.close()
        self.webhook.__exit__(kind, error, trace)
