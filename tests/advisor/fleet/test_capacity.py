"""The memory that could go, and why none: from what series of days say of a server."""

from __future__ import annotations

from dataclasses import replace

import pytest

from advisor.contract.fleet import CapacityEstimate
from advisor.fleet import capacity
from advisor.fleet.capacity import ONLY_DOWNSAMPLED_DAYS, estimate, raw_days
from advisor.fleet.days import TREND_READS, Days
from advisor.fleet.identity import Identity
from advisor.fleet.series import Grid
from exporter.server import Server

GIB = 2.0**30
PAGE = 16_384.0
POOL = 32 * GIB
PAGES = POOL / PAGE
MYSQL = Server("mysql", (9, 7, 4), "9.7.4", "(Debian)", performance_schema=True)
MARIADB = Server("mariadb", (11, 8, 6), "11.8.6-MariaDB", "Debian", performance_schema=True)
SETTINGS = {
    "innodb_adaptive_hash_index": 0,
    "innodb_buffer_pool_size": POOL,
    "innodb_buffer_pool_chunk_size": 2.0**27,
    "innodb_buffer_pool_instances": 8.0,
    "innodb_lru_scan_depth": 1024.0,
    "innodb_page_size": PAGE,
    "innodb_buffer_pool_load_at_startup": 0.0,
    "innodb_buffer_pool_dump_pct": 25.0,
}
HOT = 0.25
"""Share of the pool's pages that nearly all is asked of."""
GETS = 2_000.0


def filling(start: float = 0.0, hot: float = HOT, rare: float = 0.01) -> dict[str, dict[float, float]]:
    """A warm-up that misses ever less until it holds the hot pages; then ``rare`` of the accesses."""
    counters: dict[str, dict[float, float]] = {"pages": {}, "read": {}, "gets": {}}
    pages, gets = 0.0, 0.0
    for minute in range(1440):
        if pages > 0.98 * PAGES:
            break
        for name, value in (("pages", pages), ("read", pages), ("gets", gets + pages)):
            counters[name][start + 60.0 * minute] = value
        accesses = 60 * GETS
        pages += accesses * max(rare, 0.6 * (1 - pages / (hot * PAGES)))
        gets += accesses
    return counters


SEEN = Days(
    reads=30.0,
    gets=GETS,
    known=(1440.0,) * 30,
    sizes=(POOL,) * 30,
    settings=SETTINGS,
    filling=filling(),
)


def could_go(seen: Days, server: Server | None = MYSQL, may_read: float = 50.0) -> CapacityEstimate:
    trial = estimate("eu/db-1", seen, server, may_read)
    assert isinstance(trial, CapacityEstimate), trial
    return trial


def test_a_pool_far_larger_than_its_hot_pages_could_shrink_to_them() -> None:
    trial = could_go(SEEN)
    assert trial.method == capacity.WARM_UPS
    assert HOT * POOL < trial.enough_bytes < 1.6 * HOT * POOL
    assert trial.may_go_bytes == POOL - trial.enough_bytes
    assert trial.reads_now == 30.0 <= trial.reads_predicted <= (trial.reads_most or 0) <= 80.0
    assert (trial.error, trial.days, trial.warm_ups) == (capacity.ERRORS[capacity.WARM_UPS], 30.0, 1)


def test_the_change_is_a_trial_in_whole_chunks_with_a_way_back() -> None:
    change = could_go(SEEN).change
    assert change is not None
    assert isinstance(change.to, int)
    assert change.to % (8 * 2**27) == 0
    assert change.apply == (f"SET GLOBAL innodb_buffer_pool_size = {change.to}",)
    assert change.rollback == (f"SET GLOBAL innodb_buffer_pool_size = {int(POOL)}",)
    assert "A trial" in change.note


def test_mariadb_has_one_instance_and_no_chunks() -> None:
    settings = {name: value for name, value in SETTINGS.items() if "chunk" not in name and "instances" not in name}
    change = could_go(replace(SEEN, settings=settings), MARIADB).change
    assert change is not None
    assert isinstance(change.to, int)
    assert change.to % 2**20 == 0
    assert change.to % (8 * 2**27) != 0


def test_a_pool_that_must_not_shrink_at_runtime_is_a_trial_by_the_option_file() -> None:
    change = could_go(SEEN, replace(MARIADB, version=(10, 11, 13), version_text="10.11.13-MariaDB")).change
    assert change is not None
    assert (change.apply, change.rollback, change.via) == ((), (), "option file and restart")
    assert "MDEV-37263; fixed in 10.11.14" in change.note
    assert change.note.endswith(capacity.TRIAL)


