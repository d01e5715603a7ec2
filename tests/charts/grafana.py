"""Grafana's changes to a dashboard's queries before they reach Prometheus."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_SPECIAL = re.compile(r"[$^*{}\[\]'+?.()|]")
_VARIABLE = re.compile(r"\$\{(\w+)\}|\$(\w+)")
_LABEL_VALUES = re.compile(r"label_values\((.+), (\w+)\)")


@dataclass(frozen=True)
class Chosen:
    """The variables chosen in a dashboard, and the time range.

    Attributes:
        values: By variable: the chosen values, or one text for All's custom value, which is used verbatim.
        step: Seconds between two points.
        range: Seconds from the first point to the last.
        scrape: The data source's scrape interval, in seconds.
    """

    values: Mapping[str, Sequence[str] | str]
    step: float
    range: float
    scrape: float

    def query(self, expression: str) -> str:
        """The expression with all variables replaced, as Grafana's Prometheus data source does."""
        return _VARIABLE.sub(lambda match: self._value(match[1] or match[2]), expression)

    def _value(self, name: str) -> str:
        match name:
            case "__rate_interval":
                return f"{max(self.step + self.scrape, 4 * self.scrape):g}s"
            case "__range":
                return f"{self.range:g}s"
            case "__interval":
                return f"{self.step:g}s"
            case "__interval_ms":
                return f"{self.step * 1000:g}"
        chosen = self.values[name]
        if isinstance(chosen, str):
            return chosen
        escaped = [_escaped(value) for value in chosen]
        return escaped[0] if len(escaped) == 1 else f"({'|'.join(escaped)})"


def label_values(query: str) -> tuple[str, str]:
    """The series and the label in a variable's query."""
    match = _LABEL_VALUES.fullmatch(query)
    assert match, query
    return match[1], match[2]


def _escaped(value: str) -> str:
    """As prometheusSpecialRegexEscape: for a regular expression within a string."""
    return _SPECIAL.sub(r"\\\\\g<0>", value.replace("\\", r"\\\\"))
