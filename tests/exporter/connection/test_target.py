import re
import ssl
import subprocess
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from exporter.connection.target import PASSWORD_VARIABLE, Target, TargetError, from_defaults_file, from_dsn, resolve
from lab.servers import PrivateServer, programs

SECRET = "hunter2"


@pytest.fixture
def option_file(tmp_path: Path) -> Path:
    return tmp_path / "my.cnf"


def test_without_anything_it_is_root_on_the_loopback_address() -> None:
    assert resolve(None, None, None, {}) == Target("127.0.0.1", 3306, None, "root", "")


def test_the_password_is_kept_out_of_what_is_printed() -> None:
    assert SECRET not in repr(Target(password=SECRET))


# The DSN


@pytest.mark.parametrize(
    ("dsn", "target"),
    [
        ("mysql://localhost", Target(host="localhost")),
        ("mysql://watcher@127.0.0.1:3307", Target(user="watcher", port=3307)),
        ("mariadb://watcher@127.0.0.1/", Target(user="watcher")),
        ("mysql://wat%40cher@127.0.0.1", Target(user="wat@cher")),
        ("mysql://watcher@", Target(user="watcher")),
        ("mysql://", Target()),
        ("mysql://[::1]:3307", Target(host="::1", port=3307)),
        ("mysql://watcher@[::1]", Target(host="::1", user="watcher")),
        ("mysql://watcher@/?socket=/run/mysqld.sock", Target(user="watcher", socket="/run/mysqld.sock")),
        ("mysql://?socket=/run/my%20sql+d.sock", Target(socket="/run/my sql+d.sock")),
        ("mysql://127.0.0.1?ssl-mode=required", Target(ssl_mode="REQUIRED")),
        (
            "mysql://127.0.0.1?ssl-ca=/c&ssl-cert=/d&ssl-key=/e&ssl-mode=VERIFY_CA",
            Target(ssl_ca="/c", ssl_cert="/d", ssl_key="/e", ssl_mode="VERIFY_CA"),
        ),
    ],
)
def test_a_dsn_names_the_server(dsn: str, target: Target) -> None:
    assert from_dsn(dsn) == target


@pytest.mark.parametrize(
    ("target", "address"),
    [
        (Target(host="localhost", port=3307), "localhost:3307"),
        (Target(host="::1"), "[::1]:3306"),
        (Target(host="localhost", socket="/run/mysqld.sock"), "/run/mysqld.sock"),
    ],
)
def test_the_address_reads_as_people_write_it(target: Target, address: str) -> None:
    assert target.address == address


@pytest.mark.parametrize(
    "dsn",
    [
        f"mysql://root:{SECRET}@127.0.0.1",
        f"mysql://root:{SECRET}@127.0.0.1:3306/shop",
        f"mysql://root:{SECRET}@/?socket=/run/mysqld.sock",
        f"mysql://root:12/{SECRET}@127.0.0.1",
        f"mysql://root:12#{SECRET}@127.0.0.1",
        f"mysql://root:12?{SECRET}@127.0.0.1",
        f"mysql://root:{SECRET}#1@127.0.0.1",
        f"mysql://root:{SECRET}/1@127.0.0.1",
        f"mysql://root:{SECRET}?1@127.0.0.1",
        f"mysql://root:[{SECRET}@127.0.0.1",
        f"root:{SECRET}@tcp(127.0.0.1:3306)/",
    ],
)
def test_a_dsn_with_a_password_is_refused_without_repeating_it(dsn: str) -> None:
    with pytest.raises(TargetError) as refused:
        from_dsn(dsn)
    assert SECRET not in str(refused.value)
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


def test_the_refusal_of_a_password_says_where_it_belongs() -> None:
    with pytest.raises(TargetError, match=rf"--password-file, \${PASSWORD_VARIABLE} or --defaults-file"):
        from_dsn(f"mysql://root:{SECRET}@127.0.0.1")


