"""The live messages: made once for all streams, and only while one is open; none is kept for who does not read."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import weakref
from typing import NoReturn

import pytest

from advisor.advice.rounds import LONGEST_REST
from advisor.advice.service import Service
from advisor.http.broadcast import HEARTBEAT_SECONDS, LONGEST_SECONDS, STREAMS, Broadcast, Crowded, Mark, Stream
from advisor.observe.source import Replay
from exporter.connection.errors import Unreachable
from tests.advisor.advice.watching import Watched, rulebook, service_of
from tests.advisor.building import RECORDING, capture
from tests.advisor.http.sse import Told, told
from tests.advisor.http.standing import passes

LOOK = 1.0
"""Seconds of the loop's time between two looks."""


class Reader:
    """A client that reads a stream."""

    def __init__(self, stream: Stream) -> None:
        self.raw: list[bytes] = []
        self.messages = stream.messages(lambda: None)

    async def next(self, count: int = 1) -> list[Told]:
        """So many events more."""
        found: list[Told] = []
        while len(found) < count:
            self.raw.append(await self.message())
            found += told(self.raw[-1].decode().split("\n"))
        return found

    async def message(self) -> bytes:
        """The next message; StopAsyncIteration at the end of the stream."""
        coming = asyncio.ensure_future(anext(self.messages))
        await passes()
        while not coming.done():
            await passes(LOOK)
        return coming.result()

    async def until(self, kind: str) -> list[Told]:
        """Events up to the next one of a kind."""
        found = await self.next()
        while found[-1].kind != kind:
            found += await self.next()
        return found

    async def rest(self) -> list[bytes]:
        """What comes until the stream ends."""
        messages = []
        with contextlib.suppress(StopAsyncIteration):
            while True:
                messages.append(await self.message())
        return messages


@pytest.fixture
def source() -> Watched:
    return Watched(3)


@pytest.fixture
def service(source: Watched) -> Service:
    made = service_of(source)
    made.look()
    return made


@pytest.fixture
async def live(service: Service) -> Broadcast:
    return broadcast(service)


def broadcast(service: Service) -> Broadcast:
    return Broadcast(service, look_seconds=LOOK, clock=asyncio.get_running_loop().time)


def kinds(found: list[Told]) -> list[str]:
    return [each.kind for each in found]


async def looks(count: int = 5) -> None:
    for _ in range(count):
        await passes(LOOK)


async def test_a_stream_begins_with_everything_as_it_is_now(service: Service, live: Broadcast, source: Watched) -> None:
    await service.assessment()
    with live.stream() as stream:
        state, advice, overview, series = await Reader(stream).next(4)
    assert kinds([state, advice, overview, series]) == ["state", "advice", "overview", "series"]
    assert state.data["target"] == "db1:3306"
    assert [each["rule"] for each in advice.data["recommendations"]] == ["scan-exceeds-old-sublist"]
    assert overview.data["at"] == source.history[-1].at
    assert series.data["at"] == [source.history[-1].at]
    assert {each["name"] for each in series.data["series"]} >= {"pages_read", "old_pages", "table_pages_read"}


async def test_what_is_new_is_made_once_for_all_streams(live: Broadcast, source: Watched) -> None:
    with live.stream() as one, live.stream() as other:
        readers = [Reader(one), Reader(other)]
        for reader in readers:
            await reader.until("series")
        source.show()
        for reader in readers:
            reader.raw.clear()
            assert kinds(await reader.until("state")) == ["series", "overview", "state"]
        for mine, others in zip(readers[0].raw, readers[1].raw, strict=True):
            assert mine is others
    assert source.collections == 0


async def test_advice_is_told_again_where_it_says_something_else(source: Watched) -> None:
    service = Service(source, rulebook(), clock=asyncio.get_running_loop().time)
    await service.assessment()
    live = broadcast(service)
    with live.stream() as stream:
        reader = Reader(stream)
        await reader.until("series")
        source.show(2)
        await passes(LONGEST_REST)
        await service.assessment()
        assert (await reader.until("advice"))[-1].data["at"] == source.history[-1].at


async def test_nothing_is_made_while_no_stream_is_open(live: Broadcast, source: Watched) -> None:
    before = asyncio.all_tasks()
    with live.stream() as stream, live.stream():
        await Reader(stream).next()
        producing = [live.producing]
    assert [*producing, live.producing] == [True, False]
    source.show()
    await looks()
    assert asyncio.all_tasks() == before


async def test_a_stream_that_was_closed_leaves_nothing_behind(live: Broadcast) -> None:
    with live.stream() as stream:
        reader = Reader(stream)
        await reader.next()
        gone = weakref.ref(stream)
    del stream, reader
    gc.collect()
    await looks()
    assert gone() is None


async def test_a_client_that_does_not_read_loses_its_stream_and_holds_nobody(
    live: Broadcast, source: Watched, service: Service
) -> None:
    with live.stream() as idle, live.stream() as other:
        reader = Reader(other)
        await reader.until("series")
        for number in range(40):
            source.problem = None if number % 2 else Unreachable(f"away {number}")
            service.look()
            assert [each.data["kind"] for each in await reader.until("event") if each.kind == "event"]
        assert not idle.open
        assert idle.waiting == 1  # only its end: what waited is gone
        assert other.open
        assert (await Reader(idle).rest())[-1].startswith(b"event: series")  # the first messages, and its end


