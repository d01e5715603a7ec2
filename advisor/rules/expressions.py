"""CEL expressions, checked against the known names and types when a rule is loaded, and evaluated without I/O.

The library is Google's C++ implementation, cel-expr-python. It rejects a misspelt name or a wrong type before anything
is evaluated, with line and column, and evaluates in about 3 µs. cel-python 0.5 compiles both without an error and takes
190 µs; common-expression-language 0.10 cannot declare types.

An evaluation holds the interpreter's lock and cannot be stopped. So its work is bounded beforehand: no macros, which
are CEL's only loops; no texts or lists put together, which could double with each ``let``; RE2 for regular expressions.
It is then linear in the length of the expression and of the texts that it takes.
"""

from __future__ import annotations

import difflib
import functools
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cel_expr_python import cel

from advisor.contract.templates import FactValue

_Kind = type[float] | type[str] | type[bool]
_TYPES = {float: cel.Type.DOUBLE, str: cel.Type.STRING, bool: cel.Type.BOOL}
_PYTHON: dict[str, type] = {"DOUBLE": float, "STRING": str, "BOOL": bool}

_LIBRARY = """
stdlib:
  disable_macros: true
  exclude_functions: [{name: _+_, overloads: [{id: add_string}, {id: add_bytes}, {id: add_list}]}]
extensions: [{name: math}]
"""
"""math.greatest and similar functions, built into the library. Its module ext_math is a copy of 3 MB."""

LONGEST_EXPRESSION = 4096
"""Characters of an expression; the longest built-in one has 500."""
LONGEST_TEXT = 4096
"""Characters of a text that an expression takes, such as a table's name or a setting."""

