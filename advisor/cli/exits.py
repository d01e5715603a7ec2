"""How commands end: exit codes, the message for unusable input, and the end of --help."""

from __future__ import annotations

import click

FINDINGS, UNUSABLE, INTERRUPTED = 1, 2, 130
_EXIT_CODES = """

\b
Exit codes:
  0    done
  1    advise, fleet, grade, history: --fail-on applies; check: a source cannot be read; rules test: a case failed
  2    the input cannot be used; the message says why
  130  interrupted
"""


class Unusable(click.ClickException):
    """Input that cannot be used: one clear message, and exit code 2."""

    exit_code = UNUSABLE


def epilog(*examples: str) -> str:
    """The end of a command's help: examples and exit codes, with marks that keep click from rewrapping the lines."""
    lines = "\n".join(f"  innodb-advisor {example}" for example in examples)
    return f"\b\nExamples:\n{lines}\n{_EXIT_CODES}"