@pytest.mark.parametrize(
    ("dsn", "reason"),
    [
        ("", "starts with mysql://"),
        ("127.0.0.1:3306", "starts with mysql://"),
        ("postgres://127.0.0.1", "starts with mysql://"),
        ("mysql://127.0.0.1:no", "malformed"),
        ("mysql://127.0.0.1:70000", "malformed"),
        ("mysql://[::1", "malformed"),
        ("mysql://127.0.0.1/shop", "names a database"),
        ("mysql://127.0.0.1?charset=utf8", "unknown option: charset"),
        ("mysql://127.0.0.1?ssl-mode=sometimes", "ssl-mode must be one of DISABLED"),
        ("mysql://127.0.0.1?ssl-mode=", "ssl-mode must be one of DISABLED"),
    ],
)
def test_a_dsn_that_cannot_be_used_says_why(dsn: str, reason: str) -> None:
    with pytest.raises(TargetError, match=reason):
        from_dsn(dsn)


# The defaults file


def test_a_defaults_file_is_read_as_mysqld_exporter_does(option_file: Path) -> None:
    option_file.write_text(
        "[client]\nuser = exporter\npassword = secret\nhost = localhost\nport = 3307\nsocket = /run/mysqld.sock\n"
        "ssl-ca = /ca.pem\nssl-cert = /cert.pem\nssl-key = /key.pem\n"
    )
    assert from_defaults_file(option_file) == Target(
        "localhost", 3307, "/run/mysqld.sock", "exporter", "secret", "/ca.pem", "/cert.pem", "/key.pem"
    )


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("[client]", Target()),
        ("[client]\nuser=a\n[client]\nport=1\n", Target(user="a", port=1)),
        ("[client]\nuser=a\nuser=b\n", Target(user="b")),
        ("# by hand\n; and\n\n[client] # ours\n  user = a\n", Target(user="a")),
        ("[client]\r\nuser = a\r\nport = 1\r\n", Target(user="a", port=1)),
        ("[client]\nuser=a\n   password=b\n\tport=1\n", Target(user="a", password="b", port=1)),
        ("[ client ]\nuser=a\n[client ]\nuser=b\n", Target(user="b")),
        ("[mysqld]\nuser=mysql\nport=1\n[client]\nhost=localhost\n[mysql]\nuser=x\n", Target(host="localhost")),
        (
            "[client]\nssl_mode=verify_ca\nssl_ca=/c\nSSL-Key=/k\n",
            Target(ssl_mode="VERIFY_CA", ssl_ca="/c", ssl_key="/k"),
        ),
        ("[client]\nno-auto-rehash\ndefault-character-set=utf8\nuser=a\nprompt=\\u@\\h [\\d]>\\_\n", Target(user="a")),
        ("!include /etc/mysql/more.cnf\n[client]\n!includedir /etc/mysql/conf.d/\nuser=a\n", Target(user="a")),
        ("[client]\nuser\npassword\nsocket=\n", Target(user="")),
        ("[client]\npassword=a%b%(c)s$d\n", Target(password="a%b%(c)s$d")),
        ("[client]\nuser: a\nport=1\n", Target(port=1)),
    ],
)
def test_a_defaults_file_is_an_option_file(text: str, target: Target, option_file: Path) -> None:
    option_file.write_bytes(text.encode())
    assert from_defaults_file(option_file) == target


PASSWORDS = {
    "plain": "plain",
    '"quoted"': "quoted",
    "'quoted'": "quoted",
    "a b": "a b",
    '"  spaces  "': "  spaces  ",
    "a#b": "a",
    "a #b": "a",
    '"a#b"': "a#b",
    "'a#b' # the old one": "a#b",
    "'it#s": "'it#s",
    "a;b": "a;b",
    "a=b=": "a=b=",
    '"a"b"': 'a"b',
    "'a\"": "'a\"",
    '"': '"',
    '""': "",
    r"a\sb": "a b",
    r"a\tb": "a\tb",
    r"a\\b": r"a\b",
    r"a\xb": r"a\xb",
    r'"a\"#b"': 'a"#b',
    "a\\": "a\\",
    "päss€": "päss€",
}
"""The text after ``password =``, and the password."""


