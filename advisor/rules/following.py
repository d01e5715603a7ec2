"""Rules and suppressions that are loaded anew when their files change: an edit, or an update of a mounted ConfigMap."""

from __future__ import annotations

import asyncio
import contextlib
import logging

from advisor.files.yaml_file import FileError
from advisor.rules.rulebook import Rulebook

log = logging.getLogger(__name__)

LOOK_SECONDS = 10.0
"""Time between two looks at the files."""


async def follow(book: Rulebook) -> None:
    """Look until cancelled. What cannot be loaded is not tried again before another change."""
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        try:
            await asyncio.to_thread(_look, book)
        except Exception:  # whatever it is, the next look may go well
            log.exception("cannot tell whether the rules have changed")


def _look(book: Rulebook) -> None:
    if book.changed():
        with contextlib.suppress(FileError):  # the log says it
            book.reload()
