"""The ledger that a recording carries: whole, or without the owner's names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from advisor.contract.recommendation import fingerprint
from advisor.ledger.entry import Baseline, Compared, Entry, Found, Outcome, Result, line, outcome_id, readable
from advisor.ledger.ledger import Ledger
from exporter.pseudonyms import Pseudonyms

_KNOWN = frozenset({"schema", "table", "index", "setting"})
"""Keys of a subject whose values can be replaced, or are the server's own."""


@dataclass(frozen=True, slots=True)
class CarriedLedger:
    """A ledger on its way into a recording.

    Attributes:
        ledger: The ledger.
        rules: The built-in rules. Those of the owner's own may name anything, and are left out with the names.
    """

    ledger: Ledger
    rules: Collection[str]

    def lines(self, names: Pseudonyms | None = None) -> list[dict[str, Any]]:
        """The entries as JSON values; with ``names`` in place of the owner's.

        Then texts are left out, for they may hold any name, and so is what a rule of the owner's own found. The outcome
        of a setting that it asked for stays, as that of a change that nobody advised.
        """
        if names is None:
            return [line(each) for each in self.ledger.entries]
        return [line(each) for each in _Anonymised(names, self.rules).entries(self.ledger)]


def ledger_of(lines: Iterable[object] | None) -> Ledger | None:
    """The ledger that a recording carries; None where it carries none."""
    return None if lines is None else Ledger.of(readable(lines))


class _Anonymised:
    """Entries without the owner's names. Fingerprints fit the new names, so that they tell nobody the old ones."""

    def __init__(self, names: Pseudonyms, rules: Collection[str]) -> None:
        self._names, self._rules = names, rules

    def entries(self, ledger: Ledger) -> Iterable[Entry]:
        ids: dict[str, str] = {}
        for each in ledger.entries:
            match each:
                case Found() if self._may_name(each.rule, each.subject):
                    subject = self._subject(each.subject)
                    update = {"subject": subject, "fingerprint": fingerprint(each.rule, subject), "summary": ""}
                    yield each.model_copy(update=update)
                case Outcome():
                    outcome = self._outcome(each)
                    ids[each.id] = outcome.id
                    yield outcome
                case Baseline() if each.of in ids:
                    yield self._baseline(each, ids[each.of])

    def _outcome(self, each: Outcome) -> Outcome:
        update: dict[str, Any] = {"why": "", "others": tuple(map(self._compared, each.others))}
        named: str | None = None
        if each.rule is not None and self._may_name(each.rule, each.subject):
            subject = self._subject(each.subject)
            named = fingerprint(each.rule, subject)
            measured = None if each.measured is None else self._compared(each.measured)
            update |= {"subject": subject, "measured": measured}
        else:
            update |= {"rule": None, "subject": {}, "followed": False, "promise": None, "measured": None, "error": None}
            if each.result in (Result.KEPT, Result.MISSED):
                update["result"] = Result.UNPROMISED
        update |= {"fingerprint": named, "id": outcome_id(each.at, each.changes, named)}
        return each.model_copy(update=update)

    def _baseline(self, each: Baseline, of: str) -> Baseline:
        reading = each.reading
        work = tuple(one.model_copy(update={"subject": self._subject(one.subject)}) for one in reading.work)
        measures = tuple(one.model_copy(update={"subject": self._subject(one.subject)}) for one in reading.measures)
        return each.model_copy(
            update={"of": of, "reading": reading.model_copy(update={"work": work, "measures": measures})}
        )

    def _compared(self, each: Compared) -> Compared:
        return each.model_copy(update={"subject": self._subject(each.subject)})

    def _may_name(self, rule: str, subject: Mapping[str, str]) -> bool:
        """Whether the rule, and the kinds of names in its subject, are known."""
        return rule in self._rules and subject.keys() <= _KNOWN

    def _subject(self, subject: Mapping[str, str]) -> dict[str, str]:
        replaced: dict[str, Callable[[str], str]] = {
            "schema": self._names.schema,
            "table": self._names.table,
            "index": self._names.index,
            "setting": str,
        }
        return {key: replaced[key](value) for key, value in subject.items() if key in replaced}
