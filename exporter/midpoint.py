"""Where InnoDB puts the midpoint of a buffer pool's LRU list.

The constants and formulas are those of storage/innobase/include/buf0lru.h and buf/buf0lru.cc, the same from
MySQL 5.6 to 9.7 and MariaDB 10.5 to 11.8: buf_LRU_old_ratio_update and buf_LRU_old_adjust_len. All of it holds
for each buffer pool instance on its own.
"""

from __future__ import annotations

RATIO_DIVISOR = 1024  # BUF_LRU_OLD_RATIO_DIV
MINIMUM_LENGTH = 512  # BUF_LRU_OLD_MIN_LEN: below it there is no old sublist
TOLERANCE = 20  # BUF_LRU_OLD_TOLERANCE: the midpoint moves only when further off than this
MINIMUM_YOUNG = 5  # BUF_LRU_NON_OLD_MIN_LEN


def old_ratio(old_blocks_pct: int) -> int:
    """``innodb_old_blocks_pct`` as InnoDB stores it, in 1/1024ths (37 becomes 378)."""
    return old_blocks_pct * RATIO_DIVISOR // 100


def old_target(length: int, old_blocks_pct: int) -> int:
    """Pages that the old sublist of a list of ``length`` pages is steered to, give or take TOLERANCE."""
    if length < MINIMUM_LENGTH:
        return 0
    return min(length * old_ratio(old_blocks_pct) // RATIO_DIVISOR, length - (TOLERANCE + MINIMUM_YOUNG))
