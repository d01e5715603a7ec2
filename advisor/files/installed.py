"""What comes with this installation, beside the code."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parents[1]


def installed(inside: str, beside: str) -> Path:
    """A file or a folder: inside the wheel, or beside the sources.

    Args:
        inside: Its path in the wheel, in the folder of this package (pyproject.toml: force-include).
        beside: Its path in the repository.
    """
    found = _PACKAGE / inside
    return found if found.exists() else _PACKAGE.parent / beside
