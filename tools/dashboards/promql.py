"""PromQL for the instances that the dashboards' variables choose."""

from __future__ import annotations

OPTIONAL = ("cluster", "namespace")
"""Labels that only some targets have. A series without them has them empty, for Prometheus."""
TARGET = (*OPTIONAL, "job", "instance")
"""Labels that tell sidecars apart."""
CHOSEN = ",".join(f'{name}=~"${name}"' for name in TARGET)


def of(metric: str, *matchers: str) -> str:
    """A metric's series for the chosen instances; matchers such as ``kind="completed"`` narrow them."""
    return f"{metric}{{{','.join((CHOSEN, *matchers))}}}"


def by(operator: str, expression: str, *labels: str) -> str:
    """One series per instance and value of these labels; ``operator`` is ``sum``, for example."""
    return f"{operator} by ({', '.join((*TARGET, *labels))}) ({expression})"


def on(*labels: str) -> str:
    """The matching of series that have instance and these labels in common."""
    return f"on ({', '.join((*TARGET, *labels))})"


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
    return f"({of(rule)} or {on(*labels)} {expression})"


def ratio(part: str, whole: str) -> str:
    """A quotient; no value where the divisor is 0."""
    return f"{part} / ({whole} > 0)"


def in_bytes(pages: str) -> str:
    """Pages as bytes."""
    return f"{pages} * {on()} group_left () {by('max', of('innodb_page_size_bytes'))}"


def linked(expression: str, *finding: str) -> str:
    """The same series with the label ``url``: a page of the sidecar, where it tells one.

    Args:
        expression: One series or several for each sidecar.
        finding: ``rule`` and ``subject``, for the finding on that page.
    """
    info = of("innodb_advisor_recommendation_page_info" if finding else "innodb_advisor_page_info")
    # While a pod is replaced, two sidecars may watch a server: one page is enough.
    page = f"topk by ({', '.join((*TARGET, *finding))}) (1, {info})"
    return f"({expression} * {on(*finding)} group_left (url) {page} or {on(*finding)} {expression})"


def top(many: int, expression: str) -> str:
    """The series with the highest peaks: the same ones at each step, ranked once over the panel's range."""
    return f"{expression} and topk({many}, max_over_time(({expression})[$__range:$__interval] @ end()))"


def largest_now(many: int, expression: str) -> str:
    """The largest values of an instant query."""
    return f"topk({many}, {expression})"
