"""The server itself."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.observe.window import Window


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """The server itself.

    Attributes:
        version: The version as the server says it, such as 9.7.4.
        family: mysql, Percona Server and Aurora among them, or mariadb.
        managed: Whether a cloud service runs it, which keeps SET GLOBAL from its customers.
        uptime_seconds: Seconds since the server started.
        rows_inserted: Rows inserted by statements over the window; not on MariaDB from 10.6 on.
        rows_deleted: Rows deleted by statements over the window; not on MariaDB from 10.6 on.
        rows_updated: Rows updated by statements over the window; not on MariaDB from 10.6 on.
        rows_read: Rows read by statements over the window; not on MariaDB from 10.6 on.
    """

    version: str | None = None
    family: str | None = None
    managed: bool | None = None
    uptime_seconds: float | None = None
    rows_inserted: float | None = None
    rows_deleted: float | None = None
    rows_updated: float | None = None
    rows_read: float | None = None


def server(window: Window) -> ServerFacts:
    """From SHOW GLOBAL STATUS."""
    latest = window.latest

    def rows(kind: str) -> float | None:
        return window.delta(lambda snapshot: (snapshot.status or {}).get(f"innodb_rows_{kind}"))

    return ServerFacts(
        version=latest.server.version_text,
        family=latest.server.family,
        managed=latest.server.managed is not None,
        uptime_seconds=(latest.status or {}).get("uptime"),
        rows_inserted=rows("inserted"),
        rows_deleted=rows("deleted"),
        rows_updated=rows("updated"),
        rows_read=rows("read"),
    )
