"""Cases in which the change buffer rules must be silent and that lab/proofs does not cover."""

from __future__ import annotations

from collections.abc import Callable

from advisor.advice import evaluation
from lab.measurement import pages_read
from lab.observation import observed_window, rules
from lab.proofs import insert_load
from lab.servers import Server

WOULD_HELP = "change-buffering-would-help"


def test_buffering_is_not_advised_for_pages_that_queries_read(start_server: Callable[..., Server]) -> None:
    server = start_server("mysql-9.7", **insert_load.PREPARING, **insert_load.UNBUFFERED)
    insert_load.prepare(server)

    def mostly_look_up() -> None:
        insert_load.look_up(server, 600)
        insert_load.insert(server, 5)

    before = pages_read(server)
    [rule] = [each for each in rules() if each.id == WOULD_HELP]
    advice = evaluation.advise([rule], observed_window(server, mostly_look_up, 3), beside=rules())
    assert pages_read(server) - before > 1_000
    assert not advice.failed
    assert not advice.blind
    assert not advice.recommendations
