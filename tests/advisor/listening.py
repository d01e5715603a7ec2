"""The sidecar in this process with a socket, for a browser or a Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from uvicorn.config import Config
from uvicorn.server import Server

from advisor.http.server import listen
from lab.processes.ports import HOST
from tests.advisor.in_process import InProcess
from tests.waiting import wait_for


class Listening(InProcess):
    """`innodb-advisor serve` with these arguments, on a free port of the loopback address."""

    def __init__(self, *arguments: object) -> None:
        socket = listen(HOST, 0)
        try:
            super().__init__(*arguments, port=socket.getsockname()[1])
        except BaseException:
            socket.close()
            raise
        config = Config(self.guarded, lifespan="off", ws="none", log_config=None, access_log=False)
        server = Server(config)
        serving = self.portal.start_task_soon(server.serve, [socket])

        @contextmanager
        def served() -> Iterator[None]:
            wait_for(lambda: server.started)
            yield
            server.should_exit = server.force_exit = True  # a page keeps its connections open
            serving.result()

        self._stack.enter_context(served())
