"""The window and the server themselves."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.facts.base import fact, maybe
from advisor.observe.window import Window
from exporter.collectors.status import STATUS


@dataclass(frozen=True, slots=True)
class WindowFacts:
    """The window itself."""

    seconds: float = fact("Length of the window: how long the server has been watched.", unit="seconds")
    snapshots: float = fact("Collections in the window.", unit="collections", default=0.0)


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """The server itself."""

    version: str | None = maybe("Version as the server says it, such as 9.7.4.")
    family: str | None = maybe("mysql, which includes Percona Server and Aurora, or mariadb.")
    managed: bool | None = maybe("Whether a cloud service runs the server; its customers cannot use SET GLOBAL.")
    uptime_seconds: float | None = maybe("Time since the server started.", unit="seconds")
    rows_inserted: float | None = maybe(
        "Rows inserted by statements over the window; not known on MariaDB 10.6 and later.", unit="rows"
    )
    rows_deleted: float | None = maybe(
        "Rows deleted by statements over the window; not known on MariaDB 10.6 and later.", unit="rows"
    )
    rows_updated: float | None = maybe(
        "Rows updated by statements over the window; not known on MariaDB 10.6 and later.", unit="rows"
    )
    rows_read: float | None = maybe(
        "Rows read by statements over the window; not known on MariaDB 10.6 and later.", unit="rows"
    )


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
