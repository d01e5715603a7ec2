"""What a sentence of another adviser asks for, and what the record of the peers keeps of it."""

from __future__ import annotations

import pytest

from advisor.contract.settings import SettingValue
from lab.harness import records
from lab.peers.advisers import MIB, OURS, PeerSentence, of_mysqltuner
from lab.peers.record import PeersRecord
from lab.peers.trial import GROUP, study

LINES: dict[str, tuple[str, SettingValue | None]] = {
    "innodb_buffer_pool_size (>= 58.6M) if possible.": ("innodb_buffer_pool_size", 64.0 * MIB),
    "innodb_redo_log_capacity should be (=8M) if possible, so InnoDB Redo log Capacity equals 25%": (
        "innodb_redo_log_capacity",
        8.0 * MIB,
    ),
    "innodb_log_file_size should be (=16M) if possible": ("innodb_log_file_size", 16.0 * MIB),
    "innodb_buffer_pool_instances (=1)": ("innodb_buffer_pool_instances", 1.0),
    "SET innodb_stats_on_metadata = OFF": ("innodb_stats_on_metadata", "OFF"),
    "innodb_file_per_table=ON": ("innodb_file_per_table", "ON"),
    "innodb_log_buffer_size (> 64M)": ("", None),
    "skip-name-resolve=ON": ("", None),
}


@pytest.mark.parametrize("line", LINES)
def test_a_line_of_mysqltuner_asks_for_a_value_where_it_names_one(line: str) -> None:
    assert of_mysqltuner(line) == PeerSentence(line, *LINES[line])


def test_every_load_is_recorded_and_every_change_has_an_adviser_who_said_something() -> None:
    record = records.load(GROUP)
    assert record is not None
    loads = {name: PeersRecord.model_validate(data) for name, data in records.data(record).items()}
    assert list(loads) == [part.name for part in study().parts]
    for load in loads.values():
        assert OURS in load.said
        control, *changes = load.changes
        assert (control.applied, control.advisers) == ((), ())
        for change in changes:
            assert change.applied or change.refused
            assert change.advisers
            assert all(load.said[adviser] for adviser in change.advisers)
