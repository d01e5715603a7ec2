"""`--collect-lru-pages` and `--collect-lru-pages-anyway`, on a pool above the limit."""

import pytest

from exporter.collectors import lru_pages
from lab.servers import PrivateServer
from tests.advisor.in_process import InProcess
from tests.advisor.sidecar import values


@pytest.mark.parametrize("server", ["mariadb-11.8"], indirect=True)
def test_the_pages_of_a_large_pool_are_read_only_if_asked_for_anyway(
    server: PrivateServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lru_pages, "LARGEST_POOL", 16 << 20)
    outcomes = {}
    for option in ("--collect-lru-pages", "--collect-lru-pages-anyway"):
        with InProcess("--dsn", server.dsn, option) as sidecar:
            metrics = values(sidecar.get("/metrics").text)
            outcome = sidecar.get("/snapshot").json()["outcomes"]["lru_pages"]
        succeeded = metrics["innodb_exporter_collector_success", frozenset({("collector", "lru_pages")})]
        pages = sum(value for (name, _), value in metrics.items() if name == "innodb_index_lru_pages")
        outcomes[option] = succeeded, outcome["failure"], pages > 0
        if option == "--collect-lru-pages":
            assert "0.1 GiB" in outcome["reason"]
            assert "--collect-lru-pages-anyway" in outcome["cure"]
    assert outcomes == {
        "--collect-lru-pages": (0, "disabled", False),
        "--collect-lru-pages-anyway": (1, None, True),
    }
