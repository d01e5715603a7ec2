"""A pool of several instances, whose least size is 1 GiB, as each source tells of it."""

from collections.abc import Callable
from typing import Any

import pytest

from exporter.rows import Rows
from exporter.status_text import PoolText
from lab.harness import workloads
from lab.servers import PrivateServer
from tests.exporter.collectors.test_innodb_status import PAGES, between_two_looks
from tests.exporter.collectors.test_lru_pages import assert_all_pages_are_there, of_one_moment


@pytest.mark.parametrize("name", ["mysql-9.7", "mysql-5.6"])
def test_each_instance_is_told_from_the_total(
    name: str,
    start_server: Callable[..., PrivateServer],
    fetch: Callable[[PrivateServer, str], Rows],
    ask: Callable[..., list[tuple[Any, ...]]],
) -> None:
    server = start_server(name, innodb_buffer_pool_size="1G", innodb_buffer_pool_instances=4)
    with server.connect() as connection:
        workloads.make_table(connection, "spread", 3000)  # an old sublist of an instance begins with 512 pages
    four, status = between_two_looks(server, fetch, ask)
    assert len(four) == 4
    assert status.pools == tuple(PoolText(**{name: getattr(pool, name) for name in PAGES}) for pool in four)
    assert len(set(status.pools)) > 1
    assert status.total == PoolText(**{name: sum(getattr(pool, name) for pool in four) for name in PAGES})
    pools, pages = of_one_moment(server, ask)
    assert len(pools) == 4
    assert_all_pages_are_there(pools, pages)
