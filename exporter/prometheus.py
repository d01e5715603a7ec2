"""prometheus_client without its HTTP servers and clients: their modules take 0.6 MiB, and nothing here uses them."""

from exporter.stand_ins import standing_in

with standing_in(
    {
        "http.server": ("BaseHTTPRequestHandler",),
        "socketserver": ("ThreadingMixIn",),
        "urllib.request": (
            "BaseHandler",
            "HTTPHandler",
            "HTTPRedirectHandler",
            "HTTPSHandler",
            "Request",
            "build_opener",
        ),
        "wsgiref.simple_server": ("WSGIRequestHandler", "WSGIServer", "make_server"),
    }
):
    from prometheus_client import CollectorRegistry, Counter, Histogram
    from prometheus_client.core import (
        CounterMetricFamily,
        GaugeMetricFamily,
        InfoMetricFamily,
        Metric,
        UnknownMetricFamily,
    )
    from prometheus_client.exposition import CONTENT_TYPE_LATEST, CONTENT_TYPE_PLAIN_0_0_4, generate_latest
    from prometheus_client.openmetrics import exposition as openmetrics
    from prometheus_client.registry import Collector

__all__ = [
    "CONTENT_TYPE_LATEST",
    "CONTENT_TYPE_PLAIN_0_0_4",
    "Collector",
    "CollectorRegistry",
    "Counter",
    "CounterMetricFamily",
    "GaugeMetricFamily",
    "Histogram",
    "InfoMetricFamily",
    "Metric",
    "UnknownMetricFamily",
    "generate_latest",
    "openmetrics",
]
