"""Answers of Prometheus' HTTP API, decoded while they arrive: one series at a time, never the whole text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any

from advisor.fleet.series import Answer, Series

_LONGEST_PIECE = 4 * 2**20
"""Characters of one series, or of anything else in an answer, at most."""
_BLANK = " \t\r\n,"
_WRONG = "it does not answer as Prometheus' API does"


class NoAnswer(ValueError):
    """The text is no answer of Prometheus' API; the message says in which way."""


def _text(said: str) -> str:
    """A text as UTF-8 can have it: JSON can hold half a pair of surrogates, which becomes its escape."""
    return said if said.isascii() else said.encode("utf-8", "backslashreplace").decode()


class Decoder:
    """Takes the text of an answer in parts.

    The order of keys is the server's: Prometheus has ``warnings`` after the data, VictoriaMetrics ``isPartial``
    before it.

    Attributes:
        fields: Everything but the series: status, error, errorType, warnings, isPartial.
    """

    def __init__(self) -> None:
        """Nothing has arrived."""
        self.fields: dict[str, Any] = {}
        self._series: list[Series] = []
        self._known: dict[str, str] = {}  # one copy of each text: labels repeat in thousands of series
        self._text, self._at = "", 0
        self._inside: list[str] = []  # "answer", "data", "result"
        self._decode = json.JSONDecoder().raw_decode

    def feed(self, text: str) -> None:
        """Decode what is whole.

        Raises:
            NoAnswer: The text is something else.
        """
        self._text, self._at = self._text[self._at :] + text, 0
        while self._step():
            pass
        if len(self._text) - self._at > _LONGEST_PIECE:
            raise NoAnswer(_WRONG)

    def answer(self) -> Answer:
        """The answer, once all of it was fed.

        Raises:
            NoAnswer: It ends before its time, or is something else.
        """
        if self._inside != ["end"]:
            raise NoAnswer("its answer was cut off" if self._inside else _WRONG)
        said = [_text(str(each)) for name in ("warnings", "infos") for each in self.fields.get(name) or ()]
        partial = bool(self.fields.get("isPartial")) or bool(self.fields.get("warnings"))
        return Answer(tuple(self._series), tuple(said), partial)

    def _step(self) -> bool:
        """Decode one piece, and return whether to go on."""
        text, at = self._text, self._at
        while at < len(text) and text[at] in _BLANK:
            at += 1
        self._at = at
        if at == len(text):
            return False
        if not self._inside:
            if text[at] != "{":
                raise NoAnswer(_WRONG)
            self._enter("answer", at)
            return True
        if self._inside == ["end"]:
            raise NoAnswer(_WRONG)
        if text[at] in "}]":
            self._inside.pop()
            self._at = at + 1
            self._inside = self._inside or ["end"]
            return True
        return self._elements(at) if self._inside[-1] == "result" else self._field(at)

    def _enter(self, what: str, at: int) -> None:
        self._inside.append(what)
        self._at = at + 1

    def _elements(self, at: int) -> bool:
        """Decode the series that follow each other without a blank: all of an answer, in most cases."""
        text = self._text
        try:
            while True:
                try:
                    found, at = self._decode(text, at)
                except json.JSONDecodeError:
                    return False
                series = self._one(found)
                if series.points:
                    self._series.append(series)
                self._at = at
                if not text.startswith(",{", at):
                    return True
                at += 1
        except (AttributeError, KeyError, TypeError, ValueError):
            raise NoAnswer(_WRONG) from None

    def _field(self, at: int) -> bool:
        try:
            name, at = self._decode(self._text, at)
            colon = self._text.index(":", at)
        except ValueError:  # the rest is still to come
            return False
        at = colon + 1
        while at < len(self._text) and self._text[at] in _BLANK:
            at += 1
        if at == len(self._text):
            return False
        opens = self._text[at]
        if (name, opens) == ("data", "{") and self._inside == ["answer"]:
            self._enter("data", at)
            return True
        if (name, opens) == ("result", "[") and self._inside == ["answer", "data"]:
            self._enter("result", at)
            return True
        try:
            value, at = self._decode(self._text, at)
        except json.JSONDecodeError:
            return False
        if at == len(self._text):  # a number may go on
            return False
        self.fields[str(name)], self._at = value, at
        return True

    def _one(self, found: Mapping[str, Any]) -> Series:
        known = self._known.setdefault
        labels = {known(name, _text(name)): known(value, _text(value)) for name, value in found["metric"].items()}
        points = found["values"] if "values" in found else [found["value"]] if "value" in found else []
        return Series(labels, tuple([(at + 0.0, value) for at, said in points if isfinite(value := float(said))]))