async def test_only_so_many_streams_are_open_and_an_end_makes_room(live: Broadcast) -> None:
    with contextlib.ExitStack() as streams:
        for _ in range(STREAMS - 1):
            streams.enter_context(live.stream())
        with live.stream(), pytest.raises(Crowded):
            streams.enter_context(live.stream())
        streams.enter_context(live.stream())


async def test_after_a_cut_a_client_gets_what_it_missed_and_nothing_twice(
    live: Broadcast, source: Watched, service: Service
) -> None:
    with live.stream() as stream:
        last = (await Reader(stream).until("series"))[-1]
    source.show(2)
    source.problem = Unreachable("gone")
    service.look()
    source.problem = None
    service.look()
    missed: list[Told] = []
    while len(missed) < 4:  # it is cut after each
        with live.stream(Mark.read(last.id)) as stream:
            reader = Reader(stream)
            await reader.until("overview")
            [last] = await reader.next()
            missed.append(last)
    assert [each.data["kind"] for each in missed[:2]] == ["away", "back"]
    assert [each.data["at"] for each in missed[2:]] == [[each.at] for each in source.history[3:5]]
    with live.stream(Mark.read(last.id)) as stream:
        reader = Reader(stream)
        assert kinds(await reader.until("overview")) == ["state", "overview"]
        source.show()
        assert (await reader.next())[0].data["at"] == [source.history[-1].at]


async def test_a_client_that_comes_back_beside_others_misses_nothing_either(live: Broadcast, source: Watched) -> None:
    with live.stream() as other:
        stays = Reader(other)
        await stays.until("series")
        with live.stream() as stream:
            last = (await Reader(stream).until("series"))[-1]
        for _ in range(2):
            source.show()
            await stays.until("state")
        source.show()  # nobody was told yet
        with live.stream(Mark.read(last.id)) as stream:
            found = [each for each in await Reader(stream).until("state") if each.kind == "series"]
            reader = Reader(stream)
            while len(found) < 3:
                found += [each for each in await reader.next() if each.kind == "series"]
        assert [each.data["at"] for each in found] == [[each.at] for each in source.history[3:6]]


async def test_a_server_that_goes_away_is_told_at_once_with_what_was_said_before(
    live: Broadcast, source: Watched, service: Service
) -> None:
    await service.assessment()
    service.look()
    with live.stream() as stream:
        reader = Reader(stream)
        await reader.until("series")
        source.problem = Unreachable("cannot connect")
        event, state = await reader.next(2)
        assert (event.kind, event.data["kind"]) == ("event", "away")
        assert (state.data["state"], state.data["problem"]) == ("away", "cannot connect")
        assert state.data["problem_since"] == event.data["at"]
        with live.stream() as later:
            found = await Reader(later).until("series")
            assert kinds(found) == ["state", "advice", "overview", "series"]
        source.problem = None
        event, state = await reader.next(2)
        assert (event.data["kind"], state.data["state"]) == ("back", "watching")


async def test_a_recording_is_told_once_and_then_only_heartbeats_come() -> None:
    service = Service(Replay(capture(RECORDING)), rulebook())
    await service.assessment()
    live = broadcast(service)
    with live.stream() as stream:
        reader = Reader(stream)
        assert kinds(await reader.until("series")) == ["state", "advice", "overview", "series"]
        await looks(round(HEARTBEAT_SECONDS / LOOK) - 1)
        assert stream.waiting == 0
        await looks(1)
        assert stream.waiting == 1
        assert await reader.message() == b":\n\n"


async def test_a_stream_ends_after_its_longest_time(source: Watched) -> None:
    live = broadcast(service_of(source))
    with live.stream() as stream:
        await passes(LONGEST_SECONDS - LOOK)
        before = stream.open
        await passes(LOOK)
        assert [before, stream.open] == [True, False]
        assert (await Reader(stream).rest())[0] == b"retry: 2000\n\n"


async def test_a_look_that_fails_is_logged_and_the_next_one_tells(
    live: Broadcast,
    source: Watched,
    service: Service,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def breaks() -> NoReturn:
        raise ValueError("broken")

    with live.stream() as stream:
        reader = Reader(stream)
        await reader.until("series")
        with monkeypatch.context() as patched:
            patched.setattr(service, "overview", breaks)
            source.show()
            await looks(1)
            assert "open pages miss something new" in caplog.text
        assert (await reader.next())[0].data["at"] == [source.history[-1].at]


@pytest.mark.parametrize("text", ["", "x", "1", "1-", "-1", "1-2-3"])
def test_an_id_of_somebody_else_is_no_mark(text: str) -> None:
    assert Mark.read(text) is None


def test_a_mark_is_the_same_after_it_was_an_id() -> None:
    mark = Mark(1795362153.3603477, 1795362160.001)
    assert Mark.read(str(mark)) == mark


async def test_before_the_first_snapshot_there_is_only_the_state() -> None:
    source = Watched()
    service = service_of(source)
    live = broadcast(service)
    with live.stream() as stream:
        reader = Reader(stream)
        [state] = await reader.next()
        assert (state.data["state"], state.data["starting"]["waits_for"]) == ("starting", "the first snapshot")
        await looks()
        assert stream.waiting == 0
        source.show()
        assert {each.kind for each in await reader.until("state")} == {"series", "overview", "state"}
