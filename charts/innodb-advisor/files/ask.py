# ruff: noqa: INP001 - it runs by itself, in the image
"""What `helm test` runs: asks a sidecar whether it lives, and for its metrics. `ask.py URL http|https|tcp`."""

import http.client
import socket
import ssl
import sys
from urllib.parse import urlsplit

SECONDS = 10
UNAUTHORIZED = 401


def ask(url: str, how: str) -> str:
    """What was found; the process ends with an error where it was not what it should be."""
    where = urlsplit(url)
    assert where.hostname  # noqa: S101 - the chart writes it
    if how == "tcp":
        socket.create_connection((where.hostname, where.port or 80), SECONDS).close()
        return f"{url} takes connections; what it answers is for those who can log in"
    for path, wanted in (("/healthz", b"ok"), ("/metrics", b"innodb_up ")):
        if how == "https":
            # Whether the certificate is trusted is between the sidecar and those who scrape it.
            anyone = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            anyone.check_hostname, anyone.verify_mode = False, ssl.CERT_NONE
            connection = http.client.HTTPSConnection(where.hostname, where.port, timeout=SECONDS, context=anyone)
        else:
            connection = http.client.HTTPConnection(where.hostname, where.port, timeout=SECONDS)
        connection.request("GET", path)
        answer = connection.getresponse()
        if answer.status == UNAUTHORIZED:
            return f"{url} asks for a login, as it should"
        if answer.status != http.client.OK or wanted not in answer.read():
            sys.exit(f"{url}{path} answered {answer.status} {answer.reason}")
    return f"{url} lives and has metrics"


if __name__ == "__main__":
    print(ask(sys.argv[1].rstrip("/"), sys.argv[2]))
