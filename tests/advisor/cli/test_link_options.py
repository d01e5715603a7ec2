"""What `serve` takes and refuses as addresses for people."""

from __future__ import annotations

import socket

import click
import pytest

from advisor.cli.serve import serve
from advisor.cli.service_options import Addresses
from advisor.contract.links import Links

SECRET = "hunter2"
DASHBOARD = "https://grafana.example/d/innodb-advisor-lru?var-instance=db1:3306&from=now-6h#top"


def parsed(*options: str) -> Addresses:
    params = serve.make_context("serve", [*options]).params
    return Addresses(params["external_url"], params["dashboard_url"], params["allowed_hosts"])


@pytest.mark.parametrize(
    ("option", "written", "message"),
    [
        ("--external-url", "advisor.example.com", "is not a URL such as https://advisor.example.com/db1"),
        ("--external-url", "javascript:alert(1)", "is not a URL such as"),
        ("--external-url", f"https://u:{SECRET}@a.example", "names a user"),
        ("--external-url", "https://a.example/?db=1", "has more than a path behind the host"),
        ("--external-url", "https://a.example/#", "has more than a path behind the host"),
        ("--dashboard-url", "grafana/d/x", "is not a URL such as https://grafana.example.com/d/"),
        ("--dashboard-url", "javascript:alert(1)//grafana", "is not a URL such as"),
        ("--dashboard-url", "https://a.example/d/x?var=a b", "is not a URL such as"),
        ("--dashboard-url", f"https://u:{SECRET}@a.example/d/x?y=z", "names a user"),
        ("--allowed-host", "https://a.example", "is not a name such as advisor.example.com, without scheme and port"),
        ("--allowed-host", "a.example:9747", "is not a name such as"),
        ("--allowed-host", "*.example", "is not a name such as"),
        ("--allowed-host", "", "is not a name such as"),
    ],
)
def test_what_cannot_be_an_address_is_refused(option: str, written: str, message: str) -> None:
    with pytest.raises(click.BadParameter, match=message) as refused:
        parsed(option, written)
    assert SECRET not in refused.value.format_message()


def test_the_page_is_where_the_option_says_and_the_dashboard_keeps_its_query() -> None:
    links = parsed("--external-url", "https://a.example/db1/", "--dashboard-url", DASHBOARD).links("http", 1)
    assert links == Links("https://a.example/db1", DASHBOARD)
    assert links.finding("a63178a321b3b23c") == "https://a.example/db1/#a63178a321b3b23c"
    assert links.data("a63178a321b3b23c") == "https://a.example/db1/advise/a63178a321b3b23c"
    assert links.rule("warmup-disabled") == "https://a.example/db1/rules/warmup-disabled"


def test_the_page_is_at_this_machines_name_by_default_and_there_is_no_dashboard() -> None:
    assert parsed().links("https", 9747) == Links(f"https://{socket.gethostname()}:9747", None)


def test_the_environment_names_them_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INNODB_ADVISOR_EXTERNAL_URL", "https://a.example")
    monkeypatch.setenv("INNODB_ADVISOR_DASHBOARD_URL", DASHBOARD)
    assert parsed() == Addresses("https://a.example", DASHBOARD)


def test_names_may_be_allowed_by_options_and_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parsed("--allowed-host", "A.example.", "--allowed-host", "db1").allowed_hosts == ("a.example", "db1")
    monkeypatch.setenv("INNODB_ADVISOR_ALLOWED_HOSTS", "a.example b.example")
    assert parsed().allowed_hosts == ("a.example", "b.example")
