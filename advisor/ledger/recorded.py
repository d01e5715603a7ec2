"""The ledger of a recording: whole, or without the owner's names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from pydantic import ValidationError

from advisor.contract.recommendation import fingerprint
from advisor.ledger.entry import (
    ENTRY,
    Baseline,
    Compared,
    Entry,
    Outcome,
    RememberedFinding,
    Result,
    outcome_id,
)
from advisor.ledger.ledger import Ledger
from advisor.ledger.reading import Measure, Work
from exporter.anonymisation import Pseudonyms

Named = TypeVar("Named", Compared, Work, Measure)
"""What has a subject."""


def recorded_ledger(lines: Iterable[object]) -> Ledger:
    """The ledger of JSON values, as far as this version can read them."""
    entries: list[Entry] = []
    for values in lines:
        with suppress(ValidationError):  # of a later version, which knows more kinds
            entries.append(ENTRY.validate_python(values))
    return Ledger.of(entries)


def ledger_lines(ledger: Ledger, rules: Collection[str], names: Pseudonyms | None = None) -> list[dict[str, Any]]:
    """The entries as JSON values, with ``names`` in place of the owner's.

    With ``names`` texts are left out, for they may hold any name, and so are findings of the owner's own rules. The
    outcome of a setting that such a rule asked for stays, as that of a change that nobody advised.

    Args:
        ledger: The ledger.
        rules: The built-in rules. Those of the owner's own may name anything.
        names: None for the names as they are.
    """
    entries = ledger.by_key.values() if names is None else _Anonymiser(names, rules).entries(ledger)
    return [entry.model_dump(mode="json") for entry in entries]


class _Anonymiser:
    """Removes the owner's names. Fingerprints fit the new names, so that they tell nobody the old ones."""

    def __init__(self, names: Pseudonyms, rules: Collection[str]) -> None:
        self._rules = rules
        # The names of settings are the server's own.
        self._replacements: Mapping[str, Callable[[str], str]] = {
            "schema": names.schema,
            "table": names.table,
            "index": names.index,
            "setting": str,
        }

    def entries(self, ledger: Ledger) -> Iterator[Entry]:
        ids: dict[str, str] = {}
        for entry in ledger.by_key.values():
            match entry:
                case RememberedFinding() if self._may_name(entry.rule, entry.subject):
                    subject = self._subject(entry.subject)
                    update = {"subject": subject, "fingerprint": fingerprint(entry.rule, subject), "summary": ""}
                    yield entry.model_copy(update=update)
                case Outcome():
                    outcome = self._outcome(entry)
                    ids[entry.id] = outcome.id
                    yield outcome
                case Baseline() if entry.of in ids:
                    work, measures = (
                        tuple(map(self._named, parts)) for parts in (entry.reading.work, entry.reading.measures)
                    )
                    reading = entry.reading.model_copy(update={"work": work, "measures": measures})
                    yield Baseline(of=ids[entry.of], reading=reading)

    def _outcome(self, outcome: Outcome) -> Outcome:
        update: dict[str, Any] = {"why": "", "others": tuple(map(self._named, outcome.others))}
        name: str | None = None
        if outcome.rule is not None and self._may_name(outcome.rule, outcome.subject):
            subject = self._subject(outcome.subject)
            name = fingerprint(outcome.rule, subject)
            update |= {"subject": subject, "measured": outcome.measured and self._named(outcome.measured)}
        else:
            update |= {"rule": None, "subject": {}, "followed": False, "promise": None, "measured": None, "error": None}
            if outcome.result in (Result.KEPT, Result.MISSED):
                update["result"] = Result.UNPROMISED
        update |= {"fingerprint": name, "id": outcome_id(outcome.at, outcome.changes, name)}
        return outcome.model_copy(update=update)

    def _named(self, measured: Named) -> Named:
        return measured.model_copy(update={"subject": self._subject(measured.subject)})

    def _may_name(self, rule: str, subject: Mapping[str, str]) -> bool:
        """Whether the rule, and the kinds of names in its subject, are known."""
        return rule in self._rules and subject.keys() <= self._replacements.keys()

    def _subject(self, subject: Mapping[str, str]) -> dict[str, str]:
        return {key: self._replacements[key](name) for key, name in subject.items() if key in self._replacements}
