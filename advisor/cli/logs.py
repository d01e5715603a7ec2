"""The log: one line a record, and nothing in it that a terminal obeys. It quotes servers, files and rules."""

from __future__ import annotations

import logging
from typing import Any

from advisor.contract.visible import visible

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class _Formatter(logging.Formatter):
    """Writes a message in one line. Lines of a traceback are indented: none looks like another record."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        return visible(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802 - logging's name
        return _indented(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:  # noqa: N802 - logging's name
        return _indented(super().formatStack(stack_info))


def _indented(text: str) -> str:
    return "\n".join(f"  {visible(line)}" for line in text.split("\n"))


def formatter(template: str = _FORMAT) -> logging.Formatter:
    """Writes records as lines that show."""
    return _Formatter(template)


def begin(level: int) -> None:
    """Log from this level on, to standard error."""
    logging.getLogger("httpcore").setLevel(logging.WARNING)  # else a line for each step of a request
    handler = logging.StreamHandler()
    handler.setFormatter(formatter())
    logging.basicConfig(level=level, handlers=[handler])


def warn_only() -> None:
    """Show warnings, without their time: for a command that ends soon."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(formatter("%(message)s"))
