"""The command line: help that teaches, advice for people and programs, and bad input that ends in one clear message."""

from __future__ import annotations

import functools
import gzip
import itertools
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout, suppress
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from advisor.cli import output as printed
from advisor.cli.main import main
from advisor.contract.recommendation import Advice
from advisor.observe import observation
from advisor.rules import check
from exporter.collectors import DEFAULT
from exporter.recording.file import replay
from exporter.server import identify
from lab.servers import PrivateServer
from tests.advisor.building import RULES_FOLDER, advised, capture, captured
from tests.advisor.conftest import Run, Spawn
from tests.waiting import DEADLINE, wait_for

COMMANDS = (
    *("serve", "advise", "record", "grade", "check", "curve", "whatif", "lru", "fleet", "upgrade", "mcp"),
    *("history", "receipt"),
    *("rules list", "rules show", "rules test"),
)
PASSWORD = "correct-horse-9"
SCAN = capture("mysql-9.7/repeated-scan")
RULES = check.load(RULES_FOLDER)

StartServer = Callable[..., PrivateServer]


def here(*arguments: object) -> Result:
    """The command in this process, for what ends before it talks to anyone."""
    unset = dict.fromkeys(f"INNODB_ADVISOR_{name}" for name in ("DSN", "PASSWORD", "CONFIG", "RULES"))
    return CliRunner(env=unset).invoke(main, [str(argument) for argument in arguments])


def refused(done: Result | subprocess.CompletedProcess[str]) -> str:
    """What a command that was refused said: exit code 2, nothing on standard output, one message, no traceback."""
    code = done.exit_code if isinstance(done, Result) else done.returncode
    assert code == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert PASSWORD not in done.stderr
    usage, mark, message = done.stderr.partition("Error: ")
    assert mark
    assert usage == "" or usage.startswith("Usage: ")
    return message.removesuffix("\n")


# Help


def named(words: str) -> click.Command:
    """The command behind a name of COMMANDS."""
    command: click.Command = main
    for name in words.split():
        assert isinstance(command, click.Group)
        command = command.commands[name]
    return command


@pytest.mark.parametrize("command", [(), ("rules",), *(tuple(command.split()) for command in COMMANDS)])
def test_help_shows_examples_that_stand_on_lines_of_their_own_and_the_exit_codes(command: tuple[str, ...]) -> None:
    done = here(*command, "--help")
    assert done.exit_code == 0
    assert re.search(r"^ +Examples:\n( +innodb-advisor \w+ .*\n)+", done.stdout, re.MULTILINE)
    assert re.search(
        r"^ +Exit codes:\n +0 +done\n +1 +.*\n.*\n +2 +.*\n +3 +.*\n +4 +.*\n +130 +", done.stdout, re.MULTILINE
    )
    assert "\\b" not in done.stdout
    assert here(*command, "-h").stdout == done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_says_what_it_is_for(command: str) -> None:
    assert [
        option.name
        for option in named(command).params
        if isinstance(option, click.Option) and not option.help and not option.show_default
    ] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_of_help_are_commands_that_are_understood(command: str) -> None:
    names = command.split()
    examples = re.findall(r"^ +innodb-advisor (.+)$", here(*names, "--help").stdout, re.MULTILINE)
    assert examples
    for example in examples:
        arguments = shlex.split(re.split(r"\|\|| > ", example)[0])
        assert arguments[: len(names)] == names
        named(command).make_context(command, arguments[len(names) :])


def test_the_version_is_the_packages() -> None:
    assert re.fullmatch(r"innodb-advisor, version \d+\.\d+\.\d+\n", here("--version").stdout)


# Advice from a recording


def test_advice_as_text(run: Run) -> None:
    done = run("advise", "--recording", SCAN)
    assert (done.returncode, done.stderr) == (0, "")
    for finding in advised(captured("mysql-9.7/repeated-scan")).recommendations:
        assert f"{finding.severity}  {finding.summary}\n" in done.stdout
        for change in finding.changes:
            assert all(f"  apply       {statement};" in done.stdout for statement in change.apply)


