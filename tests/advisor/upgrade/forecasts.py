"""Forecasts by hand, for forms that need no server."""

from __future__ import annotations

from advisor.contract.recommendation import Evidence
from advisor.contract.upgrade import (
    Blocker,
    Cause,
    MovedDefault,
    NotForetold,
    OptionLine,
    SettledAdvice,
    UpgradeEffect,
    UpgradeForecast,
    UpgradeStatement,
)

CAPACITY = OptionLine(line="innodb_redo_log_capacity = 100663296", reason="two files of 48 MiB, as today")
KEEP = OptionLine(line="innodb_change_buffering = all", reason="one read for several inserts")
RESET = UpgradeStatement(sql="RESET PERSIST innodb_log_file_size", reason="mysqld-auto.cnf has it")
ANALYZE = UpgradeStatement(sql="ANALYZE TABLE `shop`.`orders`", reason="its statistics are old")

BLOCKER = Blocker(
    variable="innodb_log_file_size",
    value="50331648",
    source="option file",
    since="9.3",
    replacement=CAPACITY,
    references=("https://dev.mysql.com/doc/refman/9.3/en/",),
)
WORSE = UpgradeEffect(
    cause=Cause.DEFAULT,
    name="innodb_change_buffering",
    from_="all",
    to="none",
    summary="Inserts read the pages of secondary indexes at once",
    evidence=(Evidence(name="merges_per_second", value=120, unit="pages/s", source="INNODB_METRICS"),),
    quantity="pages read a second",
    now=120,
    predicted=1500,
    low=1300,
    high=1700,
    model="change buffer",
    pages_per_second=1380,
    better=False,
    keep=(KEEP,),
    after=(ANALYZE,),
)
UNKNOWN = UpgradeEffect(
    cause=Cause.BEHAVIOUR,
    name="idle_flushing",
    summary="An idle server writes dirty pages faster",
    before=(RESET,),
)
BETTER = UpgradeEffect(
    cause=Cause.BEHAVIOUR,
    name="count_star_takes_clustered_index",
    subject={"schema": "shop", "table": "orders"},
    summary="COUNT(*) of shop.orders reads a small index again",
    quantity="pages read per count",
    now=9258,
    predicted=512,
    unit="pages",
    pages_per_second=-875,
    better=True,
)
FORECAST = UpgradeForecast(
    server="mysql 8.0.28",
    to="mysql 26.10",
    assumed="9.7",
    at=1_700_000_000.0,
    watched_seconds=600.0,
    warnings=("An upgrade of the data folder goes through 8.4 first",),
    blockers=(BLOCKER,),
    effects=(WORSE, UNKNOWN),
    improvements=(BETTER,),
    settled=(
        SettledAdvice(
            rule="count-ignores-secondary-index",
            fingerprint="0123456789abcdef",
            summary="shop.orders was counted 12 times",
            reason="no longer true of mysql 26.10",
        ),
    ),
    other_changes=(MovedDefault(setting="innodb_io_capacity", from_=200, to=10000),),
    option_file=(CAPACITY, KEEP),
    before=(RESET,),
    after=(ANALYZE,),
    not_foretold=(NotForetold(what="temporary tables", reason="not watched", cure="record performance_schema"),),
)
NOTHING = UpgradeForecast(
    server="mysql 8.0.43",
    to="mysql 8.0.44",
    at=1_700_000_000.0,
    watched_seconds=60.0,
    blockers=(),
    effects=(),
    improvements=(),
    settled=(),
    other_changes=(),
    option_file=(),
    before=(),
    after=(),
    not_foretold=(),
)
