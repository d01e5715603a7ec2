"""aiomysql and PyMySQL, imported where the operating system has no name for the user, too."""

from __future__ import annotations

import os

# aiomysql looks up the operating system's user name on import, and a container's uid may have none.
os.environ.setdefault("USER", "innodb-advisor")

import aiomysql
from pymysql import err
from pymysql.constants import CLIENT

__all__ = ["CLIENT", "aiomysql", "err"]
