"""Durations, addresses and sources are understood as people write them, and refused clearly."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from advisor.cli.options import Where
from advisor.cli.parameters import Address, Duration, Interval, Size
from exporter.connection.target import TargetError


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90.0), ("60s", 60.0), ("5m", 300.0), ("1h", 3600.0), ("500ms", 0.5), (" 1.5s ", 1.5)]
)
def test_a_duration_is_in_seconds(text: str, seconds: float) -> None:
    assert Duration().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "0", "0s", "-1s", "1d", "s", "one", "1 m", "1m30s", "nan", "inf"])
def test_no_duration_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a duration such as 60s, 5m or 1h"):
        Duration().convert(text, None, None)


def test_an_interval_that_rules_would_take_for_a_gap_is_refused() -> None:
    assert Interval().convert("60s", None, None) == 60.0
    with pytest.raises(click.BadParameter, match="'2m' is longer than 60s"):
        Interval().convert("2m", None, None)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9747", ("127.0.0.1", 9747)),
        (":9747", ("", 9747)),
        ("[::1]:0", ("::1", 0)),
        ("db-1.internal:80", ("db-1.internal", 80)),
    ],
)
def test_an_address_is_host_and_port(text: str, address: tuple[str, int]) -> None:
    assert Address().convert(text, None, None) == address


@pytest.mark.parametrize("text", ["", "9747", "127.0.0.1", "::1:9747", "host:65536", "host:-1", "host:http"])
def test_no_address_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not an address such as"):
        Address().convert(text, None, None)


@pytest.mark.parametrize(("text", "size"), [("16G", 16 << 30), ("512 MiB", 512 << 20), ("4194304", 4 << 20)])
def test_a_size_is_in_bytes(text: str, size: int) -> None:
    assert Size().convert(text, None, None) == size


@pytest.mark.parametrize("text", ["", "0", "16", "-1G", "G", "16X", "1e9", "nan"])
def test_no_size_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a size such as 16G"):
        Size().convert(text, None, None)


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("INNODB_ADVISOR_DSN", "INNODB_ADVISOR_PASSWORD"):
        monkeypatch.delenv(name, raising=False)


def test_the_dsn_may_stand_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INNODB_ADVISOR_DSN", "mysql://me@db:3307")
    target = Where.of(None, None, None, None).server()
    assert target is not None
    assert (target.user, target.address) == ("me", "db:3307")


def test_a_dsn_that_is_given_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INNODB_ADVISOR_DSN", "mysql://me@db:3307")
    target = Where.of("mysql://other@host", None, None, None).server()
    assert target is not None
    assert target.address == "host:3306"


def test_a_recording_does_not_mind_a_dsn_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INNODB_ADVISOR_DSN", "mysql://me@db:3307")
    assert Where.of(None, None, None, Path("file")) == Where(Path("file"), None)


@pytest.mark.parametrize("dsn", [None, ""])
def test_a_source_is_needed(dsn: str | None) -> None:
    with pytest.raises(click.UsageError, match="name a server with --dsn"):
        Where.of(dsn, None, None, None)


def test_a_recording_stands_alone() -> None:
    with pytest.raises(click.UsageError, match="--recording stands alone"):
        Where.of("mysql://host", None, None, Path("file"))


def test_a_password_in_the_dsn_is_refused_and_not_repeated() -> None:
    with pytest.raises(TargetError) as caught:
        Where.of("mysql://me:hunter2@host", None, None, None)
    assert "hunter2" not in str(caught.value)