def test_advice_as_json_is_the_contract_and_nothing_else() -> None:
    done = here("advise", "--recording", SCAN, "--format", "json")
    assert done.exit_code == 0
    answer = Advice.model_validate_json(done.stdout)
    assert answer.computed_at
    undated = answer.model_copy(update={"computed_at": None, "age_seconds": None})
    judged = advised(captured("mysql-9.7/repeated-scan"))
    seen = tuple(finding.model_copy(update={"first_seen": answer.at}) for finding in judged.recommendations)
    assert undated == judged.model_copy(update={"recommendations": seen})
    changes = [change for finding in json.loads(done.stdout)["recommendations"] for change in finding["changes"]]
    assert {change["from"] for change in changes if change["setting"] == "innodb_old_blocks_pct"} == {37}


def test_advice_as_markdown() -> None:
    done = here("advise", "--recording", SCAN, "--format", "markdown")
    assert done.stdout.startswith("# innodb-advisor: mysql 9.7.")
    assert "```sql\nSET GLOBAL innodb_old_blocks_pct = " in done.stdout


@pytest.mark.parametrize(
    ("name", "rule_id", "severity", "code"),
    [
        ("mysql-9.7/repeated-scan", "scan-exceeds-old-sublist", "info", 1),
        ("mysql-9.7/repeated-scan", "scan-exceeds-old-sublist", "warning", 1),
        ("mysql-9.7/repeated-scan", "scan-exceeds-old-sublist", "critical", 0),
        ("mysql-9.7/change-buffer-single-merges", "change-buffering-without-benefit", "warning", 0),
        ("mysql-9.7/change-buffer-single-merges", "change-buffering-without-benefit", "info", 1),
        ("mysql-9.7/idle", "scan-exceeds-old-sublist", "info", 0),
    ],
)
def test_fail_on_ends_in_1_when_advice_is_as_severe(name: str, rule_id: str, severity: str, code: int) -> None:
    others = [("--suppress", rule.id) for rule in RULES if rule.id != rule_id]
    done = here("advise", "--recording", capture(name), "--fail-on", severity, *itertools.chain(*others))
    assert done.exit_code == code
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("name", "grants"),
    [
        (
            "mysql-9.7/unprivileged",
            ["PROCESS ON *.*", "SELECT ON mysql.innodb_index_stats", "SELECT ON performance_schema.*"],
        ),
        ("mariadb-10.11/unprivileged", ["PROCESS ON *.*", "SELECT ON mysql.innodb_index_stats"]),
    ],
)
@pytest.mark.parametrize("command", ["advise", "check"])
def test_a_recording_without_privileges_names_the_grants(name: str, grants: list[str], command: str) -> None:
    done = here(command, "--recording", capture(name))
    assert done.exit_code == 2
    assert done.stdout
    for grant in grants:
        assert re.search(rf"^  GRANT {re.escape(grant)} TO '\w+'@'[\w.%]+';$", done.stderr, re.MULTILINE)


# Bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["advise"], "name a server with --dsn mysql://user@host:port (or $INNODB_ADVISOR_DSN) or --defaults-file"),
        (["serve"], "name a server with --dsn"),
        (["check"], "name a server with --dsn"),
        (["record", "-o", "x"], "name a server with --dsn"),
        (["advise", "--dsn", "mysql://h", "--recording", SCAN], "--recording stands alone: it replaces the server"),
        (["check", "--defaults-file", "f", "--recording", SCAN], "--recording stands alone"),
        (["serve", "--password-file", "f", "--recording", SCAN], "--recording stands alone"),
        (["record", "--recording", SCAN, "-o", "x"], "No such option '--recording'"),
        (["anonymise", SCAN], "Missing option '-o' / '--output'"),
        (["anonymise", SCAN, "-o", SCAN], "-o names the recording itself: name another file"),
        (["anonymise", "absent", "-o", "x"], "cannot read the recording absent: No such file or directory"),
        (["record", "--dsn", "mysql://h"], "Missing option '-o' / '--output'"),
        (["advise", "--recording", SCAN, "--format", "xml"], "Invalid value for '--format': 'xml' is not one of"),
        (["advise", "--recording", SCAN, "--fail-on", "bad"], "Invalid value for '--fail-on': 'bad' is not one of"),
        (["advise", "--recording", SCAN, "--watch", "0"], "Invalid value for '--watch': '0' is not a duration such as"),
        (
            ["advise", "--dsn", "mysql://h", "--interval", "1d"],
            "Invalid value for '--interval': '1d' is not a duration",
        ),
        (["serve", "--recording", SCAN, "--interval", "5m"], "Invalid value for '--interval': '5m' is longer than 60s"),
        (["serve", "--recording", SCAN, "--listen", "9747"], "Invalid value for '--listen': '9747' is not an address"),
        (["serve", "--recording", SCAN, "--lisen", ":1"], "No such option '--lisen'."),
        (
            ["advise", "--recording", SCAN, "--memory", "lots"],
            "Invalid value for '--memory': lots is not a size such as",
        ),
        (["advise", "--recording", SCAN, "--cores", "nan"], "--cores needs a number such as 8"),
        (["advise", "--recording", SCAN, "--suppress", ""], "--suppress needs a rule or the fingerprint of a"),
        (["serve", "--recording", SCAN, "--cores", "0"], "Invalid value for '--cores': 0.0 is not in the range x>0"),
        (["serve", "--recording", SCAN, "--storage", "tape"], "Invalid value for '--storage': 'tape' is not one of"),
        (["rules", "show"], "Missing argument 'ID'"),
        (["rules", "show", "absent"], "there is no rule absent; there are "),
        (["rules", "test", "--rule", "absent"], "there is no rule absent"),
        (["rules", "test", "absent"], "absent: cannot read the rules: No such file or directory"),
        (["rules", "list", "--rules", "absent"], "absent: cannot read the rules: No such file or directory"),
        (["advise", "--recording", SCAN, "--config", "absent"], "absent: cannot read it: No such file or directory"),
        (["advice"], "No such command 'advice'. Did you mean 'advise'?"),
        (["check", "extra", "--recording", SCAN], "Got unexpected extra argument (extra)"),
    ],
)
def test_options_that_cannot_be_used_are_refused(arguments: list[object], message: str) -> None:
    assert refused(here(*arguments)).startswith(message)


@pytest.mark.parametrize("command", ["serve", "advise", "check"])
@pytest.mark.parametrize(
    ("dsn", "reason"),
    [
        ("db.example", "a DSN starts with mysql://; expected mysql://user@host:port or mysql://user@/?socket=/path"),
        ("postgres://me@host", "a DSN starts with mysql://"),
        ("mysql://me@host:port", "malformed DSN; expected mysql://user@host:port"),
        ("mysql://me@host:99999", "malformed DSN"),
        ("mysql://me@[::1", "malformed DSN"),
        ("mysql://me@host/shop", "the DSN names a database, which is not needed"),
        ("mysql://me@host?sslmode=on", "the DSN has an unknown option: sslmode"),
        ("mysql://me@host?ssl-mode=maybe", "the DSN: ssl-mode must be one of DISABLED, PREFERRED"),
        (f"mysql://me:{PASSWORD}@host", "the DSN holds a password, which every user of this machine could read"),
        ("me:secret@tcp(host:3306)/", "a DSN starts with mysql://"),
    ],
)
def test_a_dsn_that_cannot_be_used_is_refused(command: str, dsn: str, reason: str) -> None:
    message = refused(here(command, "--dsn", dsn))
    assert message.startswith(reason)
    assert "\n" not in message
    assert "secret" not in message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read the defaults file {file}: No such file or directory"),
        (b"", "{file} has no [client] section"),
        (b"[mysqld]\nuser = x\n", "{file} has no [client] section"),
        (b"[client]\nport = many\npassword = correct-horse-9\n", "{file}: port is not a number"),
        (b"[client]\npassword = \xff\xfe\n", "cannot read the defaults file {file}: it is not UTF-8 text"),
    ],
)
def test_a_defaults_file_that_cannot_be_used_is_refused(tmp_path: Path, content: bytes | None, message: str) -> None:
    file = tmp_path / "my.cnf"
    if content is not None:
        file.write_bytes(content)
    assert refused(here("check", "--defaults-file", file)) == message.format(file=file)


def test_a_password_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    done = here("check", "--dsn", "mysql://me@127.0.0.1:1", "--password-file", tmp_path / "absent")
    assert refused(done) == f"cannot read the password file {tmp_path / 'absent'}: No such file or directory"


