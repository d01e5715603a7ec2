"""The options name one server or one recording."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from advisor.cli.options import SourceOptions, named_source
from exporter.connection.target import TargetError


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("INNODB_ADVISOR_DSN", "INNODB_ADVISOR_PASSWORD"):
        monkeypatch.delenv(name, raising=False)


def test_the_dsn_may_stand_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INNODB_ADVISOR_DSN", "mysql://me@db:3307")
    target = named_source(None, None, None, None).server()
    assert target is not None
    assert (target.user, target.address) == ("me", "db:3307")


def test_a_dsn_that_is_given_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INNODB_ADVISOR_DSN", "mysql://me@db:3307")
    target = named_source("mysql://other@host", None, None, None).server()
    assert target is not None
    assert target.address == "host:3306"


def test_a_recording_does_not_mind_a_dsn_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INNODB_ADVISOR_DSN", "mysql://me@db:3307")
    assert named_source(None, None, None, Path("file")) == SourceOptions(Path("file"), None)


@pytest.mark.parametrize("dsn", [None, ""])
def test_a_source_is_needed(dsn: str | None) -> None:
    with pytest.raises(click.UsageError, match="name a server with --dsn"):
        named_source(dsn, None, None, None)


def test_a_recording_stands_alone() -> None:
    with pytest.raises(click.UsageError, match="--recording stands alone"):
        named_source("mysql://host", None, None, Path("file"))


def test_a_password_in_the_dsn_is_refused_and_not_repeated() -> None:
    with pytest.raises(TargetError) as caught:
        named_source("mysql://me:hunter2@host", None, None, None)
    assert "hunter2" not in str(caught.value)
