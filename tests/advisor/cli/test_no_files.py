"""What is no file, in place of each file that an option or a configuration names: refused at once, and named."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from ruamel.yaml import YAML

from advisor.cli.main import main
from tests.advisor.building import capture
from tests.advisor.http.certificates import Authority

RECORDING = ("--recording", capture("mysql-9.7/repeated-scan"))
NOWHERE = "mysql://a@127.0.0.1:1/"
UNSET = ("DSN", "PASSWORD", "CONFIG", "RULES", "WEB_CONFIG", "ALERTMANAGER", "ALERTMANAGER_CONFIG", "PROMETHEUS")
BEGUN = ("serve", "--listen", "127.0.0.1:0", "--dsn", NOWHERE)
PUSHED = (*BEGUN, "--alertmanager", "https://am", "--alertmanager-config")
FLEET = ("fleet", "--prometheus", "http://127.0.0.1:1")


@pytest.fixture(params=["pipe", "device", "folder", "link to a pipe", "without an end"])
def odd(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str]:
    """Something in place of a file, and what is said of it."""
    path = tmp_path / "odd"
    match request.param:
        case "pipe":
            os.mkfifo(path)
            return path, "Is a named pipe; write what it gives to a file first"
        case "device":
            path.symlink_to("/dev/zero")
            return path, "Is a device; write what it gives to a file first"
        case "folder":
            path.mkdir()
            return path, "Is a directory"
        case "link to a pipe":
            os.mkfifo(tmp_path / "pipe")
            path.symlink_to("pipe")
            return path, "Is a named pipe"
        case _:
            with path.open("wb") as file:
                file.truncate(10 << 30)
            return path, "Is larger than"


def refused(*arguments: object) -> str:
    """What is said, on one line."""
    runner = CliRunner(env=dict.fromkeys(f"INNODB_ADVISOR_{name}" for name in UNSET))
    done = runner.invoke(main, [str(argument) for argument in arguments])
    assert (done.exit_code, done.stdout) == (2, ""), done.exception
    return " ".join(done.stderr.split())


@pytest.mark.parametrize(
    "arguments",
    [
        ("advise", *RECORDING, "--config", "{odd}"),
        ("lru", "{odd}"),
        ("check", "--dsn", NOWHERE, "--password-file", "{odd}"),
        ("check", "--defaults-file", "{odd}"),
        ("check", "--dsn", f"{NOWHERE}?ssl-ca={{odd}}"),
        ("check", "--dsn", f"{NOWHERE}?ssl-cert={{odd}}"),
        (*BEGUN, "--web-config", "{odd}"),
        (*PUSHED, "{odd}"),
        (*FLEET, "--prometheus-config", "{odd}"),
        (*FLEET, "--header", "@{odd}"),
    ],
    ids=lambda value: " ".join(map(str, value[:1] + value[-2:])),
)
def test_an_option(arguments: tuple[object, ...], odd: tuple[Path, str]) -> None:
    path, reason = odd
    message = refused(*(str(argument).format(odd=path) for argument in arguments))
    assert str(path) in message
    assert reason in message


READERS = {
    "advise": ("advise", "--recording", "{odd}"),
    "grade": ("grade", "{odd}"),
    "anonymise": ("anonymise", "{odd}", "-o", "{odd}.anonymous"),
    "curve": ("curve", "--recording", "{odd}"),
}
"""Commands that read a recording of others."""


@pytest.mark.parametrize("command", READERS.values(), ids=READERS)
def test_a_recording(command: tuple[str, ...], odd: tuple[Path, str]) -> None:
    path, reason = odd
    message = refused(*(argument.format(odd=path) for argument in command))
    assert str(path) in message
    assert reason.replace("Is larger than", "a line of more than 16 MiB") in message


@pytest.mark.parametrize("command", READERS.values(), ids=READERS)
def test_a_recording_that_would_take_all_memory(command: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(gzip.compress(bytes(100 << 20), 1))
    assert f"{path}:1: a line of more than 16 MiB" in refused(*(argument.format(odd=path) for argument in command))


@pytest.mark.parametrize("command", [("advise", *RECORDING, "--rules"), ("rules", "test")], ids=["--rules", "test"])
def test_a_rule(command: tuple[object, ...], odd: tuple[Path, str], tmp_path: Path) -> None:
    path, reason = odd
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "mine.yaml").symlink_to(path)
    message = refused(*command, tmp_path / "rules")
    assert f"{tmp_path / 'rules' / 'mine.yaml'}: cannot read it: {reason}" in message


@pytest.mark.parametrize("key", ["cert_file", "key_file", "client_ca_file"])
def test_a_file_of_the_web_configuration(
    key: str, odd: tuple[Path, str], tmp_path: Path, write: Callable[..., Path]
) -> None:
    _, reason = odd
    Authority(tmp_path).issue("server")
    files = {"cert_file": "server.pem", "key_file": "server.key", "client_ca_file": "ca.pem", key: "odd"}
    path = write(tls_server_config={**files, "client_auth_type": "RequireAndVerifyClientCert"})
    message = refused(*BEGUN, "--web-config", path)
    assert message.startswith(f"Error: {path}:")
    assert f"tls_server_config.{key}: cannot read it: {reason}" in message


@pytest.mark.parametrize(
    ("part", "keys"),
    [
        ("tls_config", {"ca_file": "odd"}),
        ("tls_config", {"cert_file": "server.pem", "key_file": "odd"}),
        ("tls_config", {"key_file": "server.key", "cert_file": "odd"}),
        ("authorization", {"credentials_file": "odd"}),
        ("basic_auth", {"password_file": "odd", "username": "a"}),
    ],
    ids=lambda value: value if isinstance(value, str) else next(key for key in value if value[key] == "odd"),
)
def test_a_file_of_a_client_configuration(
    part: str, keys: dict[str, str], odd: tuple[Path, str], tmp_path: Path, write: Callable[..., Path]
) -> None:
    _, reason = odd
    Authority(tmp_path).issue("server")
    path = write(**{part: keys})
    message = refused(*PUSHED, path)
    assert message.startswith(f"Error: {path}:")
    assert f"{next(key for key in keys if keys[key] == 'odd')}: cannot read it: {reason}" in message


def test_the_key_of_a_client_certificate(odd: tuple[Path, str], tmp_path: Path) -> None:
    path, reason = odd
    Authority(tmp_path).issue("client")
    message = refused("check", "--dsn", f"{NOWHERE}?ssl-cert={tmp_path / 'client.pem'}&ssl-key={path}")
    assert f"cannot use the TLS files: {path}: {reason}" in message


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a configuration of these keys."""

    def written(**content: object) -> Path:
        path = tmp_path / "configuration.yaml"
        with path.open("w") as file:
            YAML().dump(content, file)
        return path

    return written
