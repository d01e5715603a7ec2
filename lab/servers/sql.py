"""Short statements to a running server, each in a session of its own."""

from __future__ import annotations

from lab.servers.server import PrivateServer


def execute(server: PrivateServer, *statements: str) -> None:
    """Run statements for their effect."""
    with server.connect() as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def query_number(server: PrivateServer, sql: str) -> float:
    """The number in the first column of a query's first row."""
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(sql)
        return float(cursor.fetchall()[0][0])


def global_status(server: PrivateServer, name: str) -> float:
    """A counter of SHOW GLOBAL STATUS."""
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL STATUS LIKE %s", (name,))
        return float(cursor.fetchall()[0][1])


def query_column(server: PrivateServer, sql: str) -> list[str]:
    """The texts in the first column of a query."""
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(sql)
        return [str(row[0]) for row in cursor.fetchall()]
