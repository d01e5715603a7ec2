"""PromQL over what the dashboards' variables choose."""

from __future__ import annotations

CHOSEN = 'job=~"$job",instance=~"$instance"'


def of(metric: str, *matchers: str) -> str:
    """The series of a metric, of the chosen instances; further matchers such as ``kind="completed"``."""
    return f"{metric}{{{','.join((CHOSEN, *matchers))}}}"


def by(operator: str, expression: str, *labels: str) -> str:
    """One series an instance and value of these labels; ``operator`` such as ``sum``."""
    return f"{operator} by ({', '.join(('job', 'instance', *labels))}) ({expression})"


def total(metric: str, *labels: str, where: str = "") -> str:
    """A gauge, summed up; ``where`` is a matcher."""
    return by("sum", of(metric, where) if where else of(metric), *labels)


def per_second(counter: str, *labels: str) -> str:
    """What a counter counts in a second, summed up."""
    return by("sum", f"rate({of(counter)}[$__rate_interval])", *labels)


def setting(name: str) -> str:
    """A setting that is a number."""
    return by("max", of("innodb_setting", f'name="{name}"'))


def settings(*names: str) -> str:
    """Settings as the server prints them, in the label ``value``; names may be regular expressions."""
    matcher = f'name=~"{"|".join(names)}"'
    return by("max", of("innodb_setting_info", matcher), "name", "value")


def recorded(rule: str, expression: str, *labels: str) -> str:
    """What a recording rule has worked out, or else the expression itself: the rules need not be loaded."""
    return f"({of(rule)} or on ({', '.join(('job', 'instance', *labels))}) {expression})"


def ratio(part: str, whole: str) -> str:
    """One by another, and nothing where that is 0: a share of nothing is not known."""
    return f"{part} / ({whole} > 0)"


def top(many: int, expression: str) -> str:
    """The largest."""
    return f"topk({many}, {expression})"
