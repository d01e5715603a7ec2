from __future__ import annotations

import json
import re

import pytest

from advisor.fleet.client import PrometheusClient
from advisor.fleet.identity import Identity, ServerKey, host
from advisor.fleet.queries import FleetQuery
from advisor.fleet.reader import FleetReader
from advisor.fleet.series import Grid
from tests.advisor.fleet.answering import Answering, plain

POD = {"cluster": "eu", "namespace": "shop", "pod": "db-1", "instance": "10.0.0.7:9104", "job": "mysql"}


@pytest.mark.parametrize(
    ("labels", "name"),
    [
        (POD, "eu/shop/db-1"),
        (POD | {"cluster": ""}, "shop/db-1"),
        (POD | {"pod": ""}, "eu/10.0.0.7"),
        ({"instance": "db-1.example.com:3306"}, "db-1.example.com"),
        ({"instance": "[2001:db8::7]:9104"}, "2001:db8::7"),
        ({"instance": "2001:db8::7"}, "2001:db8::7"),
        ({"instance": "db-1"}, "db-1"),
        ({"job": "mysql"}, None),
    ],
)
def test_a_server_is_a_pod_or_else_a_host(labels: dict[str, str], name: str | None) -> None:
    key = Identity().server(labels)
    assert (key and key.name) == name


def test_labels_that_the_user_names_count_alone() -> None:
    named = Identity(("team", "instance"))
    key = named.server(POD | {"team": "a"})
    assert key
    assert (key.name, named.by) == ("a/10.0.0.7:9104", "team, instance")
    with pytest.raises(ValueError, match="tells replicas"):
        Identity(("replica",))


def test_a_selector_matches_all_exporters_of_the_servers_and_nothing_by_accident() -> None:
    identity = Identity()
    keys = [identity.server({"instance": instance}) for instance in ("db.1:9104", 'a"b:1', "x|y:2", "back\\slash:3")]
    text = identity.selector([key for key in keys if key])
    assert text.startswith('instance=~"')
    pattern = re.sub(r"\\(.)", r"\1", text.removeprefix('instance=~"').removesuffix('"'))
    assert all(re.fullmatch(pattern, instance) for instance in ("db.1:9104", 'a"b:1', "x|y:2", "back\\slash:3"))
    assert not any(re.fullmatch(pattern, instance) for instance in ("dbx1:9104", "x", "y:2"))
    bare = identity.selector([ServerKey("db-1", {"instance": "db-1"})])
    assert bare == 'instance=~"db-1(:[0-9]+)?"'
    pods = [identity.server(POD | {"pod": f"db-{n}"}) for n in (1, 2)]
    assert identity.selector([key for key in pods if key]) == 'cluster=~"eu",namespace=~"shop",pod=~"db-1|db-2"'


async def test_series_of_two_scrapes_of_a_server_become_one_with_the_larger_values() -> None:
    matrix = [
        {"metric": {"instance": "db-1:1", "pool": "0"}, "values": [[1, "5"], [2, "6"]]},
        {"metric": {"instance": "db-1:2", "pool": "0"}, "values": [[2, "7"], [3, "1"]]},
        {"metric": {"job": "nobody"}, "values": [[1, "1"]]},
    ]
    body = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": matrix}}).encode()
    with Answering(lambda _: plain(body)) as answering:
        async with PrometheusClient(answering.url) as client:
            reader = FleetReader(client, Identity(), "", Grid(3.0, 1.0, 3))
            answer = await reader.ask([FleetQuery("pages", "pages{$S}", ("pool",))])
    [(key, series)] = answer.servers.items()
    assert (key.name, answer.nameless) == ("db-1", 1)
    assert series.series("pages") == {("0",): {1.0: 5.0, 2.0: 7.0, 3.0: 1.0}}


def test_the_host_of_an_instance_has_no_port() -> None:
    assert host("db-1:9104") == "db-1"
