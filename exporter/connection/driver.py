"""aiomysql and PyMySQL, without cryptography until a password is to be encrypted.

PyMySQL imports cryptography with itself: 2.3 MiB. Only `caching_sha2_password` and `sha256_password` use it, and only
without TLS: they then encrypt the password with the server's RSA key.
"""

from __future__ import annotations

import importlib
import os
import sys

from exporter.stand_ins import standing_in

# aiomysql looks up the operating system's user name on import, and a container's uid may have none.
os.environ.setdefault("USER", "innodb-advisor")

_HIDDEN = "cryptography" not in sys.modules
if _HIDDEN:
    sys.modules["cryptography"] = None  # type: ignore[assignment]  # not to be imported
try:
    with standing_in({"configparser": ("RawConfigParser",)}):  # for option files, which they are never given
        import aiomysql
        from pymysql import _auth, err
        from pymysql.constants import CLIENT
finally:
    if _HIDDEN:
        del sys.modules["cryptography"]

__all__ = ["CLIENT", "aiomysql", "err"]


def _encrypted(password: bytes, salt: bytes, public_key: bytes) -> bytes:
    """PyMySQL's function, with cryptography: the import replaces this one."""
    importlib.reload(_auth)
    found: bytes = _auth.sha2_rsa_encrypt(password, salt, public_key)
    return found


if _HIDDEN:
    _auth.sha2_rsa_encrypt = _encrypted