def garbage(folder: Path) -> Iterator[tuple[Path, str]]:
    """Files that are no recordings, and what is said of them."""
    plain = gzip.decompress(SCAN.read_bytes())
    lines = plain.splitlines(keepends=True)
    contents = {
        "empty.jsonl": (b"", "{file}: truncated: it ends after line 0 without its end mark"),
        "empty.gz": (b"", "{file}"),
        "text.jsonl": (b"SHOW ENGINE INNODB STATUS\n", "{file}: not a recording of innodb-advisor"),
        "list.jsonl": (b"[1, 2]\n", "{file}: not a recording of innodb-advisor"),
        "other.jsonl": (b'{"a": 1}\n', "{file}: not a recording of innodb-advisor"),
        "binary.jsonl": (bytes(range(256)), "{file}: not a recording of innodb-advisor"),
        "named.gz": (plain, "{file} is named .gz but is not gzip-compressed, or is damaged"),
        "cut.jsonl": (b"".join(lines[:3]), "{file}: truncated: it ends after line 3 without its end mark"),
        "later.jsonl": (
            b'{"recording": 99}\n' + b"".join(lines[1:]),
            "{file}: recording format 99; this version reads 1",
        ),
        "holes.jsonl": (b"".join(lines[:3] + lines[9:]), "{file}:"),
        "bare.jsonl": (lines[0] + b'{"end": 1}\n', "{file} holds no complete collection"),
    }
    for name, (content, message) in contents.items():
        (folder / name).write_bytes(content)
        yield folder / name, message
    yield folder / "absent.gz", "cannot read the recording {file}: No such file or directory"
    yield folder, "cannot read the recording {file}: Is a directory"


def test_a_file_that_is_no_whole_recording_is_refused(tmp_path: Path) -> None:
    # All commands read it alike: each file by one of them. A port that is taken hides nothing of it.
    with socket.create_server(("127.0.0.1", 0)) as taken:
        serve = ("serve", "--listen", f"127.0.0.1:{taken.getsockname()[1]}")
        commands = itertools.cycle((serve, ("advise",), ("check",)))
        for (file, reason), command in zip(garbage(tmp_path), commands, strict=False):
            message = refused(here(*command, "--recording", file))
            assert message.startswith(reason.format(file=file))
            assert "\n" not in message


# Whoever answers is no MySQL server


