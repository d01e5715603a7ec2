"""A page of another site, in Chromium, that tries every way to ask a sidecar."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Browser, Route

HOSTS = ("MAP *.example 127.0.0.1", "MAP *.internal 127.0.0.1")
ARGUMENTS = (
    f"--host-resolver-rules={','.join(HOSTS)}",
    # Chromium's own protection of this machine's addresses; other browsers have none.
    "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests,PrivateNetworkAccessSendPreflights",
)
"""Of the browser: the attacker's names, and one of a network, lead to this machine."""
_QUESTION = '{"set": {"innodb_old_blocks_pct": 80}}'
_SCRIPT = """async ([target, question]) => {
    const read = [];
    const ended = [];
    const keep = (name, promise) => ended.push(promise.then((text) => text && read.push(name), () => {}));
    const text = (path, options) => fetch(target + path, options).then((answer) => answer.ok ? answer.text() : "");
    const add = (name, properties, where = document.body) => keep(name, new Promise((done) => {
        const element = Object.assign(document.createElement(name), properties);
        element.onload = made.onerror = () => done("");
        where.append(element);
        setTimeout(done, 2000, "");
    }));
    const framed = (name, source) => add("iframe", { name, srcdoc: source, sandbox: "allow-scripts allow-forms" });
    const hidden = { referrerPolicy: "no-referrer" };
    const program = { "User-Agent": "Prometheus/3.8.0", "Accept-Language": "", "Accept-Encoding": "gzip",
        "X-Prometheus-Scrape-Timeout-Seconds": "10", Origin: "", Range: "bytes=0-9999", "Sec-Fetch-Site": "none" };
    const plain = { "Content-Type": "text/plain" };
    const json = { "Content-Type": "application/json" };
    for (const path of ["/metrics", "/advise", "/snapshot", "/advise?window=60"]) {
        keep(`fetch ${path}`, text(path));
        keep(`no-cors ${path}`, text(path, { mode: "no-cors", ...hidden }));
        keep(`as a program ${path}`, text(path, { headers: program, ...hidden }));
        keep(`a part of ${path}`, text(path, { mode: "no-cors", headers: { Range: "bytes=0-9999" }, ...hidden }));
    }
    for (const [path, body] of [["/-/reload", ""], ["/whatif", question]]) {
        keep(`post ${path}`, text(path, { method: "POST", body, headers: plain, mode: "no-cors", ...hidden }));
        keep(`post json ${path}`, text(path, { method: "POST", body, headers: json }));
        keep(`put ${path}`, text(path, { method: "PUT", body }));
        navigator.sendBeacon(target + path, body);
        add("form", {});
        const form = Object.assign(document.createElement("form"),
            { method: "POST", enctype: "text/plain", action: target + path, target: "answer" });
        form.append(Object.assign(document.createElement("input"), { name: body || "a", value: "" }));
        add("iframe", { name: "answer" });
        document.body.append(form);
        form.submit();
        framed("null", `<script>fetch("${target}${path}", {method: "POST", mode: "no-cors", body: "x"})</` + "script>");
    }
    keep("EventSource", new Promise((done) => {
        const events = new EventSource(target + "/state");
        events.onopen = () => done("read");
        events.onerror = () => { events.close(); done(""); };
    }));
    keep("WebSocket", new Promise((done) => {
        const socket = new WebSocket(target.replace("http", "ws") + "/state");
        socket.onopen = () => done("read");
        socket.onerror = () => done("");
    }));
    add("script", { src: `${target}/advise` });
    add("script", { src: `${target}/metrics`, type: "module" });
    add("script", { src: `${target}/page/app.js`, type: "module" });
    add("link", { href: `${target}/page/page.css`, rel: "stylesheet" }, document.head);
    add("link", { href: `${target}/advise`, rel: "prefetch" }, document.head);
    add("object", { data: `${target}/page/icon.svg` });
    add("video", { src: `${target}/metrics` });
    keep("image", new Promise((done) => {
        const image = Object.assign(new Image(), { src: `${target}/page/icon.svg` });
        image.onload = () => done("read");
        image.onerror = () => done("");
    }));
    keep("iframe", new Promise((done) => {
        const frame = Object.assign(document.createElement("iframe"), { src: `${target}/` });
        frame.onload = () => { try { done(frame.contentDocument.querySelector("#pool, .status") ? "read" : ""); }
            catch { done(""); } };
        document.body.append(frame);
        setTimeout(done, 2000, "");
    }));
    await Promise.race([Promise.all(ended), new Promise((done) => setTimeout(done, 15000))]);
    return read;
}"""


@dataclass(frozen=True)
class Outcome:
    """What came of it.

    Attributes:
        statuses: Method, path and status of each request that the service answered.
        read: The ways in which the page read an answer.
    """

    statuses: tuple[tuple[str, str, int], ...]
    read: tuple[str, ...]

    @property
    def answered(self) -> list[str]:
        """What was not refused."""
        return [f"{method} {path}" for method, path, status in self.statuses if status < 400]


def attack(browser: Browser, page: str, target: str) -> Outcome:
    """Open the attacker's page, and let it try.

    Args:
        browser: Runs with ``ARGUMENTS``.
        page: Its origin. If it is that of ``target``, it is a name that leads to the service by now (DNS rebinding).
        target: The origin of the service, as the page calls it.
    """
    asked: dict[str, tuple[str, str]] = {}
    answered: list[tuple[str, int]] = []

    def ask(event: dict[str, Any]) -> None:
        asked[event["requestId"]] = (event["request"]["method"], event["request"]["url"])

    def note(event: dict[str, Any]) -> None:
        answered.append((event["requestId"], int(event["statusCode"])))

    def serve(route: Route) -> None:
        route.fulfill(content_type="text/html", body="<!doctype html><title>a prize</title><body></body>")

    context = browser.new_context()
    try:
        context.route(f"{page}/attack", serve)
        opened = context.new_page()
        session = context.new_cdp_session(opened)  # Playwright does not tell of answers that the browser keeps back
        session.on("Network.requestWillBeSent", ask)
        session.on("Network.responseReceivedExtraInfo", note)
        session.send("Network.enable")
        opened.goto(f"{page}/attack")
        read: list[Any] = opened.evaluate(_SCRIPT, [target, _QUESTION])
    finally:
        context.close()
    # An answer may be told of before its request.
    requests = [(*asked[number], status) for number, status in answered if number in asked]
    statuses = [
        (method, url.removeprefix(target), status)
        for method, url, status in requests
        if url.startswith(target) and not url.endswith("/attack")
    ]
    return Outcome(tuple(statuses), tuple(map(str, read)))
