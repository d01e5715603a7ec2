"""The version of the forecast: what is taken, what is assumed, and what is refused with a cure."""

from __future__ import annotations

import pickle

import pytest

from advisor.upgrade.target import UpgradeRefused, assumptions, bugs_on_the_way, series_after, target
from exporter.server import Server, Version, identify

TABLES, ROUTINES = "MySQL bug 115517", "MySQL bug 118101"
NO_FIX = "no release is known to fix it"


def server(version: str, **variables: str) -> Server:
    return identify({"version": version, **variables})


@pytest.mark.parametrize(
    ("before", "text", "version", "shown"),
    [
        ("8.0.28", "8.4.6", (8, 4, 6), "mysql 8.4.6"),
        ("8.0.28", " MySQL 8.4.5-log ", (8, 4, 5), "mysql 8.4.5"),
        ("8.0.28", "8.4", (8, 4, 6), "mysql 8.4"),
        ("8.0.28", "8.0", (8, 0, 43), "mysql 8.0"),
        ("5.6.24", "9.7", (9, 7, 0), "mysql 9.7"),
        ("9.7.4", "9.7.5", (9, 7, 5), "mysql 9.7.5"),
        ("9.7.4", "26.10", (26, 10, 0), "mysql 26.10"),
        ("10.5.23-MariaDB", "11.8", (11, 8, 9), "mariadb 11.8"),
        ("10.5.23-MariaDB", "mariadb-10.6.3", (10, 6, 3), "mariadb 10.6.3"),
        ("11.8.9-MariaDB", "13.1", (13, 1, 0), "mariadb 13.1"),
    ],
)
def test_a_series_stands_for_its_newest_patch(before: str, text: str, version: Version, shown: str) -> None:
    after = target(server(before), text)
    assert (after.version, str(after)) == (version, shown)


def test_all_but_the_version_stays() -> None:
    before = server("8.0.43-35", version_comment="Percona Server (GPL)", performance_schema="ON", basedir="/rdsdbbin/a")
    after = target(before, "8.4.6")
    assert (after.flavour, after.managed, after.performance_schema) == ("percona", "rds", True)


@pytest.mark.parametrize(
    ("before", "text", "reason"),
    [
        ("8.0.43", "", "'' is not a version"),
        ("8.0.43", "newest", "'newest' is not a version"),
        ("8.0.43", "8", "'8' is not a version"),
        ("8.0.43-log", "8.0.43", "the server has 8.0.43-log already"),
        ("8.0.43", "8.0", "the server has 8.0.43 already"),
        ("8.4.8", "8.4", "the server has 8.4.8 already"),
        ("8.4.8", "8.4.6", "8.4.6 is older than the server's 8.4.8"),
        ("8.4.8", "8.0", "8.0 is older than the server's 8.4.8"),
        ("8.0.43", "8.5", "MySQL has no series 8.5"),
        ("9.7.4", "9.9", "MySQL has no series 9.9"),
        ("10.11.18-MariaDB", "10.12", "MariaDB has no series 10.12"),
        ("8.0.43", "11.8", "11.8 is a version of MariaDB, and this server is MySQL"),
        ("8.0.43", "13.1", "13.1 is a version of MariaDB, and this server is MySQL"),
        ("8.0.43", "8.4.6-MariaDB", "8.4 is a version of MariaDB, and this server is MySQL"),
        ("10.11.18-MariaDB", "8.4", "8.4 is a version of MySQL, and this server is MariaDB"),
        ("10.11.18-MariaDB", "26.7", "26.7 is a version of MySQL, and this server is MariaDB"),
    ],
)
def test_a_version_without_a_forecast_is_refused_with_a_cure(before: str, text: str, reason: str) -> None:
    with pytest.raises(UpgradeRefused) as raised:
        target(server(before), text)
    assert raised.value.reason == reason
    assert raised.value.cure
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)  # noqa: S301 - made here


def test_aurora_has_versions_of_its_own() -> None:
    with pytest.raises(UpgradeRefused, match="Aurora's InnoDB has versions of its own"):
        target(server("8.0.39", aurora_version="3.08.0"), "8.4")


@pytest.mark.parametrize(
    ("before", "text", "sentences"),
    [
        ("8.0.28", "8.4.6", []),
        ("8.0.28", "8.4", ["8.4 stands for its patch 8.4.6 and later ones"]),
        ("8.0.28", "9.7.4", ["goes through 8.4 first"]),
        ("5.6.24", "9.7", ["goes through 5.7, 8.0, 8.4 first"]),
        ("8.3.0", "9.2.0", ["goes through 8.4 first"]),
        ("8.4.8", "26.10", ["goes through 9.7 first"]),
        ("10.5.23-MariaDB", "11.8.9", []),
    ],
)
def test_what_is_taken_for_granted_is_said(before: str, text: str, sentences: list[str]) -> None:
    assumed = assumptions(server(before), target(server(before), text))
    assert len(assumed) == len(sentences)
    assert all(part in sentence for part, sentence in zip(sentences, assumed, strict=True))


def test_a_newer_series_is_assumed_to_be_like_the_last_one() -> None:
    assert target(server("9.7.4"), "26.7").behaves_like == "9.7"
    assert target(server("8.0.43"), "9.7").behaves_like is None


def test_the_choice_begins_with_the_servers_own_series() -> None:
    assert series_after(server("9.5.0")) == ("9.5", "9.6", "9.7")
    assert series_after(server("11.8.2-MariaDB"))[:2] == ("11.8", "12.0")


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
