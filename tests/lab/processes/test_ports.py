"""Ports for servers that restart."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from lab.processes import ports

SEVERAL = 4


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> int:
    """The first of SEVERAL consecutive ports outside the range of outgoing connections."""
    monkeypatch.setattr(ports, "HOST", "127.1.2.3")  # where nobody else listens
    first = 20_000
    range_ = tmp_path / "ip_local_port_range"
    range_.write_text(f"{first + SEVERAL}\t60999\n")
    monkeypatch.setattr(ports, "_OUTGOING", range_)
    monkeypatch.setattr(ports, "_LOWEST", first)
    return first


def test_a_free_port_is_outside_the_outgoing_range() -> None:
    first_outgoing = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert 10_000 <= ports.free_port() < first_outgoing


def test_a_taken_port_is_skipped(few: int) -> None:
    with ExitStack() as stack:
        listeners = [stack.enter_context(socket.create_server((ports.HOST, ports.free_port()))) for _ in range(SEVERAL)]
        assert {each.getsockname()[1] for each in listeners} == set(range(few, few + SEVERAL))
        with pytest.raises(OSError, match=f"no port of {ports.HOST} is free"):
            ports.free_port()


def test_any_port_will_do_if_outgoing_connections_have_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "all").write_text("1024 65535\n")
    monkeypatch.setattr(ports, "_OUTGOING", tmp_path / "all")
    assert ports.free_port() >= 1024
