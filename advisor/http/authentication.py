"""Verification of passwords by bcrypt, with a memory of those that were verified."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from collections.abc import Mapping

import bcrypt

_LONGEST = 72
"""bcrypt ignores the rest of a password, and so does htpasswd."""
_DECOY = f"{'.' * 22}{'.' * 31}"


class Passwords:
    """Verified passwords, remembered as keyed digests. One bcrypt runs at a time, in a thread."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._seen: dict[str, bytes] = {}  # by user: digest of the password and the hash it was verified against
        self._one = asyncio.Lock()

    def remembered(self, users: Mapping[str, str], user: str, password: bytes) -> bool:
        """Whether this password was verified before, against the user's current hash."""
        digest = self._digest(users.get(user, ""), password)
        return hmac.compare_digest(self._seen.get(user, b""), digest) and user in users

    async def verify(self, users: Mapping[str, str], user: str, password: bytes) -> bool:
        """Whether the password is the user's. An unknown user takes as long as a known one.

        This holds if all hashes have the same cost; an unknown user takes as long as the highest cost.
        """
        async with self._one:
            if self.remembered(users, user, password):
                return True
            stored = users.get(user) or f"$2b${max(each[4:6] for each in users.values())}${_DECOY}"
            matches = await asyncio.to_thread(bcrypt.checkpw, password[:_LONGEST], stored.encode())
            if not (matches and user in users):
                return False
            self._seen[user] = self._digest(stored, password)
            return True

    def _digest(self, stored: str, password: bytes) -> bytes:
        # A hash has a fixed length, so it is clear where the password begins.
        return hmac.digest(self._key, stored.encode() + password[:_LONGEST], hashlib.sha256)
