"""What may go wrong between here and the server, told apart."""

from __future__ import annotations


class ServerError(Exception):
    """Something went wrong between here and the server; the text is fit for a user."""


class Unreachable(ServerError):
    """Nobody answers at that address, or the server has no connection to spare."""


class NotMySQL(ServerError):
    """Something answers at that address, but it does not speak the MySQL protocol."""


class AccessDenied(ServerError):
    """The server refused the login."""


class ConnectionLost(ServerError):
    """The connection broke; a new one has to be opened."""


class PrivilegeMissing(ServerError):
    """The account may not read this source."""


class DeadlineExceeded(ServerError):
    """The statement ran longer than it may. After one the connection is closed: its state is unknown."""


class QueryFailed(ServerError):
    """The server refused the statement for another reason."""