@pytest.mark.parametrize(("written", "password"), PASSWORDS.items())
def test_a_password_is_unquoted(written: str, password: str, option_file: Path) -> None:
    option_file.write_text(f"[client]\npassword = {written}\n", encoding="utf-8")
    assert from_defaults_file(option_file).password == password


def test_a_real_server_unquotes_its_own_options_in_the_same_way(server: PrivateServer, option_file: Path) -> None:
    program = programs.find(server.name)
    option_file.write_text(
        "[mysqld]\n" + "".join(f"option-{n} = {written}\n" for n, written in enumerate(PASSWORDS)), encoding="utf-8"
    )
    said = subprocess.run(  # noqa: S603 - the server of this test
        [*program.command, f"--defaults-file={option_file}", "--print-defaults"],
        env=dict(program.environment),
        capture_output=True,
        check=True,
    ).stdout.decode()
    values = re.findall(r"--option-\d+=(.*?) (?=--option|$)", said, re.MULTILINE)
    assert values == list(PASSWORDS.values())


@pytest.mark.parametrize(
    "text",
    [
        f"password={SECRET}\n",
        f"[client\npassword={SECRET}\n",
        f"[client]\nuser=a\n[oops {SECRET}\n",
        f"user=a\n[client]\npassword={SECRET}\n",
        f"[client]\nport={SECRET}\n",
        f"[client]\npassword={SECRET}\nport=99999\n",
        f"[client]\npassword={SECRET}\nssl-mode=no\n",
        f"[mysql]\npassword={SECRET}\n",
        "",
    ],
)
def test_a_defaults_file_that_cannot_be_used_is_refused_without_repeating_its_lines(
    text: str, option_file: Path
) -> None:
    option_file.write_text(text)
    with pytest.raises(TargetError) as refused:
        from_defaults_file(option_file)
    assert str(refused.value).startswith(str(option_file))
    assert SECRET not in str(refused.value)
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


def test_a_broken_line_is_named_by_its_number(option_file: Path) -> None:
    option_file.write_text("# mine\n\nuser=a\n[client]\n")
    with pytest.raises(TargetError, match=r"my\.cnf: line 3: not an option file"):
        from_defaults_file(option_file)


@pytest.mark.parametrize("content", [b"[client]\npassword=\xff\xfe\n", None])
def test_a_defaults_file_that_cannot_be_read_says_why(content: bytes | None, option_file: Path) -> None:
    if content is not None:
        option_file.write_bytes(content)
    with pytest.raises(TargetError, match=r"cannot read the defaults file .*: (it is not UTF-8|No such file)"):
        from_defaults_file(option_file)


# All sources together


def test_the_dsn_overrides_the_defaults_file(option_file: Path) -> None:
    option_file.write_text("[client]\nuser=a\npassword=b\nhost=localhost\nport=1\nssl-mode=REQUIRED\n")
    assert resolve("mysql://127.0.0.1:2", option_file, None, {}) == Target(
        "127.0.0.1", 2, None, "a", "b", ssl_mode="REQUIRED"
    )


def test_a_host_in_the_dsn_overrides_a_socket_in_the_defaults_file(option_file: Path) -> None:
    option_file.write_text("[client]\nsocket=/run/mysqld.sock\n")
    assert resolve("mysql://localhost", option_file, None, {}).address == "localhost:3306"
    assert resolve("mysql://watcher@", option_file, None, {}).address == "/run/mysqld.sock"


def test_the_password_is_the_files_before_the_environments_before_the_defaults_files(
    option_file: Path, tmp_path: Path
) -> None:
    option_file.write_text("[client]\npassword=third\n")
    password_file = tmp_path / "password"
    password_file.write_text("first\n")
    environment = {PASSWORD_VARIABLE: "second"}
    assert resolve(None, option_file, password_file, environment).password == "first"
    assert resolve(None, option_file, None, environment).password == "second"
    assert resolve(None, option_file, None, {}).password == "third"


