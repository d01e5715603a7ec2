"""Passwords against bcrypt hashes: slow for whoever guesses, quick for who has logged in before."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from collections.abc import Mapping

_LONGEST = 72
"""bcrypt takes so many bytes of a password and leaves the rest alone; htpasswd cuts it there as well."""
_DECOY = f"{'.' * 22}{'.' * 31}"


class Passwords:
    """What has been verified, kept as keyed digests; one bcrypt at a time, in a thread."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._seen: dict[str, bytes] = {}  # by user: of the password and the hash it was verified against
        self._one = asyncio.Lock()

    def remembered(self, users: Mapping[str, str], user: str, password: bytes) -> bool:
        """Whether this password was verified for this user against the hash that is in force."""
        digest = self._digest(users.get(user, ""), password)
        return hmac.compare_digest(self._seen.get(user, b""), digest) and user in users

    async def verify(self, users: Mapping[str, str], user: str, password: bytes) -> bool:
        """Whether the password is the user's. A user who is not known takes as long as one who is.

        That is true as long as all hashes have the same cost: for an unknown user it is the highest.
        """
        import bcrypt  # noqa: PLC0415 - only who has users pays for it

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
        # A hash has a fixed length, so the two cannot run into each other.
        return hmac.digest(self._key, stored.encode() + password[:_LONGEST], hashlib.sha256)
