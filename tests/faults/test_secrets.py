"""A password never leaks: the tests search everything that the sidecar writes, logs and serves."""

from __future__ import annotations

import base64
import gzip
import json
import logging
import os
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from click.testing import CliRunner

from advisor.cli.main import main
from exporter import state_file
from exporter.connection.session import Session
from exporter.connection.target import PASSWORD_VARIABLE, Target, resolve
from lab.servers import PrivateServer
from tests.advisor.in_process import InProcess
from tests.advisor.sidecar import Sidecar
from tests.faults.conftest import Account
from tests.faults.guard import ask, kill
from tests.waiting import wait_for

PASSWORD = "S3cr*t %(x)s pä&=+/#;<b>\\ü"
LEAST = 6
"""Characters of it that give it away."""
PATHS = (
    "/",
    "/metrics",
    "/snapshot",
    "/advise",
    "/curve",
    "/rules",
    "/healthz",
    "/readyz",
    "/docs",
    "/openapi.json",
    "/none",
)


def forms(secret: str) -> set[bytes]:
    """The secret in all its encodings."""
    raw = secret.encode()
    encoded = [base64.b64encode(b" " * shift + raw)[shift + 1 : -4] for shift in range(3)]
    texts = {secret, repr(secret)[1:-1], json.dumps(secret)[1:-1], quote(secret), quote_plus(secret), raw.hex()}
    return {text.encode() for text in texts} | set(encoded) | {base64.b64encode(raw).rstrip(b"=")} | {raw[:LEAST]}


def leaks(content: bytes, secret: str = PASSWORD) -> set[bytes]:
    return {form for form in forms(secret) if form in content}


def test_the_search_finds_a_leaked_secret() -> None:
    for written in (PASSWORD, quote(PASSWORD), json.dumps({"p": PASSWORD}), repr({"p": PASSWORD})):
        assert leaks(f"before {written} after".encode())
    for shift in range(3):
        assert leaks(base64.b64encode(b"x" * shift + PASSWORD.encode() + b"yz"))
    assert not leaks(b"nothing of the kind")


@pytest.fixture
def login(server: PrivateServer, account: Callable[..., Account]) -> Account:
    """An account with that password."""
    who = account(server)
    with server.connect(charset="utf8mb4") as root, root.cursor() as cursor:
        cursor.execute("ALTER USER %s@'%%' IDENTIFIED BY %s", (who.user, PASSWORD))
    return who


Way = tuple[list[object], Mapping[str, str]]


def ways(folder: Path, who: Account, port: int, password: str = PASSWORD) -> dict[str, Way]:
    """Options and environment for each way to give the sidecar a password."""
    secret_file, defaults = folder / "pw", folder / "my.cnf"
    secret_file.write_text(password + "\n", encoding="utf-8")
    quoted = password.replace("\\", "\\\\")
    defaults.write_text(
        f'[client]\nhost=127.0.0.1\nport={port}\nuser={who.user}\npassword="{quoted}"\n', encoding="utf-8"
    )
    return {
        "password file": (["--dsn", who.dsn(port), "--password-file", secret_file], {}),
        "environment": (["--dsn", who.dsn(port)], {PASSWORD_VARIABLE: password}),
        "defaults file": (["--defaults-file", defaults], {}),
    }


