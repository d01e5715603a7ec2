"""Errors between the sidecar and the server, by cause."""

from __future__ import annotations


class ServerError(Exception):
    """An error between the sidecar and the server; its text is for a user to read."""


class Unreachable(ServerError):
    """Nothing answers at that address, or the server has no free connection."""


class NotMySQL(ServerError):
    """A program answers at that address, but not in the MySQL protocol."""


class AccessDenied(ServerError):
    """The server refused the login."""


class SessionRefused(ServerError):
    """The server does not let the sidecar set what its results depend on."""


class ConnectionLost(ServerError):
    """The connection broke; a new one must be opened."""


class PrivilegeMissing(ServerError):
    """The account may not read this source."""


class DeadlineExceeded(ServerError):
    """The statement exceeded its time limit. The connection is closed then: its state is unknown."""


class QueryFailed(ServerError):
    """The server refused the statement for another reason."""
