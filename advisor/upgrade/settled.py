"""Advice that falls away: its rule is not for the new version, or a setting that it judges moves by itself. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from advisor.contract.recommendation import Recommendation
from advisor.contract.settings import json_value, setting_text
from advisor.contract.templates import FactValue
from advisor.contract.upgrade import SettledAdvice
from advisor.rules.check import Rule
from advisor.rules.expressions import EvaluationError, Missing
from advisor.upgrade.upgrade import Upgrade
from exporter.knowledge import BEHAVIOURS

_SETTING, _MACHINE = "setting.", "machine."
"""What the names of facts begin with that are known of the new version: the machine stays."""


def settled(upgrade: Upgrade, findings: Sequence[Recommendation], rules: Sequence[Rule]) -> Iterator[SettledAdvice]:
    """The findings that the upgrade settles, each with its reason.

    Args:
        upgrade: The upgrade.
        findings: On the server as it is.
        rules: The rules that made them; a finding of another rule is not judged.
    """
    by_id = {rule.id: rule for rule in rules}
    for finding in findings:
        rule = by_id.get(finding.rule)
        reason = None if rule is None else _not_for(rule, upgrade) or _refuted(rule, upgrade)
        if reason is not None:
            yield SettledAdvice(
                rule=finding.rule, fingerprint=finding.fingerprint, summary=finding.summary, reason=reason
            )


def _not_for(rule: Rule, upgrade: Upgrade) -> str | None:
    """Why the rule is not for the new version; None where it is."""
    if upgrade.after in rule.file.applies:
        return None
    lost = [name for name in rule.file.applies.has if upgrade.loses(name)]
    if lost:
        return f"no longer true of {upgrade.after}: {BEHAVIOURS[lost[0]].what.rstrip('.')}"
    return f"the rule does not apply to {upgrade.after}"


def _refuted(rule: Rule, upgrade: Upgrade) -> str | None:
    """The condition that no longer holds with the settings of the new version; None where that is not known of any.

    Only conditions on nothing but settings and the machine are judged: all else was measured on the old version.
    """
    values: dict[str, FactValue | None] = {
        name: value for name, value in upgrade.facts.values.items() if name.startswith(_MACHINE)
    }
    values |= {f"{_SETTING}{name}": setting.after for name, setting in upgrade.settings.items()}
    for name, text in rule.file.let.items():
        values[name] = _value(rule, text, values)
    for text, wanted in [*((text, True) for text in rule.file.when), *((text, False) for text in rule.file.unless)]:
        holds = _value(rule, text, values)
        if holds is None or holds is wanted:
            continue
        settings = [upgrade.settings[name] for name in _settings_in(rule, text) if name in upgrade.settings]
        becomes = [
            f"{setting.name} becomes {setting_text(setting.name, json_value(setting.after))}"
            for setting in settings
            if setting.moves
        ]
        if becomes:
            return f"{', '.join(becomes)} by itself"
    return None


def _value(rule: Rule, text: str, values: dict[str, FactValue | None]) -> FactValue | None:
    """The value of an expression; None where it depends on what is not known of the new version."""
    try:
        return rule.expressions[text](values)
    except (Missing, EvaluationError):
        return None


def _settings_in(rule: Rule, text: str) -> Iterator[str]:
    """The settings that an expression names, itself or by a ``let``."""
    for name in rule.expressions[text].names:
        if name in rule.file.let:
            yield from _settings_in(rule, rule.file.let[name])
        elif name.startswith(_SETTING):
            yield name.removeprefix(_SETTING)
