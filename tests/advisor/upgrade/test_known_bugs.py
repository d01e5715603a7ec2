"""An upgrade names the bugs that it meets, of the version that has them."""

from __future__ import annotations

import pytest

from advisor.upgrade.forecast import forecast
from advisor.upgrade.known_bugs import bugs_on_the_way
from tests.advisor.building import captured, server

TABLES, ROUTINES = "MySQL bug 115517", "MySQL bug 118101"
NO_FIX = "no release is known to fix it"


@pytest.mark.parametrize(
    ("before", "after", "bugs"),
    [
        ("8.0.36", "8.0.38", [f"{TABLES} of 8.0.38; fixed in 8.0.39", f"{ROUTINES} of 8.0.38; {NO_FIX}"]),
        ("8.0.36", "8.4.6", [f"{ROUTINES} of 8.4.6; {NO_FIX}"]),
        ("5.7.44", "8.0.36", []),
        ("10.5.18-MariaDB", "11.8.9-MariaDB", ["MDEV-30009 of 10.5.18-MariaDB; fixed in 10.5.19"]),
        ("10.5.18-MariaDB", "10.11.18-MariaDB", []),
        ("10.11.18-MariaDB", "11.8.9-MariaDB", []),
    ],
)  # fmt: skip
def test_the_bugs_of_both_versions_are_named(before: str, after: str, bugs: list[str]) -> None:
    sentences = list(bugs_on_the_way(server(before), server(after)))
    assert [sentence.rpartition("(")[2].removesuffix(")") for sentence in sentences] == bugs


def test_a_forecast_warns_of_them() -> None:
    assert any(TABLES in warning for warning in forecast(captured("mysql-8.0/idle"), "8.4.1").warnings)