@contextmanager
def listening(talk: Callable[[socket.socket], None]) -> Iterator[int]:
    """A port on the loopback address where ``talk`` has every conversation."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=talk, args=(connection,), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def says(banner: bytes) -> Callable[[socket.socket], None]:
    def talk(connection: socket.socket) -> None:
        with connection:
            connection.sendall(banner)
            connection.settimeout(20)
            connection.recv(1)

    return talk


@pytest.mark.parametrize(
    "banner",
    [b"SSH-2.0-OpenSSH_9.2\r\n", b"220 mail ESMTP\r\n", b"\x00" * 64, b"HTTP/1.0 400 Bad Request\r\n\r\n", b"-ERR\r\n"],
)
def test_a_server_of_another_kind_is_no_mysql_server(run: Run, banner: bytes) -> None:
    with listening(says(banner)) as port:
        message = refused(run("check", "--dsn", f"mysql://root@127.0.0.1:{port}"))
    assert message.startswith(f"127.0.0.1:{port} ")
    assert "MySQL" in message
    assert "\n" not in message


def test_one_that_hangs_up_is_no_mysql_server(run: Run) -> None:
    with listening(lambda connection: connection.close()) as port:
        message = refused(run("check", "--dsn", f"mysql://root@127.0.0.1:{port}"))
    assert message == f"127.0.0.1:{port} closed the connection without a MySQL greeting; is it a MySQL server?"


def test_nobody_at_the_address_is_said(run: Run, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    for command in (["check"], ["advise"], ["record", "-o", tmp_path / "x.gz"]):
        message = refused(run(*command, "--dsn", f"mysql://root@127.0.0.1:{port}"))
        assert message == f"cannot connect to 127.0.0.1:{port}: Connection refused"
    message = refused(run("check", "--dsn", f"mysql://root@/?socket={tmp_path / 'absent.sock'}"))
    assert message == f"cannot connect to {tmp_path / 'absent.sock'}: No such file or directory"
    assert list(tmp_path.iterdir()) == []


# Real servers


def execute(server: PrivateServer, *statements: str) -> None:
    with server.connect() as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


@contextmanager
def account(server: PrivateServer, name: str, *grants: str) -> Iterator[str]:
    """An account with PASSWORD; its DSN."""
    execute(server, f"CREATE USER {name}@'%' IDENTIFIED BY '{PASSWORD}'")
    try:
        execute(server, *(f"GRANT {grant} TO {name}@'%'" for grant in grants))
        yield f"mysql://{name}@{server.host}:{server.port}"
    finally:
        execute(server, f"DROP USER {name}@'%'")


ALL = ("PROCESS ON *.*", "SELECT ON performance_schema.*", "SELECT ON mysql.innodb_index_stats")


def marks(text: str) -> dict[str, str]:
    """What `check` says of each source."""
    lines = [line.split() for line in text.splitlines()[2:] if not line.startswith(" ")]
    return {words[0]: words[1] for words in lines}


def test_check_says_what_can_be_read_on_every_server(server: PrivateServer, run: Run) -> None:
    done = run("check", "--dsn", server.dsn)
    assert (done.returncode, done.stderr) == (0, "")
    first, header, *_ = done.stdout.splitlines()
    assert first.startswith(f"{'mysql' if server.name.startswith('mysql') else 'mariadb'} {server.version}, as root@")
    assert header.split() == ["source", "why", "cure", "rules", "that", "need", "it"]
    sources = marks(done.stdout)
    assert list(sources) == [source.name for source in DEFAULT]
    assert {sources["pools"], sources["status"], sources["table_scans"]} == {"ok"}
    assert sources["cached_indexes"] == ("ok" if server.name == "mysql-9.7" else "–")

    same = json.loads(run("check", "--dsn", server.dsn, "--format", "json").stdout)
    assert same["server"].endswith(server.version)
    assert same["account"].startswith("root@")
    assert [source["source"] for source in same["sources"]] == list(sources)
    identified = identify({"version": same["server"].partition(" ")[2]})
    [pools] = [source for source in same["sources"] if source["source"] == "pools"]
    assert pools == {
        "source": "pools",
        "ok": True,
        "reason": "",
        "cure": None,
        "needed_by": [rule.id for rule in RULES if "pools" in rule.file.needs and identified in rule.file.applies],
    }


def test_check_says_why_a_source_cannot_be_read_and_ends_in_1(run: Run) -> None:
    recording = capture("mariadb-11.8/idle")
    done = run("check", "--recording", recording)
    assert (done.returncode, done.stderr) == (1, "")
    assert marks(done.stdout)["table_scans"] == "no"
    same = run("check", "--recording", recording, "--format", "json")
    assert same.returncode == 1
    sources = {source["source"]: source for source in json.loads(same.stdout)["sources"]}
    assert sources["table_scans"]["ok"] is False
    assert sources["table_scans"]["reason"] == "performance_schema is OFF"
    assert "performance_schema = ON" in sources["table_scans"]["cure"]
    assert all(source["reason"] for source in sources.values() if not source["ok"])


few_servers = pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-11.8", "mysql-5.6"], indirect=True)


@few_servers
def test_a_wrong_password_is_said_without_the_password(server: PrivateServer, run: Run) -> None:
    with account(server, "locked") as dsn:
        for command in (["check"], ["advise", "--watch", "1s"]):
            done = run(*command, "--dsn", dsn, env={"INNODB_ADVISOR_PASSWORD": "wrong-horse"})
            message = refused(done)
            assert message.startswith(f"127.0.0.1:{server.port} refused the login of 'locked': Access denied for user")
            assert "wrong-horse" not in message
            assert "\n" not in message


@few_servers
def test_a_missing_privilege_comes_with_the_grant_that_cures_it(server: PrivateServer, run: Run) -> None:
    password = {"INNODB_ADVISOR_PASSWORD": PASSWORD}
    with account(server, "limited") as dsn:
        done = run("check", "--dsn", dsn, env=password)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        grants = re.findall(r"^  (GRANT .*);$", done.stderr, re.MULTILINE)
        assert sorted(grants) == sorted(f"GRANT {grant} TO 'limited'@'%'" for grant in ALL)
        assert done.stderr.startswith("Error: limited@% may not read everything; as an administrator run\n")

        advising = run("advise", "--dsn", dsn, "--watch", "1s", env=password)
        assert advising.returncode == 2
        assert "Blind rules: data they need is missing" in advising.stdout
        assert re.findall(r"^  (GRANT .*);$", advising.stderr, re.MULTILINE) == grants

        execute(server, *grants)
        cured = run("check", "--dsn", dsn, env=password)
        assert (cured.returncode, cured.stderr) == (0, "")


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
def test_a_quote_in_an_accounts_name_does_not_break_the_grant(server: PrivateServer, run: Run) -> None:
    execute(server, r"CREATE USER 'o''hara\\'@'127.0.0.%', 'o''hara\\'@'localhost'")
    try:
        done = run("check", "--dsn", f"mysql://o%27hara%5C@127.0.0.1:{server.port}")
        grants = re.findall(r"^  (GRANT .*);$", done.stderr, re.MULTILINE)
        assert len(grants) == 3
        execute(server, *grants)
        assert run("check", "--dsn", f"mysql://o%27hara%5C@127.0.0.1:{server.port}").returncode == 0
    finally:
        execute(server, r"DROP USER 'o''hara\\'@'127.0.0.%', 'o''hara\\'@'localhost'")


@few_servers
def test_a_password_comes_from_a_file_the_environment_or_the_defaults_file_and_is_never_shown(
    server: PrivateServer, run: Run, tmp_path: Path
) -> None:
    secret, defaults = tmp_path / "password", tmp_path / "my.cnf"
    secret.write_text(PASSWORD + "\n")
    defaults.write_text(f"[client]\nuser = reader\npassword = {PASSWORD}\nhost = {server.host}\nport = {server.port}\n")
    kind = "mysql" if server.name.startswith("mysql") else "mariadb"
    with account(server, "reader", *ALL) as dsn:
        for where, env in (
            (("--dsn", dsn, "--password-file", secret), {}),
            (("--dsn", dsn), {"INNODB_ADVISOR_PASSWORD": PASSWORD}),
            (("--defaults-file", defaults), {}),
            (("--defaults-file", defaults, "--dsn", dsn), {}),
        ):
            done = run("check", *where, env=env)
            assert (done.returncode, done.stderr) == (0, "")
            assert done.stdout.startswith(f"{kind} {server.version}, as reader@")
            assert PASSWORD not in done.stdout


def _logged_in(server: PrivateServer, user: str) -> bool:
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = %s", (user,))
        return bool(cursor.fetchall()[0][0])


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-11.8"], indirect=True)
def test_what_was_recorded_gives_the_same_checks_as_the_server(server: PrivateServer, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl.gz"
    done = run("record", "--dsn", server.dsn, "--for", "1s", "--interval", "200ms", "-o", path)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"{path}: {path.stat().st_size:,} bytes\n"
    assert list(tmp_path.iterdir()) == [path]
    snapshots = list(replay(path))
    assert len(snapshots) >= 2
    assert {snapshot.server.version_text for snapshot in snapshots} == {server.version}

    advice = Advice.model_validate_json(here("advise", "--recording", path, "--format", "json").stdout)
    assert advice.watched_seconds == pytest.approx(snapshots[-1].at - snapshots[0].at, abs=1e-3)
    assert advice.server.endswith(server.version)
    live, replayed = (
        run("check", *where, "--format", "json") for where in (("--dsn", server.dsn), ("--recording", path))
    )
    assert replayed.returncode == live.returncode
    assert json.loads(replayed.stdout) == json.loads(live.stdout)


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
def test_a_recording_that_is_terminated_is_whole(server: PrivateServer, spawn: Spawn, tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_text("an older one")
    process = spawn("record", "--dsn", server.dsn, "--for", "1h", "--interval", "200ms", "-o", path)
    part = tmp_path / ".part-recording.jsonl"
    wait_for(lambda: part.is_file() and part.read_text().count('{"collection"') > 2)
    assert path.read_text() == "an older one"
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=DEADLINE)
    assert (process.returncode, out) == (0, "")
    assert err.splitlines()[0] == f"interrupted; {path} holds what was recorded until now"
    assert len(list(replay(path))) > 2
    assert list(tmp_path.iterdir()) == [path]


def test_a_recording_of_a_server_that_goes_away_is_kept(
    start_server: StartServer, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start_server("mariadb-11.8")
    path = tmp_path / "recording.jsonl"
    monkeypatch.setattr(printed, "progress_bar", lambda *_: nullcontext(lambda _: server.kill()))
    clock = iter((0.0, 0.0, 3.0)).__next__  # it begins, it goes on, it is over
    monkeypatch.setattr(observation, "observe", functools.partial(observation.observe, clock=clock))
    done = run("record", "--dsn", server.dsn, "--for", "3s", "-o", path)
    assert done.returncode == 2
    assert f"ended early; {path} holds what was recorded until now\n" in done.stderr
    assert list(replay(path))


def test_a_recording_that_never_began_leaves_what_was_there(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl.gz"
    shutil.copy(SCAN, path)
    refused(run("record", "--dsn", "mysql://root@127.0.0.1:1", "-o", path))
    assert path.read_bytes() == SCAN.read_bytes()
    assert list(tmp_path.iterdir()) == [path]


def test_an_interruption_before_the_server_answered_ends_in_130(run: Run, tmp_path: Path) -> None:
    def talk(connection: socket.socket) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        with connection:
            connection.recv(1)  # until the command hangs up

    for command in (["advise"], ["check"], ["record", "-o", tmp_path / "x.gz"]):
        with listening(talk) as port:
            done = run(*command, "--dsn", f"mysql://root@127.0.0.1:{port}")
        assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
def test_watching_that_is_interrupted_gives_no_advice(server: PrivateServer, spawn: Spawn) -> None:
    with account(server, "watcher", *ALL) as dsn:
        process = spawn("advise", "--dsn", dsn, "--watch", "1h", env={"INNODB_ADVISOR_PASSWORD": PASSWORD})
        wait_for(lambda: _logged_in(server, "watcher"))
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=DEADLINE) == ("", "interrupted\n")
        assert process.returncode == 130
        wait_for(lambda: not _logged_in(server, "watcher"))


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
def test_a_file_that_cannot_be_written_is_said(server: PrivateServer, run: Run, tmp_path: Path) -> None:
    record = ("record", "--dsn", server.dsn, "--for", "500ms", "--interval", "100ms", "-o")
    for output, reason in (
        (tmp_path / "absent" / "x.gz", "No such file or directory"),
        (tmp_path, "Is a directory"),
        (SCAN / "x.gz", "Not a directory"),
        (Path("/dev/full"), "No space left on device"),
    ):
        assert refused(run(*record, output)) == f"cannot write {output}: {reason}"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
def test_watching_lasts_as_long_as_asked_for(server: PrivateServer, run: Run) -> None:
    done = run("advise", "--dsn", server.dsn, "--watch", "1s", "--format", "json")
    assert done.stderr == ""
    advice = Advice.model_validate_json(done.stdout)
    assert advice.watched_seconds >= 1
    assert not {blind.lacks for blind in advice.blind} & {source.name for source in DEFAULT}


def test_output_that_cannot_be_written_is_said_and_is_no_finding(
    spawn: Spawn, capsys: pytest.CaptureFixture[str]
) -> None:
    message = "Error: cannot write the output: No space left on device\n"
    for arguments in (["advise"], ["advise", "--format", "json"], ["check", "--format", "json"]):
        with suppress(OSError), Path("/dev/full").open("w") as full, redirect_stdout(full):
            with pytest.raises(SystemExit) as ended:
                main([*arguments, "--recording", str(SCAN)])
            assert ended.value.code == 2
        assert capsys.readouterr().err == message
    with Path("/dev/full").open("w") as full:
        process = spawn("advise", "--recording", SCAN, stdout=full)
        assert process.communicate(timeout=DEADLINE)[1] == message
    assert process.returncode == 2


def test_a_terminal_of_another_character_set_gets_what_it_can_show() -> None:
    done = CliRunner(charset="ascii").invoke(main, ["check", "--recording", str(capture("mariadb-11.8/idle"))])
    assert (done.exit_code, done.stderr) == (1, "")
    assert re.search(r"^cached_indexes +\? +INNODB_CACHED_INDEXES came", done.stdout, re.MULTILINE)


def test_nothing_is_written_into_the_home(run: Run, tmp_path: Path) -> None:
    assert run("advise", "--recording", SCAN, env={"HOME": str(tmp_path)}).returncode == 0
    assert list(tmp_path.iterdir()) == []
