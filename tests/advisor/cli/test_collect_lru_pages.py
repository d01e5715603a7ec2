from collections.abc import Callable

from lab.servers import Server
from tests.advisor.sidecar import Sidecar, values

StartServer = Callable[..., Server]
Serve = Callable[..., Sidecar]


def test_the_pages_of_a_large_pool_are_read_only_if_asked_for_anyway(start_server: StartServer, serve: Serve) -> None:
    # Above the limit, and all but empty: MariaDB touches no page before it needs it.
    large = start_server("mariadb-11.8", innodb_buffer_pool_size="11G")
    found = {}
    for option in ("--collect-lru-pages", "--collect-lru-pages-anyway"):
        sidecar = serve("--dsn", large.dsn, option)
        metrics = values(sidecar.get("/metrics").text)
        outcome = sidecar.get("/snapshot").json()["outcomes"]["lru_pages"]
        succeeded = metrics["innodb_exporter_collector_success", frozenset({("collector", "lru_pages")})]
        pages = sum(value for (name, _), value in metrics.items() if name == "innodb_index_lru_pages")
        found[option] = succeeded, outcome["failure"], pages > 0
        if option == "--collect-lru-pages":
            assert "11.0 GiB" in outcome["reason"]
            assert "--collect-lru-pages-anyway" in outcome["cure"]
    assert found == {
        "--collect-lru-pages": (0, "disabled", False),
        "--collect-lru-pages-anyway": (1, None, True),
    }