def test_an_empty_password_in_the_environment_counts(option_file: Path) -> None:
    option_file.write_text("[client]\npassword=third\n")
    assert resolve(None, option_file, None, {PASSWORD_VARIABLE: ""}).password == ""


@pytest.mark.parametrize(
    ("content", "password"),
    [(b"secret", "secret"), (b"secret\n", "secret"), (b"secret\r\n", "secret"), (b" a b \n", " a b "), (b"", "")],
)
def test_a_password_file_may_end_with_a_line_end(content: bytes, password: str, tmp_path: Path) -> None:
    path = tmp_path / "password"
    path.write_bytes(content)
    assert resolve(None, None, path, {}).password == password


def test_a_password_file_that_cannot_be_read_says_why_and_not_what(tmp_path: Path) -> None:
    path = tmp_path / "password"
    with pytest.raises(TargetError, match=r"cannot read the password file .*: No such file"):
        resolve(None, None, path, {})
    path.write_bytes(SECRET.encode() + b"\xff")
    with pytest.raises(TargetError, match=r"cannot read the password file .*: it is not UTF-8 text") as refused:
        resolve(None, None, path, {})
    assert SECRET not in str(refused.value)
    assert refused.value.__suppress_context__


# TLS


@pytest.mark.parametrize(
    "target",
    [
        Target(ssl_mode="DISABLED"),
        Target(ssl_mode="DISABLED", ssl_ca="/none"),
        Target(socket="/sock"),
        Target(socket="/sock", ssl_mode="PREFERRED"),
    ],
)
def test_a_connection_is_plain_where_that_is_asked_for_and_over_a_socket(target: Target) -> None:
    assert target.tls() is None


@pytest.mark.parametrize(
    ("target", "mode"),
    [
        (Target(), "PREFERRED"),
        (Target(ssl_ca="/ca.pem"), "VERIFY_CA"),
        (Target(ssl_cert="/cert.pem"), "REQUIRED"),
        (Target(ssl_ca="/ca.pem", ssl_cert="/cert.pem"), "VERIFY_CA"),
        (Target(ssl_ca="/ca.pem", ssl_mode="PREFERRED"), "PREFERRED"),
    ],
)
def test_the_files_imply_a_mode(target: Target, mode: str) -> None:
    assert target.mode == mode


@pytest.mark.parametrize(
    ("mode", "verified", "hostname"),
    [
        (None, ssl.CERT_NONE, False),
        ("PREFERRED", ssl.CERT_NONE, False),
        ("REQUIRED", ssl.CERT_NONE, False),
        ("VERIFY_CA", ssl.CERT_REQUIRED, False),
        ("VERIFY_IDENTITY", ssl.CERT_REQUIRED, True),
    ],
)
def test_the_mode_says_what_is_verified(mode: str | None, verified: ssl.VerifyMode, *, hostname: bool) -> None:
    context = Target(ssl_mode=mode).tls()
    assert context is not None
    assert context.verify_mode == verified
    assert context.check_hostname == hostname
    assert not context.verify_flags & ssl.VERIFY_X509_STRICT  # which the servers' own certificates would not pass


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_a_certificate_that_cannot_be_read_says_so(content: str | None, tmp_path: Path) -> None:
    path = tmp_path / "file.pem"
    if content is not None:
        path.write_text(content)
    for target in (Target(ssl_ca=str(path)), Target(ssl_cert=str(path))):
        with pytest.raises(TargetError, match="cannot use the TLS files"):
            target.tls()


def test_a_key_with_a_passphrase_is_an_error_and_no_question_at_the_terminal(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    issued = trustme.CA().issue_cert("localhost")
    certificate.write_bytes(issued.cert_chain_pems[0].bytes())
    private = load_pem_private_key(issued.private_key_pem.bytes(), None)
    key.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(SECRET.encode())))
    with pytest.raises(TargetError, match="the key is encrypted"):
        Target(ssl_cert=str(certificate), ssl_key=str(key)).tls()