_ERROR = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*?)(?: \(in container ''\))?$", re.MULTILINE)
_MISSING = re.compile(r'No value with name "([^"]+)"')
_NAME = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|\d[\w.]*|([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)')
_OPERATORS = {"_&&_": "&&", "_||_": "||", "_?_:_": "? :", "!_": "!", "-_": "-", "@in": "in", "_[_]": "[]"}


class ExpressionError(ValueError):
    """An expression that cannot be used.

    Attributes:
        line, column: Position in the expression, both from 1.
    """

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class Missing(Exception):
    """The value depends on a fact that is not known: ``name``."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class EvaluationError(Exception):
    """The evaluation failed, and not because a fact is missing."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A checked expression.

    Attributes:
        type: float, str or bool.
        names: The names in the text, in their order.
    """

    text: str
    type: type
    names: tuple[str, ...]
    _bound: Mapping[str, _Kind]
    _program: Any

    def __call__(self, values: Mapping[str, FactValue | None]) -> FactValue:
        """The value for the known ones among ``values``.

        Raises:
            Missing: It depends on one that is None; ``false && x`` does not depend on x.
            EvaluationError: The evaluation failed, or a text is too long.
        """
        data = dict(self._known(values))
        try:
            result = self._program.eval(data=data)
            value, kind = result.value(), result.type().name()
        except Exception as error:  # noqa: BLE001 - whatever the library raises
            raise EvaluationError(f"{_shown(self.text)}: {error}") from None
        if kind in _PYTHON:
            return self.type(value)  # type: ignore[no-any-return]
        missing = _MISSING.search(str(value))
        if missing:
            raise Missing(missing[1])
        raise EvaluationError(f"{_shown(self.text)}: {value}")

    def _known(self, values: Mapping[str, FactValue | None]) -> Iterator[tuple[str, FactValue]]:
        for name, kind in self._bound.items():
            value = values.get(name)
            if isinstance(value, str) and len(value) > LONGEST_TEXT:
                raise EvaluationError(f"{name} is a text of {len(value):,} characters; {LONGEST_TEXT:,} at most")
            if value is not None:
                yield name, kind(value)  # Python accepts an int as a float; CEL does not


class Vocabulary:
    """The names that expressions may use, with their types."""

    def __init__(self, names: Mapping[str, type]) -> None:
        self.names = dict(names)
        self._environment = cel.NewEnv(
            config=_library(), variables={name: _TYPES[kind] for name, kind in names.items()}
        )

    def expression(self, text: str, types: tuple[type, ...] = (float, str, bool)) -> Expression:
        """Check an expression.

        Args:
            text: CEL.
            types: Those it may have.

        Raises:
            ExpressionError: A syntax error, an unknown name, a wrong type, an unwanted result, or too long a text.
        """
        if len(text) > LONGEST_EXPRESSION:  # the library takes seconds to refuse 10,000 characters
            raise ExpressionError(f"an expression of {len(text):,} characters; {LONGEST_EXPRESSION:,} at most")
        try:
            program = self._environment.compile(text)
        except RuntimeError as error:
            raise self._explain(text, str(error)) from None
        kind = _PYTHON.get(program.return_type().name())
        if kind not in types:
            words = " or ".join(map(_word, types))
            raise ExpressionError(f"this is {_article(program.return_type().name())}; {words} is needed")
        checked = program.serialize()
        # A cheap test that misses no name of the program, but may find one too many.
        bound = {name: kind for name, kind in self.names.items() if name.encode() in checked}
        names = tuple(dict.fromkeys(name for name in names_in(text) if name in self.names))
        return Expression(text, kind, names, bound, _runtime().deserialize(checked))

    def _explain(self, expression: str, message: str) -> ExpressionError:
        error = _ERROR.search(message)
        if error is None:
            return ExpressionError(_shown(message))
        line, column, text = int(error[1]), int(error[2]), error[3]
        unknown = re.fullmatch(r"undeclared reference to '([^']+)'", text)
        if unknown:
            name = unknown[1]
            column = _start(expression, line, column, name)
            text = f"unknown name {name}{self._suggestion(name)}"
        overload = re.match(r"found no matching overload for '([^']+)' applied to '\(([^']*)\)'", text)
        if overload:
            operator = _OPERATORS.get(overload[1], overload[1].strip("_"))
            column = _start(expression, line, column, operator)
            text = f"'{operator}' does not take ({overload[2]})"
            if overload[1] == "_+_" and {*overload[2].split(", ")} & {"string", "bytes"}:
                text += "; texts are put together in a template, such as the summary"
            elif "int" in overload[2]:
                text += "; all numbers here are doubles: write 2.0, not 2"
        return ExpressionError(text, line, column)

    def _suggestion(self, name: str) -> str:
        near = difflib.get_close_matches(name, self.names, n=1)
        return f"; did you mean {near[0]}?" if near else ""


def names_in(expression: str) -> list[str]:
    """The names in an expression, functions among them."""
    return [match[1] for match in _NAME.finditer(expression) if match[1]]


@functools.cache
def _library() -> cel.EnvConfig:
    return cel.NewEnvConfigFromYaml(_LIBRARY)


@functools.cache
def _runtime() -> cel.Env:
    """The environment that all expressions run in, whatever names they were checked against.

    A program keeps the environment alive that compiled it, and each environment takes 0.3 MB.
    """
    return cel.NewEnv(config=_library())


def _start(expression: str, line: int, column: int, name: str) -> int:
    """The column where a name begins. CEL points at the last dot of a qualified name."""
    begin = expression.split("\n")[line - 1].rfind(name, 0, column - 1 + len(name))
    return column if begin < 0 else begin + 1


def _shown(text: str) -> str:
    """A text on one line, shortened."""
    return textwrap.shorten(text, 200, placeholder=" …")


def _word(kind: type) -> str:
    return {float: "a number", str: "a text", bool: "true or false"}[kind]


def _article(cel_name: str) -> str:
    kind = _PYTHON.get(cel_name)
    if kind:
        return _word(kind)
    hint = "; all numbers here are doubles: write 2.0, not 2" if cel_name in ("INT", "UINT") else ""
    return f"of the type {cel_name}{hint}"
