"""Durations, addresses and sizes are parsed as people write them, and refused with a clear message."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from advisor.cli.parameters import address as parse_address
from advisor.cli.parameters import duration, header, interval, labels, rate, service, shard
from advisor.files.quantities import size as parse_size


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90.0), ("60s", 60.0), ("5m", 300.0), ("1h", 3600.0), ("500ms", 0.5), (" 1.5s ", 1.5)]
)
def test_a_duration_is_in_seconds(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "0s", "-1s", "1d", "s", "one", "1 m", "1m30s", "nan", "inf"])
def test_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration such as 60s, 5m or 1h"):
        duration(text)


@pytest.mark.parametrize(
    ("text", "a_second"), [("50/s", 50.0), ("50", 50.0), ("90/m", 1.5), ("3600/h", 1.0), ("0", 0.0), (" 0.5/s ", 0.5)]
)
def test_a_rate_is_a_second(text: str, a_second: float) -> None:
    assert rate(text) == a_second


@pytest.mark.parametrize("text", ["", "-1", "1/d", "50 /s", "/s", "1e3", "nan", "inf", "9" * 400])
def test_no_rate_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a rate such as 50/s"):
        rate(text)


def test_an_interval_that_rules_would_take_for_a_gap_is_refused() -> None:
    assert interval("60s") == 60.0
    with pytest.raises(ValueError, match="'2m' is longer than 60s"):
        interval("2m")


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
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["", "9747", "127.0.0.1", "::1:9747", "host:65536", "host:-1", "host:http"])
def test_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not an address such as"):
        parse_address(text)


@pytest.mark.parametrize(("text", "size"), [("16G", 16 << 30), ("512 MiB", 512 << 20), ("4194304", 4 << 20)])
def test_a_size_is_in_bytes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "0", "16", "-1G", "G", "16X", "1e9", "nan"])
def test_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size such as 16G"):
        parse_size(text)


@pytest.mark.parametrize(
    ("parse", "text", "message"),
    [
        (labels, "cluster,na-me", "'na-me' is no name of a label"),
        (shard, "8/8", "'8/8' is not a shard such as 0/8"),
        (service, 'cluster="aws"=ibm', "is not a selector and one of"),
        (service, "{}=rds", "names no servers"),
        (header, "X-Scope-OrgID", "it has to be a header in a line"),
        (header, "@absent", "cannot read absent: No such file or directory"),
    ],
)
def test_what_names_no_servers_and_no_headers_is_refused(
    parse: Callable[[str], object], text: str, message: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        parse(text)


def test_headers_stand_in_a_file_too(tmp_path: Path) -> None:
    path = tmp_path / "headers"
    path.write_text("X-Scope-OrgID: team-a\n\nAuthorization: Bearer secret\n")
    assert header(f"@{path}") == (("X-Scope-OrgID", "team-a"), ("Authorization", "Bearer secret"))
    assert header("X-Scope-OrgID: team-a") == (("X-Scope-OrgID", "team-a"),)
