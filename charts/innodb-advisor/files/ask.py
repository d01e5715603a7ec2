# ruff: noqa: INP001 - a stand-alone script in the image
"""The check that `helm test` runs: health and metrics. `ask.py URL http|https|tcp METRIC`."""

import http.client
import socket
import ssl
import sys
from urllib.parse import urlsplit

SECONDS = 10
UNAUTHORIZED = 401


def ask(url: str, how: str, metric: str) -> str:
    """Return a line on what was found. Exit with an error if the answer is not as expected."""
    where = urlsplit(url)
    assert where.hostname  # noqa: S101 - the chart writes it
    if how == "tcp":
        socket.create_connection((where.hostname, where.port or 80), SECONDS).close()
        return f"{url} accepts connections; its answers need a login"
    for path, wanted in (("/healthz", b"ok"), ("/metrics", f"{metric} ".encode())):
        if how == "https":
            # This check does not verify the certificate; those who scrape the sidecar do.
            anyone = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            anyone.check_hostname, anyone.verify_mode = False, ssl.CERT_NONE
            connection = http.client.HTTPSConnection(where.hostname, where.port, timeout=SECONDS, context=anyone)
        else:
            connection = http.client.HTTPConnection(where.hostname, where.port, timeout=SECONDS)
        connection.request("GET", path)
        answer = connection.getresponse()
        if answer.status == UNAUTHORIZED:
            return f"{url} requires a login, as expected"
        if answer.status != http.client.OK or wanted not in answer.read():
            sys.exit(f"{url}{path} answered {answer.status} {answer.reason}")
    return f"{url} is healthy and has metrics"


if __name__ == "__main__":
    print(ask(sys.argv[1].rstrip("/"), sys.argv[2], sys.argv[3]))
