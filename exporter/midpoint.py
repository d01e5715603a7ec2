"""The midpoint of a buffer pool's LRU list, as InnoDB sets it.

Constants and formulas: storage/innobase/include/buf0lru.h and buf/buf0lru.cc, the same from MySQL 5.6 to 9.7 and
MariaDB 10.5 to 11.8: buf_LRU_old_ratio_update and buf_LRU_old_adjust_len. They apply to each buffer pool instance
separately.
"""

from __future__ import annotations

RATIO_DIVISOR = 1024  # BUF_LRU_OLD_RATIO_DIV
MINIMUM_LENGTH = 512  # BUF_LRU_OLD_MIN_LEN: a shorter list has no old sublist
TOLERANCE = 20  # BUF_LRU_OLD_TOLERANCE: the midpoint moves only when it is further off than this
MINIMUM_YOUNG = 5  # BUF_LRU_NON_OLD_MIN_LEN


def old_ratio(old_blocks_pct: int) -> int:
    """``innodb_old_blocks_pct`` as InnoDB stores it, in 1/1024ths (37 becomes 378)."""
    return old_blocks_pct * RATIO_DIVISOR // 100


def old_target(length: int, old_blocks_pct: int) -> int:
    """Pages that InnoDB steers the old sublist to, within TOLERANCE, in a list of ``length`` pages."""
    if length < MINIMUM_LENGTH:
        return 0
    return min(length * old_ratio(old_blocks_pct) // RATIO_DIVISOR, length - (TOLERANCE + MINIMUM_YOUNG))
