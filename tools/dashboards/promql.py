"""PromQL for the instances that the dashboards' variables choose."""

from __future__ import annotations

CHOSEN = 'job=~"$job",instance=~"$instance"'


def of(metric: str, *matchers: str) -> str:
    """A metric's series for the chosen instances; matchers such as ``kind="completed"`` narrow them."""
    return f"{metric}{{{','.join((CHOSEN, *matchers))}}}"


def by(operator: str, expression: str, *labels: str) -> str:
    """One series per instance and value of these labels; ``operator`` is ``sum``, for example."""
    return f"{operator} by ({', '.join(('job', 'instance', *labels))}) ({expression})"


def total(metric: str, *labels: str, where: str = "") -> str:
    """The sum of a gauge; ``where`` is a matcher."""
    return by("sum", of(metric, where) if where else of(metric), *labels)


def per_second(counter: str, *labels: str) -> str:
    """The sum of a counter's rates per second."""
    return by("sum", f"rate({of(counter)}[$__rate_interval])", *labels)


def setting(name: str) -> str:
    """A numeric setting."""
    return by("max", of("innodb_setting", f'name="{name}"'))


def settings(*names: str) -> str:
    """Settings as the server prints them, in the label ``value``; names may be regular expressions."""
    matcher = f'name=~"{"|".join(names)}"'
    return by("max", of("innodb_setting_info", matcher), "name", "value")


def recorded(rule: str, expression: str, *labels: str) -> str:
    """A recording rule's result, or the expression itself if the rule is not loaded."""
    return f"({of(rule)} or on ({', '.join(('job', 'instance', *labels))}) {expression})"


def ratio(part: str, whole: str) -> str:
    """A quotient; no value where the divisor is 0."""
    return f"{part} / ({whole} > 0)"


def top(many: int, expression: str) -> str:
    """The largest values."""
    return f"topk({many}, {expression})"
