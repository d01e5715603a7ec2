"""The server itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from advisor.facts.base import Meaning
from advisor.observe.window import Window
from exporter.collectors.status import STATUS


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """The server itself."""

    version: Annotated[str | None, Meaning("Version as the server says it, such as 9.7.4.")] = None
    family: Annotated[str | None, Meaning("mysql, which includes Percona Server and Aurora, or mariadb.")] = None
    managed: Annotated[
        bool | None, Meaning("Whether a cloud service runs the server; its customers cannot use SET GLOBAL.")
    ] = None
    uptime_seconds: Annotated[float | None, Meaning("Time since the server started.", unit="seconds")] = None
    rows_inserted: Annotated[
        float | None,
        Meaning("Rows inserted by statements over the window; not known on MariaDB 10.6 and later.", unit="rows"),
    ] = None
    rows_deleted: Annotated[
        float | None,
        Meaning("Rows deleted by statements over the window; not known on MariaDB 10.6 and later.", unit="rows"),
    ] = None
    rows_updated: Annotated[
        float | None,
        Meaning("Rows updated by statements over the window; not known on MariaDB 10.6 and later.", unit="rows"),
    ] = None
    rows_read: Annotated[
        float | None,
        Meaning("Rows read by statements over the window; not known on MariaDB 10.6 and later.", unit="rows"),
    ] = None


def server(window: Window) -> ServerFacts:
    """From SHOW GLOBAL STATUS."""
    latest = window.latest

    def rows(kind: str) -> float | None:
        return window.delta(lambda snapshot: (snapshot[STATUS] or {}).get(f"innodb_rows_{kind}"))

    return ServerFacts(
        version=latest.server.version_text,
        family=latest.server.family,
        managed=latest.server.managed is not None,
        uptime_seconds=(latest[STATUS] or {}).get("uptime"),
        rows_inserted=rows("inserted"),
        rows_deleted=rows("deleted"),
        rows_updated=rows("updated"),
        rows_read=rows("read"),
    )
