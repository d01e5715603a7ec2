"""The connections of a server: how many there may be, and which of them goes for a new one."""

from __future__ import annotations

from collections import OrderedDict
from typing import Protocol

CONNECTIONS = 256
"""Above so many connections each request but scrapes and probes gets 503; there are twice as many at most."""
CONNECTIONS_OF_ONE = 32
"""Connections of one address at most. A further one takes the place of the one that has been silent for longest; it is
closed at once if all of them wait for an answer."""


class Member(Protocol):
    """A connection.

    Attributes:
        answered: Whether it has asked before, and got its answer.
    """

    answered: bool

    @property
    def address(self) -> str:
        """The client's."""
        ...

    def drop(self) -> None:
        """Close it at once."""
        ...


class Crowd:
    """The connections that are open. To take one in takes microseconds, however many there are."""

    def __init__(self) -> None:
        self._of: dict[str, dict[Member, None]] = {}
        self._count = 0
        # By whether they asked before, as a Prometheus does: those go after the ones that never did.
        self._silent: dict[bool, OrderedDict[Member, None]] = {False: OrderedDict(), True: OrderedDict()}

    @property
    def is_large(self) -> bool:
        """Whether there are more connections than are answered."""
        return self._count > CONNECTIONS

    def enter(self, member: Member) -> bool:
        """Take a connection in, and drop another one for it where there are too many; whether there is room for it."""
        of_one = self._of.setdefault(member.address, {})
        of_one[member] = None
        self._count += 1
        if len(of_one) > CONNECTIONS_OF_ONE:
            first = self._silent_for_longest(of_one)
        elif self._count > 2 * CONNECTIONS:
            first = self._silent_for_longest()
        else:
            return True
        if first is None:
            self.leave(member)
            return False
        self.leave(first)
        first.drop()
        return True

    def leave(self, member: Member) -> None:
        """Forget a connection; one that is not known is no error."""
        of_one = self._of.get(member.address, {})
        if member not in of_one:
            return
        del of_one[member]
        self._count -= 1
        if not of_one:
            del self._of[member.address]
        self.speaks(member)

    def falls_silent(self, member: Member) -> None:
        """No request of it is being answered from now on: the client has sent none, or a part of one."""
        if member in self._of.get(member.address, {}):
            self.speaks(member)
            self._silent[member.answered][member] = None

    def speaks(self, member: Member) -> None:
        """A request of it is being answered."""
        for each in self._silent.values():
            each.pop(member, None)

    def _silent_for_longest(self, among: dict[Member, None] | None = None) -> Member | None:
        """Of some connections, a few, or of all."""
        if among is None:
            return next((next(iter(each)) for each in self._silent.values() if each), None)
        order = (each for of_kind in self._silent.values() for each in of_kind)
        return next((each for each in order if each in among), None)