def test_the_warm_up_that_misses_most_decides() -> None:
    nightly = filling(start=10 * 86_400.0, hot=3 * HOT)
    both = {name: {**SEEN.filling[name], **nightly[name]} for name in nightly}
    trial = could_go(replace(SEEN, filling=both))
    assert trial.warm_ups == 2
    assert trial.enough_bytes > 2.8 * HOT * POOL


def test_nothing_goes_where_every_page_that_goes_would_be_read() -> None:
    assert estimate("db", replace(SEEN, filling=filling(hot=0.99, rare=0.1)), MYSQL, 50.0) == capacity.NOTHING


def test_less_goes_the_less_may_be_read() -> None:
    warm = replace(SEEN, filling=filling(hot=0.6))
    sizes = [could_go(warm, may_read=may_read).enough_bytes for may_read in (500.0, 100.0, 5.0)]
    assert sizes[0] < sizes[1] < sizes[2]


@pytest.mark.parametrize(
    ("altered", "reason"),
    [
        ({"known": (0.0, *SEEN.known[1:])}, capacity.YOUNG),
        ({"known": (*SEEN.known[:20], *(0.0,) * 10)}, capacity.YOUNG),
        ({"known": (0.0, *SEEN.known[1:]), "downsampled": True}, ONLY_DOWNSAMPLED_DAYS),
        ({"sizes": (POOL / 2, *SEEN.sizes[1:])}, capacity.RESIZED),
        ({"settings": {}}, capacity.UNKNOWN),
        ({"gets": None}, capacity.UNKNOWN),
        ({"filling": {}}, capacity.NO_CURVE),
        # Free pages alone are no reason, nor is a hit rate of 100 %.
        ({"filling": {}, "reads": 0.0}, capacity.NO_CURVE),
        ({"reads": 3_000.0}, capacity.ANOTHER_LOAD),
        ({"settings": SETTINGS | {"innodb_adaptive_hash_index": 1.0}}, capacity.HIDDEN),
    ],
)
def test_no_advice_without_what_it_takes(altered: dict[str, object], reason: str) -> None:
    assert estimate("db", replace(SEEN, **altered), MYSQL, 50.0) == reason  # type: ignore[arg-type]


def test_no_advice_for_a_server_whose_version_is_unknown() -> None:
    assert estimate("db", SEEN, None, 50.0) == capacity.UNKNOWN


def test_pages_that_the_start_loads_begin_no_curve() -> None:
    loads = replace(SEEN, settings=SETTINGS | {"innodb_buffer_pool_load_at_startup": 1.0})
    assert could_go(loads).enough_bytes > 1.2 * HOT * POOL


def test_the_surer_method_wins() -> None:
    vague = replace(SEEN, rises={0.25: (5.0, 900.0), 0.5: (0.0, 40.0), 0.75: (0.0, 30.0)})
    assert could_go(vague).method == capacity.WARM_UPS
    exact = {0.25: (1.0, 1.0), 0.5: (0.0, 0.0), 0.75: (0.0, 0.0)}
    trial = could_go(replace(SEEN, filling=filling(rare=0.02), rises=exact))
    assert (trial.method, trial.error, trial.warm_ups) == (capacity.MODEL, capacity.ERRORS[capacity.MODEL], 0)
    assert trial.enough_bytes == 9 * GIB  # a quarter and 5 %, in chunks of 1 GiB
    assert trial.reads_predicted == 31.0


def test_the_model_answers_alone_too_and_its_worst_hour_decides() -> None:
    only = replace(SEEN, filling={}, rises={0.25: (1.0, 700.0), 0.5: (1.0, 20.0), 0.75: (0.0, 0.0)})
    assert could_go(only).enough_bytes == 17 * GIB
    assert estimate("db", replace(only, rises={0.75: (1.0, 60.0)}), MYSQL, 50.0) == capacity.NOTHING


def test_raw_days_of_a_fleet_are_refused_with_their_size() -> None:
    assert "30 raw days would be 1,728 million samples" in raw_days(5_000)


def test_days_take_replicas_once_and_keep_to_the_servers_asked_for() -> None:
    text = TREND_READS.of(Identity(("cluster", "instance")), 'instance=~"db1"', Grid(0.0, 86_400.0, 30))
    assert text == (
        "max by (cluster, instance) (quantile_over_time(0.95, "
        'instance:innodb_buffer_pool_pages_read:rate5m{instance=~"db1"}[2592000000ms:5m]))'
        " or max by (cluster, instance) (quantile_over_time(0.95, "
        'instance:mysql_global_status_innodb_pages_read:rate5m{instance=~"db1"}[2592000000ms:5m]))'
    )