def everything(sidecar: Sidecar | InProcess) -> dict[str, bytes]:
    """A sidecar's responses and its log."""
    shown = {}
    for path in PATHS:
        for accept in ("application/json", "text/plain", "text/html"):
            answer = sidecar.get(path, headers={"Accept": accept})
            shown[f"{path} as {accept}"] = str(answer.headers.raw).encode() + answer.content
    for body in ({"set": {"innodb_old_blocks_pct": 80}}, {"set": 1}, "no json"):
        shown[f"/whatif {body}"] = sidecar.post("/whatif", json=body).content
    shown["log"] = sidecar.log().encode()
    return shown


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
@pytest.mark.parametrize("way", ["password file", "defaults file"])
def test_a_sidecar_shows_and_writes_no_password(
    server: PrivateServer, login: Account, way: str, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    options, _ = ways(tmp_path, login, server.port)[way]
    with InProcess(*options, "--interval", "0.5s", "--state-dir", state) as sidecar:
        shows_no_password(sidecar, server, login)
    assert not leaks(sidecar.log().encode())
    assert not written_with_a_password(state)


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
def test_a_process_shows_no_password_of_its_environment(server: PrivateServer, login: Account, tmp_path: Path) -> None:
    state = tmp_path / "state"
    options, env = ways(tmp_path, login, server.port)["environment"]
    sidecar = Sidecar(tmp_path, *options, "-v", "--interval", "0.5s", "--state-dir", state, env=env)
    try:
        shows_no_password(sidecar, server, login)
        assert not leaks(Path(f"/proc/{sidecar.process.pid}/cmdline").read_bytes())
        assert sidecar.stop() == 0
    finally:
        sidecar.kill()
    assert not leaks(sidecar.log().encode())
    assert not written_with_a_password(state)


def shows_no_password(sidecar: Sidecar | InProcess, server: PrivateServer, login: Account) -> None:
    """Not even after it had to log in once more."""
    wait_for(lambda: sidecar.get("/readyz").is_success)
    first = _sessions(server, login)
    kill(server, first)
    wait_for(lambda: not first & _sessions(server, login) and sidecar.get("/readyz").is_success)
    assert {name: leaks(content) for name, content in everything(sidecar).items() if leaks(content)} == {}


def written_with_a_password(folder: Path) -> list[Path]:
    [database] = state_file.paths(folder)
    recordings = state_file.read(database, lambda file: file.execute("SELECT recording FROM snapshots").fetchall())
    assert recordings
    if any(leaks(gzip.decompress(recording)) for (recording,) in recordings):
        return [database]
    return [path for path in folder.rglob("*") if path.is_file() and leaks(path.read_bytes())]


def _sessions(server: PrivateServer, who: Account) -> set[int]:
    rows = ask(server, f"SELECT ID FROM information_schema.PROCESSLIST WHERE USER = '{who.user}'")
    return {number for (number,) in rows}


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
def test_a_wrong_password_is_not_repeated_by_a_sidecar(
    server: PrivateServer, login: Account, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    wrong = PASSWORD[::-1]
    options, _ = ways(tmp_path, login, server.port, wrong)["defaults file"]
    with InProcess(*options) as sidecar:
        wait_for(lambda: "refused the login" in sidecar.get("/readyz").text)
        shown = {**everything(sidecar), "messages": "\n".join(caplog.messages).encode()}
    for secret in (wrong, PASSWORD):
        assert not any(leaks(content, secret) for content in shown.values())


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
@pytest.mark.parametrize("way", ["password file", "environment", "defaults file"])
def test_no_recording_and_no_command_output_has_a_password(
    server: PrivateServer, login: Account, way: str, tmp_path: Path
) -> None:
    output = tmp_path / "recording.jsonl"
    options, env = ways(tmp_path, login, server.port)[way]
    for arguments in (
        ("record", *options, "--for", "1s", "--interval", "1s", "-o", output),
        ("check", *options),
        ("check", *options, "--format", "json"),
        ("advise", *options, "--watch", "1s", "--format", "json"),
    ):
        done = CliRunner(env=env).invoke(main, [str(argument) for argument in arguments])
        assert done.exit_code in (0, 1), done.stderr
        assert not leaks(done.stdout_bytes + done.stderr_bytes), arguments[0]
    assert not leaks(output.read_bytes())


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
async def test_no_error_repr_or_log_record_has_a_password(
    server: PrivateServer, login: Account, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    (tmp_path / "pw").write_text(PASSWORD + "\n", encoding="utf-8")
    target = resolve(login.dsn(server.port), None, tmp_path / "pw", os.environ)
    assert target.password == PASSWORD
    connection = await Session.open(target, statement_seconds=5)
    shown = [repr(target), repr(connection), repr(vars(connection)), str(target.address)]
    await connection.close()
    for broken in (
        Target(port=server.port, user=login.user, password=PASSWORD[::-1]),
        Target(port=1, user=login.user, password=PASSWORD),
        Target(host="no-such-host.invalid", user=login.user, password=PASSWORD),
    ):
        with pytest.raises(Exception) as raised:  # noqa: PT011 - any error, but without the password
            await Session.open(broken, statement_seconds=5, connect_seconds=5)
        error: BaseException | None = raised.value
        shown += traceback.format_exception(raised.value)
        while error is not None:
            shown += [str(error), repr(error), repr(error.args)]
            error = error.__cause__ or error.__context__
    said = "\n".join((*shown, *caplog.messages)).encode()
    assert not leaks(said)
    assert not leaks(said, PASSWORD[::-1])
