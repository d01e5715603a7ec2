"""Changed passwords, revoked privileges, and required TLS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme

from lab.servers import PrivateServer
from tests.conftest import start_or_skip
from tests.faults.conftest import Account, create, drop
from tests.faults.guard import Guard, ask, kill

SOME = ("mysql-9.7", "mariadb-11.8", "mysql-5.6")
Start = Callable[..., PrivateServer]
Guarded = Callable[..., Guard]
Accounts = Callable[..., Account]


def set_password(server: PrivateServer, account: Account, password: str) -> None:
    """Rotate the password as an administrator; open sessions stay open."""
    new = f"PASSWORD('{password}')" if server.name == "mysql-5.6" else f"'{password}'"
    ask(
        server,
        f"SET PASSWORD FOR {account.name} = {new}"
        if server.name.startswith("mysql")
        else f"ALTER USER {account.name} IDENTIFIED BY '{password}'",
    )


@pytest.mark.parametrize("server", SOME, indirect=True)
def test_a_rotated_password_is_read_again_from_its_file(
    server: PrivateServer, account: Accounts, guarded: Guarded
) -> None:
    who = account(server)
    guard = guarded(server, login=who)
    guard.well()
    both = guard.both()
    set_password(server, who, "the-second-one")
    assert guard.collected().up
    assert guard.both() == both  # an open session needs no password
    kill(server, guard.sessions())
    refused = guard.down(f"refused the login of '{who.user}'")
    who.password_file.write_text("the-second-one\n")
    guard.well()
    guard.agrees()
    for secret in (who.password, "the-second-one"):
        assert secret not in refused + guard.sidecar.log()


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
def test_a_rotated_password_is_read_again_from_a_defaults_file(
    server: PrivateServer, account: Accounts, tmp_path: Path, guarded: Guarded
) -> None:
    who = account(server)
    defaults = tmp_path / "my.cnf"
    written = f"[client]\nhost=127.0.0.1\nport={server.port}\nuser={who.user}\npassword={{}}\n"
    defaults.write_text(written.format(who.password))
    guard = guarded(server, login=who, options=("--defaults-file", defaults))
    guard.well()
    set_password(server, who, "the-second-one")
    for content, reason in (
        ("[client\nnot an option file", str(defaults)),
        (written.format("wrong"), "refused the login"),
    ):
        defaults.write_text(content)
        kill(server, guard.sessions())
        guard.down(reason)
    defaults.unlink()
    guard.down(f"cannot read the defaults file {defaults}")
    defaults.write_text(written.format("the-second-one"))
    guard.well()
    guard.agrees()


@pytest.mark.parametrize("server", SOME[:2], indirect=True)
def test_a_revoked_privilege_makes_only_its_sources_unreadable(
    server: PrivateServer, account: Accounts, guarded: Guarded
) -> None:
    who = account(server)
    guard = guarded(server, login=who)
    guard.well()
    both = guard.both()
    ask(server, f"REVOKE SELECT ON performance_schema.* FROM {who.name}")
    shut = guard.until(lambda scrape: {"data_files", "table_scans"} <= scrape.failing)
    assert shut.up
    assert not shut.names & {"innodb_data_file_reads_total", "innodb_table_scan_rows_total"}
    assert {"innodb_buffer_pool_gets_total", "innodb_setting"} <= shut.names
    outcome = guard.sidecar.get("/snapshot").json()["outcomes"]["data_files"]
    assert outcome["failure"] == "privilege"
    assert outcome["cure"] == f"GRANT SELECT ON performance_schema.* TO {who.name}"
    ask(server, outcome["cure"])
    guard.well()
    assert guard.both() == both
    guard.agrees()


@pytest.mark.parametrize("server", SOME[:2], indirect=True)
def test_an_account_whose_statements_are_all_refused_is_down_with_the_cure(
    server: PrivateServer, account: Accounts, guarded: Guarded
) -> None:
    who = account(server)
    guard = guarded(server, login=who)
    guard.well()
    ask(server, f"ALTER USER {who.name} WITH MAX_QUERIES_PER_HOUR 40")
    kill(server, guard.sessions())
    cure = "ALTER USER … WITH MAX_QUERIES_PER_HOUR 0"
    guard.down(cure)
    assert not guard.tried_again().up
    guard.down(cure)
    assert not guard.tried_again().up
    [line] = [line for line in guard.sidecar.log().splitlines() if cure in line]
    assert f"refuses the account '{who.user}'" in line
    ask(server, f"ALTER USER {who.name} WITH MAX_QUERIES_PER_HOUR 0")
    guard.well()
    guard.agrees()


@pytest.mark.parametrize("server", ["mariadb-11.8"], indirect=True)
def test_a_dropped_and_recreated_account_is_down_and_up(
    server: PrivateServer, account: Accounts, guarded: Guarded
) -> None:
    who = account(server)
    guard = guarded(server, login=who)
    guard.well()
    drop(server, who)
    kill(server, guard.sessions())
    guard.down("refused the login")
    create(server, who)
    guard.well()


# TLS


@dataclass(frozen=True)
class Certificates:
    """Certificates: an authority, the server and client that it signed, and another authority."""

    folder: Path

    @classmethod
    def made(cls, folder: Path) -> Certificates:
        authority, other = (trustme.CA(key_type=trustme.KeyType.RSA) for _ in range(2))
        server = authority.issue_cert("localhost", "127.0.0.1", key_type=trustme.KeyType.RSA)
        elsewhere = authority.issue_cert("db.elsewhere.example", key_type=trustme.KeyType.RSA)
        client = authority.issue_cert("watcher@example.org", common_name="watcher", key_type=trustme.KeyType.RSA)
        stranger = other.issue_cert("watcher@example.org", common_name="watcher", key_type=trustme.KeyType.RSA)
        for name, ca in (("ca", authority), ("other-ca", other)):
            ca.cert_pem.write_to_path(folder / f"{name}.pem")
        for name, issued in (
            ("server", server),
            ("elsewhere", elsewhere),
            ("client", client),
            ("stranger", stranger),
        ):
            issued.private_key_pem.write_to_path(folder / f"{name}-key.pem")
            issued.cert_chain_pems[0].write_to_path(folder / f"{name}.pem")
        return cls(folder)

    def options(self, server: str) -> dict[str, object]:
        return {
            "ssl-ca": self.folder / "ca.pem",
            "ssl-cert": self.folder / f"{server}.pem",
            "ssl-key": self.folder / f"{server}-key.pem",
        }

    def query(self, mode: str = "", ca: str = "", client: str = "") -> str:
        """The DSN's query string."""
        said = [("ssl-mode", mode), ("ssl-ca", ca and self.folder / f"{ca}.pem")]
        if client:
            said += [("ssl-cert", self.folder / f"{client}.pem"), ("ssl-key", self.folder / f"{client}-key.pem")]
        return "&".join(f"{name}={value}" for name, value in said if value)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates.made(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module", params=["mysql-9.7", "mariadb-11.8"])
def secured(request: pytest.FixtureRequest, certificates: Certificates) -> Iterator[PrivateServer]:
    """A server that requires TLS, with a certificate for 127.0.0.1."""
    with start_or_skip(
        request.param,
        {name: str(value) for name, value in certificates.options("server").items()} | {"performance-schema": "ON"},
    ) as server:
        ask(server, "SET GLOBAL require_secure_transport = ON")
        yield server


@pytest.mark.server
@pytest.mark.xdist_group("secured")
@pytest.mark.parametrize("requires", ["SSL", "X509"])
def test_a_server_that_requires_tls_is_watched_over_tls(
    secured: PrivateServer, certificates: Certificates, account: Accounts, guarded: Guarded, requires: str
) -> None:
    who = account(secured, requires)
    query = certificates.query("VERIFY_IDENTITY", "ca", "client") if requires == "X509" else ""
    guard = guarded(secured, login=who, query=query)
    guard.well()
    both = guard.both()
    guard.agrees()
    assert guard.both() == both


@dataclass(frozen=True)
class Shut:
    """A login that must fail, and the reason that the sidecar gives."""

    reason: str
    requires: str = ""
    mode: str = ""
    ca: str = ""
    client: str = ""


@pytest.mark.server
@pytest.mark.xdist_group("secured")
@pytest.mark.parametrize(
    "shut",
    [
        Shut("certificate verify failed", mode="VERIFY_CA", ca="other-ca"),
        Shut("refused the login", mode="DISABLED"),
        Shut("refused the login", requires="X509", mode="REQUIRED"),
        Shut("cannot connect|closed the connection|refused the login", "X509", "REQUIRED", client="stranger"),
    ],
    ids=["another authority", "tls off", "no certificate", "a stranger's certificate"],
)
def test_a_wrong_or_missing_certificate_is_down_with_the_reason(
    secured: PrivateServer, certificates: Certificates, account: Accounts, guarded: Guarded, shut: Shut
) -> None:
    who = account(secured, shut.requires)
    guard = guarded(secured, login=who, query=certificates.query(shut.mode, shut.ca, shut.client))
    guard.down(shut.reason)
    assert not guard.source.history


@pytest.mark.parametrize("name", ["mysql-9.7"])
def test_a_certificate_for_another_host_fails_only_verify_identity(
    name: str, start_server: Start, certificates: Certificates, account: Accounts, guarded: Guarded
) -> None:
    server = start_server(name, **certificates.options("elsewhere"))
    who = account(server)
    guard = guarded(server, login=who, query=certificates.query("VERIFY_IDENTITY", "ca"))
    guard.down("IP address mismatch")


def test_a_renewed_certificate_is_read_again(
    start_server: Start, certificates: Certificates, guarded: Guarded, tmp_path: Path
) -> None:
    """The authority's file is replaced while the sidecar runs, as cert-manager does."""
    server = start_server("mysql-9.7", **certificates.options("server"))
    authority = tmp_path / "authority.pem"
    authority.write_bytes((certificates.folder / "other-ca.pem").read_bytes())
    guard = guarded(server, query=f"ssl-mode=VERIFY_IDENTITY&ssl-ca={authority}")
    guard.until(lambda scrape: not scrape.up)
    authority.write_bytes((certificates.folder / "ca.pem").read_bytes())
    guard.well()
    guard.agrees()
