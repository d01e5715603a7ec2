"""Who else holds an alert, by what Alertmanager knows of it: on a clock of the test's own."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from advisor.alerting.alert import Alert
from advisor.alerting.claims import Claims
from advisor.alerting.timetable import LIFETIME, RETENTION_SECONDS

RESEND = 60.0
LABELS = {"alertname": "InnoDBAdvice", "instance": "db1:3306", "rule": "a"}


class Sidecar:
    """One that asks an Alertmanager, and then tells it; ``knows`` is the end that Alertmanager has."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.123
        self.knows: float | None = None
        self.claims = Claims(lambda: self.now)

    def alert(self, ends_at: float) -> Alert:
        return Alert(LABELS, {}, self.now - 600, ends_at, "http://a/advise/1")

    def hear(self) -> None:
        active = [] if self.knows is None or self.knows <= self.now else [self.knows]
        answer = [{"labels": LABELS, "endsAt": written(each), "status": {"state": "active"}} for each in active]
        self.claims.hear(json.dumps(answer).encode())

    def holds(self) -> None:
        """It sends the alert once more."""
        self.hear()
        sent = self.now + LIFETIME * RESEND
        self.claims.tell([self.alert(sent)])
        self.knows = max(self.knows or 0.0, sent)

    def another_holds(self) -> None:
        self.knows = max(self.knows or 0.0, self.now + LIFETIME * RESEND)

    def may_end(self) -> bool:
        """Whether it may send the end now."""
        self.hear()
        return not self.claims.forbid(self.alert(self.now))


def written(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@pytest.fixture
def sidecar() -> Sidecar:
    return Sidecar()


def test_alone_it_ends_its_alert_at_once(sidecar: Sidecar) -> None:
    for _ in range(3):
        sidecar.holds()
        sidecar.now += RESEND
    assert sidecar.may_end()


@pytest.mark.parametrize("phase", [1.0, 30.0, 59.0])
def test_it_ends_no_alert_that_another_sends_too(sidecar: Sidecar, phase: float) -> None:
    for _ in range(2):
        sidecar.holds()
        sidecar.now += phase
        sidecar.another_holds()
        sidecar.now += RESEND - phase
    sidecar.holds()  # Alertmanager has its own end now
    sidecar.now += 0.5
    assert not sidecar.may_end()


def test_it_ends_what_another_has_left(sidecar: Sidecar) -> None:
    sidecar.holds()
    sidecar.now += 30
    sidecar.another_holds()
    sidecar.now += 30
    sidecar.holds()
    sidecar.now += LIFETIME * RESEND - 31
    assert not sidecar.may_end()
    sidecar.now += 2
    assert sidecar.may_end()


def test_it_does_not_repeat_an_end_once_another_has_begun_the_alert_anew(sidecar: Sidecar) -> None:
    sidecar.holds()
    ended = sidecar.alert(sidecar.now)
    sidecar.claims.tell([ended])
    sidecar.knows = None
    sidecar.now += 2 * RESEND
    sidecar.claims.tell([])
    sidecar.another_holds()
    sidecar.hear()
    assert sidecar.claims.forbid(ended)


def test_what_it_told_itself_before_a_restart_or_another_time_is_nobodys_claim(sidecar: Sidecar) -> None:
    sidecar.holds()
    sidecar.claims = Claims(lambda: sidecar.now)  # it starts anew
    sidecar.now += 30
    sidecar.holds()
    sidecar.now -= 3600  # the clock is set back: Alertmanager still has the later end
    sidecar.holds()
    assert sidecar.may_end()


def test_alerts_of_others_are_no_claims_and_old_ones_are_forgotten(sidecar: Sidecar) -> None:
    sidecar.another_holds()
    assert sidecar.may_end()
    sidecar.claims.tell([sidecar.alert(sidecar.now)])
    sidecar.now += RETENTION_SECONDS + 1
    sidecar.claims.tell([])
    sidecar.another_holds()
    assert sidecar.may_end()


@pytest.mark.parametrize("answer", [b"", b"{}", b"[1]", b'[{"labels": {}, "endsAt": "soon"}]', b"[" * 100_000])
def test_an_answer_of_something_else_is_refused(sidecar: Sidecar, answer: bytes) -> None:
    with pytest.raises(ValueError, match="validation error"):
        sidecar.claims.hear(answer)
