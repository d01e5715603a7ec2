"""Recordings without the owner's names: everything that is not known to be the server's own is removed or replaced.

Everything that the parsers read is kept, so that a replay gives the same snapshots except for the names.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from exporter.anonymisation import Pseudonyms, plain_version, plain_words
from exporter.collectors import BY_NAME
from exporter.recording.file import LedgerLines, Recorder
from exporter.sampling.assembly import Answer
from exporter.server import Server

_REASONS = {
    "privilege": "the account may not read this",
    "deadline": "it took longer than it may",
    "failed": "it could not be read",
}
"""In place of the server's messages, which name accounts, hosts and tables."""


class AnonymousRecorder(Recorder):
    """A recorder that removes or replaces every name of the owner's, and every statement.

    Each recording has new pseudonyms.
    """

    def __init__(self, path: Path) -> None:
        """Open the file.

        Raises:
            OSError: It cannot be written.
        """
        super().__init__(path)
        self._pseudonyms = Pseudonyms()
        self._account = ("", "")

    def session(self, server: Server, account: str) -> None:
        """Keep the server's identity, without the names that its owner gave."""
        self._account = self._pseudonyms.account(account)
        plain = replace(server, version_text=plain_version(server.version_text), comment=plain_words(server.comment))
        super().session(plain, "@".join(self._account))

    def answer(self, answer: Answer) -> None:
        """Keep an answer, anonymised; an answer of an unknown collector is removed."""
        collector = BY_NAME.get(answer.collector)
        if collector is None:
            return
        try:
            results = tuple(collector.anonymise(self._pseudonyms, rows) for rows in answer.results)
        except (ValueError, LookupError, TypeError, AttributeError):  # rows that its parser cannot read either
            super().answer(Answer(answer.collector, answer.at, answer.seconds, (), "failed", _REASONS["failed"]))
            return
        reason = _REASONS.get(answer.failure or "", answer.reason)
        super().answer(replace(answer, results=results, reason=reason, cure=self._cure(answer.cure)))

    def ledger(self, lines: LedgerLines) -> None:
        """Keep what became of advice, without what may hold other names than those of schemas, tables and indexes."""
        self._write({"ledger": lines(self._pseudonyms)})

    def _cure(self, cure: str | None) -> str | None:
        if cure is None or not cure.startswith("GRANT "):
            return cure
        user, host = self._account
        return f"{cure.partition(' TO ')[0]} TO '{user}'@'{host}'"
