"""Which connection goes for a new one."""

from __future__ import annotations

from advisor.http.crowd import CONNECTIONS, CONNECTIONS_OF_ONE, Crowd


class Client:
    def __init__(self, address: str) -> None:
        self.address, self.answered, self.dropped = address, False, False

    def drop(self) -> None:
        self.dropped = True


def enters(crowd: Crowd, address: str, *, answered: bool = False) -> Client:
    """A silent one."""
    client = Client(address)
    client.answered = answered
    assert crowd.enter(client)
    crowd.falls_silent(client)
    return client


def test_who_never_asked_goes_first_and_then_who_was_silent_for_longest() -> None:
    crowd = Crowd()
    prometheus, *others = [enters(crowd, f"10.0.0.{number}", answered=True) for number in range(10)]
    strangers = [enters(crowd, f"10.1.{number}") for number in range(2 * CONNECTIONS - 10)]
    assert crowd.is_large
    for number in range(len(strangers)):
        enters(crowd, f"10.2.{number}")
    assert all(each.dropped for each in strangers)
    assert not any(each.dropped for each in (prometheus, *others))


def test_an_answered_connection_goes_only_if_all_have_asked() -> None:
    crowd = Crowd()
    clients = [enters(crowd, f"10.0.{number}", answered=True) for number in range(2 * CONNECTIONS)]
    crowd.falls_silent(clients[0])  # it has asked again
    enters(crowd, "10.1.1")
    assert [each.dropped for each in clients[:3]] == [False, True, False]


def test_an_address_drops_its_own_and_nobody_elses() -> None:
    crowd = Crowd()
    other = enters(crowd, "10.0.0.1")
    own = [enters(crowd, "10.0.0.2") for _ in range(CONNECTIONS_OF_ONE)]
    enters(crowd, "10.0.0.2")
    assert own[0].dropped
    assert not any(each.dropped for each in (other, *own[1:]))


def test_there_is_no_room_where_all_wait_for_an_answer() -> None:
    crowd = Crowd()
    busy = [enters(crowd, "10.0.0.2") for _ in range(CONNECTIONS_OF_ONE)]
    for each in busy:
        crowd.speaks(each)
    late = Client("10.0.0.2")
    assert not crowd.enter(late)
    assert not late.dropped  # whoever asked closes it
    crowd.falls_silent(late)  # its end
    crowd.leave(late)
    crowd.falls_silent(busy[0])
    assert crowd.enter(Client("10.0.0.2"))
    assert [each.dropped for each in busy] == [True] + [False] * (CONNECTIONS_OF_ONE - 1)


def test_who_has_left_counts_no_more() -> None:
    crowd = Crowd()
    for each in [enters(crowd, "10.0.0.2") for _ in range(CONNECTIONS + 1 - CONNECTIONS_OF_ONE)][:CONNECTIONS_OF_ONE]:
        crowd.leave(each)
        crowd.leave(each)
    assert not crowd.is_large
    crowd = Crowd()
    clients = [enters(crowd, f"10.0.{number}") for number in range(CONNECTIONS + 1)]
    assert crowd.is_large
    crowd.leave(clients[0])
    crowd.leave(clients[0])
    assert not crowd.is_large
