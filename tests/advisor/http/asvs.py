"""OWASP ASVS 5.0.0 for the sidecar: each requirement that could be meant, and how it is checked.

The chapters about browsers, the API and connections are here as a whole; of the others, what concerns a service without
sessions, uploads and a database of its own. ``python -m tests.advisor.http.asvs`` writes docs/asvs.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.advisor.http import asvs_checks as checks
from tests.advisor.http.asvs_checks import Service

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "asvs.md"
STANDARD = "https://owasp.org/www-project-application-security-verification-standard/"
Verdict = Literal["holds", "owner", "open", "no"]
WORDS = {
    "holds": "holds",
    "owner": "is up to you",
    "open": "does not hold",
    "no": "does not apply",
}


@dataclass(frozen=True, slots=True)
class Requirement:
    """A requirement.

    Attributes:
        number: As in ASVS 5.0.0.
        level: 1 to 3.
        what: In our words.
        verdict: Whether it holds by itself, holds once the owner configures it, does not hold, or does not apply.
        check: Asks running services; None where tests elsewhere or a reason stand for it.
        tests: Files of tests that hold it.
        why: The reason, or what is to be known.
    """

    number: str
    level: int
    what: str
    verdict: Verdict
    check: Callable[[Service], None] | None = None
    tests: tuple[str, ...] = ()
    why: str = ""


def _holds(number: str, level: int, what: str, *how: Callable[[Service], None] | str, why: str = "") -> Requirement:
    tests = tuple(each for each in how if isinstance(each, str))
    check = next((each for each in how if not isinstance(each, str)), None)
    return Requirement(number, level, what, "holds", check, tests, why)


def _owner(number: str, level: int, what: str, why: str, *how: Callable[[Service], None] | str) -> Requirement:
    made = _holds(number, level, what, *how, why=why)
    return Requirement(number, level, what, "owner", made.check, made.tests, why)


def _open(number: str, level: int, what: str, why: str) -> Requirement:
    return Requirement(number, level, what, "open", why=why)


def _no(number: str, level: int, what: str, why: str) -> Requirement:
    return Requirement(number, level, what, "no", why=why)


_COOKIES = "there are no cookies"
_HTTP1 = "it speaks HTTP/1.1 alone"
_SOCKETS = "there are no WebSockets"
_UPLOADS = "nobody can upload a file"
_HTPASSWD = "you make the hashes, with htpasswd"
CHAPTERS: dict[str, str] = {
    "V8 Authorization": "one kind of user, who sees all; 8.2.1 and 8.3.1 are below",
    "V7 Session management": "no sessions: each request brings its login",
    "V9 Self-contained tokens": "no tokens",
    "V10 OAuth and OIDC": "neither; a proxy before it may have them",
    "V17 WebRTC": "none",
}
"""Chapters of which nothing, or nearly nothing, applies."""

REQUIREMENTS: Sequence[Requirement] = (
    _holds("1.2.1", 1, "what comes from a request is encoded for where it is shown", checks.shows_text_as_text),
    _holds("1.2.2", 1, "links are made of encoded parts, and lead to HTTP", "tests/advisor/http/test_web_requests.py"),
    _holds("1.2.3", 1, "JSON stays JSON whatever is in it", checks.answers_json),
    _holds("1.2.4", 1, "values reach SQL as parameters", "tests/faults/test_statements.py"),
    _no("1.2.5", 1, "no commands of the system out of requests", "it starts no program"),
    _no("1.2.6", 2, "no LDAP injection", "no LDAP"),
    _no("1.2.7", 2, "no XPath injection", "no XML"),
    _no("1.2.8", 2, "no LaTeX injection", "no LaTeX"),
    _no("1.2.9", 2, "texts are quoted in regular expressions", "no expression is made of a request"),
    _holds("1.2.10", 3, "a cell of CSV is no formula", "tests/advisor/fleet/test_renderings.py"),
    _no("1.3.2", 1, "no evaluation of input", "rules are CEL and come from their files; no request is evaluated"),
    _no("1.3.6", 2, "requests do not choose whom the service asks", "no request names an address"),
    _holds("1.3.12", 3, "no regular expression that backtracks", "tests/advisor/http/test_negotiation.py"),
    _no("1.5.1", 1, "XML is read without external entities", "no XML is read"),
    _holds("1.5.2", 2, "deserialisation of JSON alone, with a schema", checks.refuses_unknown_keys),
    _holds("2.2.1", 1, "input is validated against what is allowed", checks.validates),
    _holds("2.2.2", 1, "validation is the service's, not the page's", checks.validates),
    _holds("2.4.1", 2, "costly functions have limits", "tests/advisor/http/test_web_guard.py"),
    _holds("3.2.1", 1, "no answer is shown as something else", checks.says_what_each_answer_is),
    _holds("3.2.2", 1, "text goes into the page as text", checks.page_writes_text),
    _holds("3.2.3", 3, "no globals that elements of the page could replace", checks.page_has_modules),
    _no("3.3.1", 1, "cookies are Secure", _COOKIES),
    _no("3.3.2", 2, "cookies have SameSite", _COOKIES),
    _no("3.3.3", 2, "cookies have the prefix __Host-", _COOKIES),
    _no("3.3.4", 2, "cookies are HttpOnly", _COOKIES),
    _no("3.3.5", 3, "cookies are short", _COOKIES),
    _owner(
        "3.4.1",
        1,
        "Strict-Transport-Security in every answer",
        "the header binds every port of the host, so you set it in the web configuration",
        checks.has_transport_security,
    ),
    _holds("3.4.2", 1, "no origin is allowed by CORS", checks.allows_no_origin),
    _holds("3.4.3", 2, "a Content-Security-Policy without objects, base and inline scripts", checks.has_policy),
    _holds("3.4.4", 2, "nosniff in every answer", checks.forbids_sniffing),
    _holds("3.4.5", 2, "a Referrer-Policy", checks.sends_no_referrer),
    _holds("3.4.6", 2, "frame-ancestors in every answer", checks.is_in_no_frame),
    _open("3.4.7", 3, "the policy says where to report violations", "the page sends nothing to anybody"),
    _holds("3.4.8", 3, "Cross-Origin-Opener-Policy in every page", checks.has_no_opener),
    _holds(
        "3.5.1",
        1,
        "requests of other origins are told from its own",
        checks.refuses_other_origins,
        "tests/page/test_other_sites.py",
    ),
    _holds("3.5.2", 1, "a request without preflight asks nothing", checks.refuses_simple_requests),
    _holds("3.5.3", 1, "reading changes nothing", checks.changes_nothing_by_reading),
    _owner(
        "3.5.4", 2, "applications have host names of their own", "the name is yours; ports of one host share cookies"
    ),
    _no("3.5.5", 2, "messages of postMessage are checked", "the page listens to none"),
    _holds("3.5.6", 3, "no JSONP", checks.has_no_jsonp),
    _holds("3.5.7", 3, "scripts hold no data", checks.has_static_scripts),
    _holds("3.5.8", 3, "other sites embed nothing", checks.is_not_embedded, "tests/page/test_other_sites.py"),
    _holds("3.6.1", 3, "nothing is loaded from other hosts", checks.loads_its_own),
    _holds("3.7.1", 2, "no outdated technology in the page", checks.page_has_modules),
    _holds("3.7.2", 2, "redirects stay here", "tests/advisor/http/test_web_requests.py"),
    _no("3.7.3", 3, "a notice before a redirect elsewhere", "there is no redirect elsewhere"),
    _no("3.7.4", 3, "the domain is on the list for HSTS", "the domain is yours"),
    _holds(
        "3.7.5",
        3,
        "a browser without these features is treated as documented",
        "tests/advisor/http/test_web_browsers.py",
        why="an old browser may read, and change nothing",
    ),
    _holds("4.1.1", 1, "every answer has its Content-Type, and text its charset", checks.says_what_each_answer_is),
    _holds("4.1.2", 2, "no redirect from HTTP to HTTPS", checks.speaks_tls_alone),
    _holds("4.1.3", 2, "headers of proxies cannot be forged", "tests/advisor/http/test_web_requests.py"),
    _holds("4.1.4", 3, "methods that are not meant are refused", checks.refuses_other_methods),
    _no("4.1.5", 3, "signed messages", "no transaction needs one"),
    _holds("4.2.1", 2, "one end of a request for all", "tests/advisor/http/test_web_requests.py"),
    _holds("4.2.2", 3, "Content-Length is the length", checks.gives_true_lengths),
    _no("4.2.3", 3, "no headers of the connection in HTTP/2", _HTTP1),
    _no("4.2.4", 3, "no line ends in headers of HTTP/2", _HTTP1),
    _no("4.2.5", 3, "requests to others are not too long", "no request of its own is made of one it got"),
    _no("4.3.1", 2, "costs of GraphQL", "no GraphQL"),
    _no("4.3.2", 2, "no introspection of GraphQL", "no GraphQL"),
    _no("4.4.1", 1, "WebSockets over TLS", _SOCKETS),
    _holds("4.4.2", 2, "the handshake of a WebSocket has the right Origin", "tests/advisor/http/test_web_requests.py"),
    _no("4.4.3", 2, "tokens for WebSockets", _SOCKETS),
    _no("4.4.4", 2, "tokens for WebSockets come over HTTPS", _SOCKETS),
    _no("5.2.1", 1, "uploads have a size", _UPLOADS),
    _holds("5.3.2", 1, "no path of a file comes from a request", "tests/advisor/http/test_web_requests.py"),
    _holds("6.1.1", 1, "limits of logins are documented", checks.is_documented),
    _no("6.2.1", 1, "passwords have eight characters or more", _HTPASSWD),
    _no("6.2.2", 1, "users change their passwords", _HTPASSWD),
    _holds("6.2.5", 1, "passwords may have any characters", "tests/advisor/http/test_web_login.py"),
    _open("6.2.8", 1, "passwords are verified as a whole", "bcrypt reads 72 bytes, as Prometheus' exporters do"),
    _holds("6.2.9", 2, "64 characters are no problem", "tests/advisor/http/test_web_login.py"),
    _holds("6.3.1", 1, "guessing is slowed down", "tests/advisor/http/test_web_login.py"),
    _holds("6.3.2", 1, "no default users", checks.has_no_default_users),
    _owner(
        "6.3.3", 2, "two factors", "ask for a client certificate and a password", "tests/advisor/http/test_web_login.py"
    ),
    _holds("6.3.8", 3, "an unknown user is refused as a known one is", checks.tells_no_users),
    _holds("8.2.1", 1, "every function needs the login", checks.asks_everywhere),
    _holds("8.3.1", 1, "the service decides, not the page", checks.asks_everywhere),
    _holds("11.4.2", 2, "passwords are kept as slow hashes", "tests/advisor/http/test_web_configuration.py"),
    _holds("12.1.1", 1, "TLS 1.2 and 1.3, and 1.3 first", checks.has_new_tls),
    _holds("12.1.2", 2, "suites with forward secrecy and authenticated encryption", checks.has_good_suites),
    _holds("12.1.3", 2, "client certificates are verified", "tests/advisor/http/test_web_login.py"),
    _open(
        "12.1.4", 3, "stapled answers of OCSP", "Python's TLS has none; certificates that live a short time do as well"
    ),
    _open("12.1.5", 3, "Encrypted Client Hello", "Python's TLS has none"),
    _owner("12.2.1", 1, "TLS and nothing else", "turn it on in the web configuration", checks.speaks_tls_alone),
    _owner("12.2.2", 1, "publicly trusted certificates outside", "the certificate is yours"),
    _owner("12.3.1", 2, "TLS to the server", "ssl-mode says so", "tests/faults/test_logins.py"),
    _owner("12.3.2", 2, "the server's certificate is verified", "with VERIFY_IDENTITY", "tests/faults/test_logins.py"),
    _holds("13.2.2", 2, "an account with the least privileges", "tests/faults/test_statements.py"),
    _holds("13.4.1", 1, "no repository is served", checks.serves_what_is_meant),
    _holds("13.4.2", 2, "no debugging", "tests/advisor/http/test_web_guard.py"),
    _holds("13.4.3", 2, "no folder is listed", "tests/advisor/http/test_web_requests.py"),
    _holds("13.4.4", 2, "no TRACE", checks.refuses_other_methods),
    _holds("13.4.5", 2, "descriptions are served on purpose", checks.asks_everywhere, why="/docs needs the login, too"),
    _holds("13.4.6", 3, "no version of components", checks.names_no_component),
    _holds("13.4.7", 3, "files of few kinds are served", checks.serves_what_is_meant),
    _holds("14.2.1", 1, "no secret in an address", checks.takes_no_secret_in_an_address),
    _holds("14.2.2", 2, "no cache before it keeps data", checks.is_not_cached),
    _holds("14.2.5", 3, "a wrong path is 404, whatever it ends in", checks.serves_what_is_meant),
    _holds("14.3.2", 2, "no browser keeps data", checks.is_not_cached),
    _holds("14.3.3", 2, "nothing in the browser's storage", checks.page_stores_nothing),
    _holds("15.2.2", 2, "what takes long has limits", "tests/advisor/http/test_web_guard.py"),
    _holds("15.3.3", 2, "no fields but those that are meant", checks.refuses_unknown_keys),
    _open(
        "15.3.4", 2, "the client's own address through proxies", "X-Forwarded-For is not believed: one limit for all"
    ),
    _holds("15.3.5", 2, "types are strict", checks.validates),
    _open("16.3.1", 2, "logins are logged", "no request is logged: strangers would fill the log"),
    _holds("16.5.1", 2, "errors say nothing of the inside", "tests/advisor/http/test_web_guard.py"),
    _holds("16.5.4", 3, "a last handler for every error", "tests/advisor/http/test_web_guard.py"),
)


def page() -> str:
    """docs/asvs.md."""
    count = {verdict: sum(each.verdict == verdict for each in REQUIREMENTS) for verdict in WORDS}
    counted = ", ".join(f"{number} {WORDS[verdict]}" for verdict, number in count.items())
    lines = [
        "# OWASP ASVS",
        "",
        f"What the [Application Security Verification Standard]({STANDARD}) 5.0.0 asks of the",
        "sidecar and of the fleet's service. CI checks each line that holds: against a running `serve`, plain and with",
        "TLS and users, and against `fleet --listen`. The words are ours; the number leads to the standard's own.",
        "",
        f"{len(REQUIREMENTS)} requirements: {counted}.",
        "",
        "| number | level | requirement | here | how, or why |",
        "| --- | --- | --- | --- | --- |",
    ]
    for each in REQUIREMENTS:
        tests = [f"[{Path(test).name}](../{test})" for test in each.tests]
        if each.check is not None:
            tests.insert(0, f"`{each.check.__name__}`")
        how = "; ".join(filter(None, (each.why, ", ".join(tests))))
        lines.append(f"| {each.number} | {each.level} | {each.what} | {WORDS[each.verdict]} | {how} |")
    lines += [
        "",
        "Names in `code` are checks of [asvs_checks.py](../tests/advisor/http/asvs_checks.py).",
        "",
        "Chapters that hardly apply:",
        "",
        *(f"- {chapter}: {why}." for chapter, why in CHAPTERS.items()),
        "",
        "Chapters 1, 2, 5, 6 and 11 to 16 are there with what concerns a service without sessions, uploads and a",
        "database of its own.",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
