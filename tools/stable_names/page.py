"""docs/stable-names.txt: what is written down, and what it must be."""

from __future__ import annotations

from exporter import __version__
from lab.packages.cache import REPOSITORY
from tools.stable_names import policy, sources

PAGE = REPOSITORY / "docs" / "stable-names.txt"
CHANGELOG = REPOSITORY / "CHANGELOG.md"


def released(version: str, changelog: str) -> bool:
    """Whether the changelog has a version as released: its heading does not say that it is not."""
    return f"## {version} (unreleased)" not in changelog.splitlines()


def wanted() -> str:
    """What the file must hold.

    Raises:
        TooEarly: Names of a release are gone.
    """
    written = policy.parse(PAGE.read_text(encoding="utf-8") if PAGE.is_file() else "")
    done = released(__version__, CHANGELOG.read_text(encoding="utf-8"))
    names = policy.renewed(written, sources.found(), __version__, released=done)
    return "".join(f"{each}\n" for each in names)


def write() -> None:
    """Write the file. Raises TooEarly as `wanted` does."""
    PAGE.write_text(wanted(), encoding="utf-8")
