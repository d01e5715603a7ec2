"""What advisers say of a server, and the change of a setting that a sentence asks for."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from advisor.contract.settings import SettingValue
from lab.harness.workloads import ask
from lab.programs import perl_script
from lab.servers import PrivateServer

MIB = 2**20
MEMORY = 1024
"""MiB that the server's machine has for the advisers that are told: the lab's has more, and all data would fit it."""
SHARE = 0.75
OURS, MYSQLTUNER, VARIABLE_ADVISOR = "innodb-advisor", "MySQLTuner", "pt-variable-advisor"
RULE_OF_THUMB, AWS = f"{SHARE:.0%} of memory".replace("%", " %"), "AWS's checks"
_STEP = 8 * MIB
"""A pool's size is rounded up to it: a multiple of the chunks of the lab's servers."""
_POOL_SIZE = "innodb_buffer_pool_size"
_UNITS = {"B": 1, "K": 2**10, "M": 2**20, "G": 2**30}
_ASKS = re.compile(r"^(?:SET )?(innodb_\w+)\s*(?:should be )?\(?(?:>=|<=|=)\s*([\d.]+)([BKMG]?)")
_SWITCHES = re.compile(r"^(?:SET )?(innodb_\w+)\s*=\s*(ON|OFF)\b")
_BY_RULE: Mapping[str, tuple[str, SettingValue]] = {
    "innodb_doublewrite": ("innodb_doublewrite", "ON"),
    "innodb_fast_shutdown": ("innodb_fast_shutdown", 1.0),
    "innodb_flush_log_at_trx_commit-1": ("innodb_flush_log_at_trx_commit", 1.0),
    "innodb_flush_method": ("innodb_flush_method", "O_DIRECT"),
    "innodb_lock_wait_timeout": ("innodb_lock_wait_timeout", 50.0),
    "innodb_log_buffer_size": ("innodb_log_buffer_size", 16.0 * MIB),
    "innodb_max_dirty_pages_pct": ("innodb_max_dirty_pages_pct", 75.0),
}
"""The values that pt-variable-advisor's texts and conditions name, by its rule."""
REFERENCE = (
    "https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/USERRecommendationsManage.RecommendationReference.html"
)
_CHECKED: Mapping[str, SettingValue] = {
    "innodb_change_buffering": "none",
    "innodb_flush_log_at_trx_commit": 1.0,
    "innodb_stats_persistent": "ON",
    "sync_binlog": 1.0,
}
"""The parameters for which AWS' reference of recommendations names one value."""


@dataclass(frozen=True)
class PeerSentence:
    """A sentence of an adviser.

    Attributes:
        text: As the adviser says it.
        setting, value: What it asks for; empty and None where it names no setting of InnoDB with a value.
    """

    text: str
    setting: str = ""
    value: SettingValue | None = None


def sentences(server: PrivateServer) -> dict[str, tuple[PeerSentence, ...]]:
    """What each of the other advisers says of a server under load, in the order of docs/peers.md.

    Raises:
        UnavailableHere: A program cannot be had.
    """
    with server.connect() as connection:
        variables = {str(name): str(value) for name, value in ask(connection, "SHOW GLOBAL VARIABLES")}
    adjusted = perl_script.adjusted_by_mysqltuner(server, MEMORY)
    noted = perl_script.noted_by_variable_advisor(variables)
    pool = SHARE * MEMORY * MIB
    return {
        MYSQLTUNER: tuple(map(of_mysqltuner, adjusted)),
        VARIABLE_ADVISOR: tuple(
            PeerSentence(f"{rule}: {text}", *_BY_RULE.get(rule, ("", None))) for rule, text in noted
        ),
        RULE_OF_THUMB: (PeerSentence(f"{_POOL_SIZE} = {pool / MIB:.0f}M", _POOL_SIZE, pool),),
        AWS: tuple(
            PeerSentence(f"{setting} = {_written(value)}", setting, value)
            for setting, value in _CHECKED.items()
            if setting in variables and not _is(variables[setting], value)
        ),
    }


def of_mysqltuner(line: str) -> PeerSentence:
    """A line of its variables to adjust. "(> 64M)" names no value."""
    if asks := _ASKS.match(line):
        setting, number, unit = asks.groups()
        value = float(number) * _UNITS[unit or "B"]
        return PeerSentence(line, setting, math.ceil(value / _STEP) * float(_STEP) if setting == _POOL_SIZE else value)
    if switches := _SWITCHES.match(line):
        return PeerSentence(line, *switches.groups())
    return PeerSentence(line)


def _written(value: SettingValue) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _is(printed: str, value: SettingValue) -> bool:
    return printed.lower() == _written(value).lower()
