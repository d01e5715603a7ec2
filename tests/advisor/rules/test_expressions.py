"""CEL is checked when it is loaded, fast when it runs, and names a missing fact."""

from __future__ import annotations

import contextlib

import pytest

from advisor.contract.templates import FactValue
from advisor.rules.expressions import LONGEST_TEXT, EvaluationError, ExpressionError, Missing, Vocabulary, names_in

VOCABULARY = Vocabulary({"pool.pages": float, "pool.old.target": float, "scan.schema": str, "full": bool, "x": float})
VALUES: dict[str, FactValue | None] = {
    "pool.pages": 16_382.0,
    "pool.old.target": 6_000.0,
    "scan.schema": "shop",
    "full": True,
    "x": 3.0,
}


def refusal(text: str, *wanted: type) -> tuple[int, int, str]:
    with pytest.raises(ExpressionError) as caught:
        VOCABULARY.expression(text, wanted or (float, str, bool))
    return caught.value.line, caught.value.column, str(caught.value)


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("x > pool.page", 1, 5, "unknown name pool.page; did you mean pool.pages?"),
        ("x > pool.old.targt", 1, 5, "unknown name pool.old.targt; did you mean pool.old.target?"),
        ("x > 1.0 &&\n  qqqq", 2, 3, "unknown name qqqq"),
        ("1.0 + math.lest(x, 1.0)", 1, 7, "unknown name math"),
        ("x > 'three'", 1, 3, "'>' does not take (double, string)"),
        ("x * 2 > 6.0", 1, 3, "'*' does not take (double, int); all numbers here are doubles: write 2.0, not 2"),
        ("x in [1, 2]", 1, 3, "'in' does not take (double, list(int)); all numbers here are doubles: write 2.0, not 2"),
        ("full && x", 1, 6, "'&&' does not take (bool, double)"),
        ("x > ", 1, 5, "Syntax error: mismatched input '<EOF>'"),
        ("x = 3.0", 1, 3, "Syntax error: token recognition error at: '= '"),
    ],
)
def test_a_mistake_is_refused_with_its_place(text: str, line: int, column: int, message: str) -> None:
    *position, refused = refusal(text)
    assert position == [line, column]
    assert refused.startswith(message)


@pytest.mark.parametrize(
    ("text", "wanted", "message"),
    [
        ("x", bool, "this is a number; true or false is needed"),
        ("full", float, "this is true or false; a number is needed"),
        ("scan.schema", float, "this is a text; a number is needed"),
        (
            "size(scan.schema)",
            float,
            "this is of the type INT; all numbers here are doubles: write 2.0, not 2; a number",
        ),
        ("[x]", float, "this is of the type LIST<DOUBLE>; a number is needed"),
    ],
)
def test_a_result_of_the_wrong_type_is_refused(text: str, wanted: type, message: str) -> None:
    assert refusal(text, wanted)[2].startswith(message)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x * 2.0", 6.0),
        ("full ? scan.schema : 'none'", "shop"),
        ("full && x < 4.0", True),
        ("pool.pages > 1e4 ? 'large' : 'small'", "large"),
        ("math.least(x, 2.0)", 2.0),
    ],
)
def test_the_type_is_known_before_the_value(text: str, *, value: float | str | bool) -> None:
    expression = VOCABULARY.expression(text)
    result = expression(VALUES)
    assert (result, type(result), expression.type) == (value, type(value), type(value))


def test_a_missing_fact_is_named() -> None:
    with pytest.raises(Missing) as caught:
        VOCABULARY.expression("pool.pages * 2.0 > x")({**VALUES, "x": None})
    assert caught.value.name == "x"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x > 1.0 && !full", False),
        ("!full && x > 1.0", False),
        ("x > 1.0 || full", True),
        ("full ? 1.0 : x", 1.0),
    ],
)
def test_an_expression_settled_without_a_missing_fact_does_not_need_it(text: str, *, value: float | bool) -> None:
    assert VOCABULARY.expression(text)({**VALUES, "x": None}) == value


def test_a_failure_is_not_a_missing_fact() -> None:
    with pytest.raises(EvaluationError, match="cannot convert string to double"):
        VOCABULARY.expression("double(scan.schema) > 1.0")(VALUES)


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("scan.pages > 2.0 * pool.pages", ["scan.pages", "pool.pages"]),
        ('a == \'b.c\' && "d\\"e" != f', ["a", "f"]),
        ("math.ceil(x_1)", ["math.ceil", "x_1"]),
        ("1.5e3 > 1e3", []),
    ],
)
def test_names_are_found_in_expressions(expression: str, names: list[str]) -> None:
    assert names_in(expression) == names


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[x].all(each, each > 0.0)", "unknown name"),
        ("[x].exists(each, [x].exists(other, each > other))", "unknown name"),
        ("size([x].map(each, [each, each])) > 0", "unknown name"),
        ("scan.schema + scan.schema", "'+' does not take (string, string); texts are put together in a template"),
        ("[x] + [x] == [x]", "'+' does not take (list(double), list(double))"),
        ("b'a' + b'a' == b'a'", "'+' does not take (bytes, bytes)"),
        ("x + " * 2000 + "x", "an expression of 8,001 characters; 4,096 at most"),
        ("x + " * 900 + "x", "Exceeded max recursion depth"),
        ("(" * 500 + "x" + ")" * 500, "recursion limit exceeded"),
    ],
)
def test_what_could_multiply_or_loop_is_refused_before_it_runs(text: str, why: str) -> None:
    message = refusal(text)[2]
    assert why in message
    assert len(message) < 300


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)*b", "(.*)*x(.*)*y", "((a{30}){30}){30}"])
def test_a_regular_expression_does_not_backtrack(pattern: str) -> None:
    """RE2: linear in the text, and bounded in memory."""
    expression = VOCABULARY.expression(f"scan.schema.matches('{pattern}')")
    with contextlib.suppress(EvaluationError):
        expression({"scan.schema": "a" * LONGEST_TEXT})  # 2^4096 steps would not end


def test_a_text_that_is_too_long_fails_the_expression_that_takes_it() -> None:
    with pytest.raises(EvaluationError, match=r"scan\.schema is a text of 4,097 characters; 4,096 at most"):
        VOCABULARY.expression("scan.schema == 'a'")({"scan.schema": "a" * (LONGEST_TEXT + 1)})
