"""docs/stable-names.txt holds every name that docs/versioning.md promises, and no name of a release goes too early."""

from __future__ import annotations

import pytest

from tools.stable_names import page
from tools.stable_names.policy import TooEarly

AGAIN = "python -m tools.stable_names"


def test_every_name_of_the_code_is_written_down_and_none_is_gone() -> None:
    try:
        wanted = set(page.wanted().splitlines())
    except TooEarly as error:
        pytest.fail(str(error), pytrace=False)
    written = set(page.PAGE.read_text(encoding="utf-8").splitlines())
    changed = [
        *(f"new: {each}" for each in sorted(wanted - written)),
        *(f"gone: {each}" for each in sorted(written - wanted)),
    ]
    if changed:
        pytest.fail(
            "\n".join([*changed[:40], f"If this is meant, and docs/versioning.md allows it: {AGAIN}"]), pytrace=False
        )
