from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest

from advisor.fleet import mysqld_exporter, sidecar
from advisor.fleet.client import QueryError
from advisor.fleet.identity import Identity, ServerKey
from advisor.fleet.series import Grid
from advisor.fleet.shards import SIZE, LeftOut, mine, over

KEYS = [key for n in range(500) if (key := Identity().server({"instance": f"db-{n:03}:9104"}))]


class Asked:
    """Shards that were asked for, where some servers make a query fail."""

    def __init__(self, most: int = 10_000, failing: Mapping[str, QueryError] | None = None) -> None:
        self.sizes: list[int] = []
        self._most, self._failing = most, failing or {}

    async def __call__(self, keys: tuple[ServerKey, ...]) -> Mapping[ServerKey, str]:
        self.sizes.append(len(keys))
        if len(keys) > self._most:
            raise QueryError("HTTP 422: too many samples", "limit", 422)
        for key in keys:
            if key.name in self._failing:
                raise self._failing[key.name]
        return {key: key.name for key in keys}


def sizes(left_out: LeftOut) -> dict[str, int]:
    return {reason: len(servers) for reason, servers in left_out.items()}


async def test_every_server_is_asked_for_once_in_shards() -> None:
    ask, done = Asked(), Counter[str]()
    answers, left_out = await over(KEYS, ask, done=lambda servers: done.update({"servers": servers}))
    assert (len(answers), left_out, sorted(ask.sizes), done["servers"]) == (500, {}, [100, SIZE, SIZE], 500)


async def test_a_limit_halves_shards_and_they_grow_back() -> None:
    ask = Asked(most=30)
    answers, left_out = await over(KEYS, ask)
    assert (len(answers), left_out) == (500, {})
    assert len(ask.sizes) < 60
    assert {25, 50, 100, 200} <= set(ask.sizes)


async def test_one_server_that_breaks_a_limit_alone_does_not_take_others_with_it() -> None:
    failing = {
        "db-007": QueryError("HTTP 422: too many samples", "limit", 422),
        "db-300": QueryError("HTTP 422: too many samples", "limit", 422),
    }
    answers, left_out = await over(KEYS, Asked(failing=failing))
    assert len(answers) == 498
    assert left_out == {"HTTP 422: too many samples": ["db-007", "db-300"]}


async def test_a_shard_that_fails_three_times_is_left_out_with_the_error() -> None:
    ask = Asked(failing={"db-007": QueryError("HTTP 500, internal: oops", "refused", 500)})
    answers, left_out = await over(KEYS, ask, pause=0)
    assert (len(answers), sizes(left_out)) == (300, {"HTTP 500, internal: oops": 200})
    assert sorted(ask.sizes) == [100, 200, 200, 200, 200]


async def test_a_prometheus_that_went_away_is_not_asked_for_every_shard() -> None:
    ask = Asked(failing={key.name: QueryError("cannot connect: Connection refused") for key in KEYS})
    answers, left_out = await over(KEYS, ask, size=10, pause=0)
    assert (answers, sizes(left_out)) == ({}, {"cannot connect: Connection refused": 500})
    assert len(ask.sizes) <= 9  # three attempts each, of two shards and of the one that was begun meanwhile


async def test_a_prometheus_that_hangs_is_not_waited_for_once_for_every_server() -> None:
    slow = QueryError("no answer within 30 s", "slow")
    ask = Asked(failing={key.name: slow for key in KEYS})
    answers, left_out = await over(KEYS, ask)
    assert (answers, sizes(left_out)) == ({}, {str(slow): 500})
    assert ask.sizes.count(1) < 12
    assert len(ask.sizes) < 40
    few = Asked(failing={key.name: slow for key in KEYS[100:107]})
    answers, left_out = await over(KEYS, few)
    assert (len(answers), sizes(left_out)) == (493, {str(slow): 7})


def test_shards_of_the_fleet_are_all_of_it_and_even() -> None:
    parts = Counter(next(i for i in range(8) if mine(key.name, i, 8)) for key in KEYS)
    assert sum(parts.values()) == 500
    assert all(sum(mine(key.name, i, 8) for i in range(8)) == 1 for key in KEYS)
    assert min(parts.values()) > 40


async def test_servers_with_different_labels_are_in_shards_of_their_own() -> None:
    pods = [key for n in range(3) if (key := Identity().server({"namespace": "a", "pod": f"p{n}"}))]
    ask = Asked()
    await over([*KEYS[:3], *pods], ask)
    assert ask.sizes == [3, 3]


async def test_no_query_about_a_shard_is_longer_than_victoriametrics_takes() -> None:
    identity, grid = Identity(), Grid(1_700_000_000.0, 450.0)
    hosts = (f"mysql-shop-{number:05}.eu-west-1.db.example.com:9104" for number in range(500))
    keys = [key for host in hosts if (key := identity.server({"cluster": "eu-west-1", "instance": host}))]
    lengths: dict[str, int] = {}

    async def ask(shard: tuple[ServerKey, ...]) -> Mapping[ServerKey, None]:
        for query in (*sidecar.QUERIES, *mysqld_exporter.QUERIES):
            text = query.of(identity, identity.selector(shard), grid)
            lengths[query.name] = max(lengths.get(query.name, 0), len(text.encode()))
        return dict.fromkeys(shard)

    await over(keys, ask)
    assert {name: length for name, length in lengths.items() if length > 16_384} == {}
    assert min(lengths.values()) > 4_000


async def test_a_bug_is_not_taken_for_an_error_of_prometheus() -> None:
    async def broken(_: tuple[ServerKey, ...]) -> Mapping[ServerKey, str]:
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup):
        await over(KEYS, broken)
