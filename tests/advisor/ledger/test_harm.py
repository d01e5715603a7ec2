"""A change that did harm stands as a fact while the setting has the value that did it."""

from __future__ import annotations

from typing import Any

from advisor.ledger.entry import Changed, Compared, Outcome, Result
from advisor.ledger.harm import harms
from exporter.snapshot import Snapshot
from tests.advisor.building import BOOTED, server, snapshot, variables

PCT, TIME, SIZE = "innodb_old_blocks_pct", "innodb_old_blocks_time", "innodb_buffer_pool_size"


def outcome(at: float, *changes: Changed, **keys: Any) -> Outcome:
    known: dict[str, Any] = {
        "id": f"{at}",
        "at": BOOTED + at,
        "changes": changes,
        "result": Result.UNPROMISED,
        "others": (rise(of="hot", before=0.25, after=812.0, noise=3.0),),
    }
    return Outcome(**(known | keys))


def rise(of: str, before: float, after: float, noise: float, *, worse: bool = True) -> Compared:
    return Compared(
        quantity="pages read per second",
        unit="pages per second",
        subject={"schema": "shop", "table": of},
        before=before,
        after=after,
        noise=noise,
        worse=worse,
    )


def pct(before: float, after: float) -> Changed:
    return Changed(setting=PCT, before=before, after=after)


def today(**settings: str) -> Snapshot:
    return snapshot(1000, variables=variables(**settings))


HARMED = outcome(400, pct(37, 95))


def test_a_change_that_did_harm_has_its_numbers_and_the_way_back() -> None:
    [harm] = harms([HARMED], today(innodb_old_blocks_pct="95"))
    assert harm.subject == {"setting": PCT}
    assert (harm.changed, harm.changed_at) == (f"{PCT} from 37 to 95", "2023-11-14 22:20 UTC")
    assert (harm.seconds, harm.advised, harm.rules) == (600.0, False, "")
    assert (harm.quantity, harm.unit) == ("pages read per second of shop.hot", "pages per second")
    assert (harm.before, harm.after, harm.noise, harm.count) == (0.25, 812.0, 3.0, 1.0)
    assert harm.worse == "pages read per second of shop.hot rose from 0.25 to 812"
    assert harm.can_be_taken_back
    assert harm.take_back == {PCT: 37.0}


def test_it_ends_with_the_value_that_did_it() -> None:
    assert harms([HARMED], today(innodb_old_blocks_pct="37")) == []
    assert harms([HARMED], today(innodb_old_blocks_pct="50")) == []


def test_of_several_changes_to_the_same_value_only_the_newest_counts() -> None:
    back = outcome(500, pct(95, 37), others=())
    again = outcome(600, pct(37, 95), others=(), result=Result.OPEN)
    assert harms([HARMED, back, again], today(innodb_old_blocks_pct="95")) == []
    assert harms([again.model_copy(update={"others": HARMED.others}), back, HARMED], today(innodb_old_blocks_pct="95"))


def test_what_got_worse_with_other_work_is_no_harm() -> None:
    assert harms([HARMED.model_copy(update={"result": Result.NOT_COMPARABLE})], today(innodb_old_blocks_pct="95")) == []


def test_a_change_without_harm_is_none() -> None:
    better = outcome(400, pct(37, 95), others=(rise("hot", 812.0, 0.25, 3.0, worse=False),))
    assert harms([better], today(innodb_old_blocks_pct="95")) == []


def test_the_outcomes_that_findings_have_of_one_change_are_one_harm() -> None:
    clearest = rise("sessions", 5.0, 900.0, 1.0)
    asked = outcome(400, pct(37, 95), id="a", rule="scan-exceeds-old-sublist", followed=True)
    other = outcome(400, pct(37, 95), id="b", rule="old-blocks-time-zero", others=(*HARMED.others, clearest))
    [harm] = harms([other, asked], today(innodb_old_blocks_pct="95"))
    assert (harm.advised, harm.rules, harm.count) == (True, "old-blocks-time-zero, scan-exceeds-old-sublist", 2.0)
    assert harm.quantity == "pages read per second of shop.hot"


def test_several_settings_that_changed_at_once_are_taken_back_together() -> None:
    both = outcome(400, pct(37, 95), Changed(setting=TIME, before=1000.0, after=0.0))
    [harm] = harms([both], today(innodb_old_blocks_pct="95", innodb_old_blocks_time="0"))
    assert (harm.setting, harm.take_back) == (f"{PCT}, {TIME}", {PCT: 37.0, TIME: 1000.0})
    assert harm.changed == f"{PCT} from 37 to 95; {TIME} from 1000 to 0"
    assert harms([both], today(innodb_old_blocks_pct="95", innodb_old_blocks_time="1000")) == []


def test_bytes_are_shown_exactly_in_binary_units() -> None:
    smaller = outcome(400, Changed(setting=SIZE, before=8 * 2.0**30, after=100 * 2.0**20))
    [harm] = harms([smaller], today(innodb_buffer_pool_size=f"{100 * 2**20}"))
    assert harm.changed == f"{SIZE} from 8 GiB to 100 MiB"


def test_an_earlier_value_that_the_server_refuses_cannot_be_taken_back() -> None:
    moved = outcome(400, Changed(setting="innodb_change_buffering", before="inserts", after="none"))
    [harm] = harms([moved], today(innodb_change_buffering="none"))
    assert (harm.can_be_taken_back, harm.refusal) == (True, "")
    unknown = outcome(400, Changed(setting="innodb_change_buffering", before=None, after="none"))
    [harm] = harms([unknown], today(innodb_change_buffering="none"))
    assert (harm.can_be_taken_back, harm.take_back) == (False, {})
    assert harm.refusal == "an earlier value is not known"
    without = snapshot(1000, of=server("11.8.2-MariaDB"), variables=variables(innodb_change_buffering="none"))
    [harm] = harms([moved], without)
    assert not harm.can_be_taken_back
    assert harm.refusal.endswith("has no innodb_change_buffering")
    corrupting = snapshot(1000, of=server("10.11.18-MariaDB"), variables=variables(innodb_change_buffering="none"))
    [harm] = harms([moved], corrupting)
    assert "corrupted secondary indexes" in harm.refusal


def test_the_newest_change_comes_first() -> None:
    earlier = outcome(300, Changed(setting=TIME, before=1000.0, after=0.0))
    newest_first = harms([earlier, HARMED], today(innodb_old_blocks_pct="95", innodb_old_blocks_time="0"))
    assert [harm.setting for harm in newest_first] == [PCT, TIME]
