"""Addresses of the sidecar's page, and of what belongs to it, for people."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Links:
    """Absolute addresses.

    Attributes:
        page: Of the page, without a slash at its end.
        dashboard: Of a dashboard with the server's metrics; None where no one is named.
    """

    page: str
    dashboard: str | None = None

    def finding(self, fingerprint: str) -> str:
        """A finding on the page, also after its end."""
        return f"{self.page}/#{fingerprint}"

    def data(self, fingerprint: str) -> str:
        """The same for both: a browser is sent to the finding on the page, a program gets it as JSON."""
        return f"{self.page}/advise/{fingerprint}"

    def rule(self, rule_id: str) -> str:
        """The page of a rule: why it fires, and what to do."""
        return f"{self.page}/rules/{rule_id}"
