"""Logins: passwords against bcrypt hashes. Addresses and users take turns, so that none keeps another out."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import time
import weakref
from collections.abc import Callable, Mapping

import bcrypt

PAUSE_SECONDS = 0.2
"""After a wrong password, before the next one is looked at."""
_REST = 3.0
"""The pause is so many times as long as bcrypt took, at least: guessing takes a quarter of a core."""
_LONGEST = 72
"""bcrypt ignores the rest of a password, and so does htpasswd."""
_DECOY = f"{'.' * 22}{'.' * 31}"


class Logins:
    """Verifies passwords, one at a time. A right one is remembered as a keyed digest."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Remember nobody.

        Args:
            clock: Seconds, monotonic.
        """
        self._clock = clock
        self._key = secrets.token_bytes(32)
        self._digests: dict[str, bytes] = {}  # by user: of the password, and of the hash it was verified against
        self._turns: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()
        self._bcrypt = asyncio.Lock()
        self._verifying: asyncio.Task[bool] | None = None

    async def verify(self, users: Mapping[str, str], address: str, user: str, password: bytes) -> bool:
        """Whether the password is the user's.

        Attempts of one address and user queue behind each other, and each queue has one attempt in the common queue: a
        right password is heard in its turn, however many wrong ones come from elsewhere.

        Args:
            users: Hashes by user.
            address: The client's.
            user: The name that the client sends. All unknown names of an address share one queue.
            password: The password that the client sends.
        """
        if self._is_remembered(users, user, password):
            return True
        turn = self._turns.setdefault(f"{address} {user if user in users else ''}", asyncio.Lock())
        async with turn:
            await self._bcrypt.acquire()
            # A client that goes away ends neither the verification nor the pause.
            self._verifying = asyncio.create_task(self._verify(users, user, password))
            return await asyncio.shield(self._verifying)

    async def _verify(self, users: Mapping[str, str], user: str, password: bytes) -> bool:
        """An unknown user takes as long as the hash with the highest cost."""
        try:
            if self._is_remembered(users, user, password):
                return True
            began = self._clock()
            stored = users.get(user) or f"$2b${max(password_hash[4:6] for password_hash in users.values())}${_DECOY}"
            matches = await asyncio.to_thread(bcrypt.checkpw, password[:_LONGEST], stored.encode())
            if matches and user in users:
                self._digests[user] = self._digest(stored, password)
                return True
            await asyncio.sleep(max(PAUSE_SECONDS, _REST * (self._clock() - began)))
            return False
        finally:
            self._bcrypt.release()

    def _is_remembered(self, users: Mapping[str, str], user: str, password: bytes) -> bool:
        """Whether this password was verified before, against the user's current hash."""
        digest = self._digest(users.get(user, ""), password)
        return hmac.compare_digest(self._digests.get(user, b""), digest) and user in users

    def _digest(self, stored: str, password: bytes) -> bytes:
        # A hash has a fixed length, so it is clear where the password begins.
        return hmac.digest(self._key, stored.encode() + password[:_LONGEST], hashlib.sha256)
