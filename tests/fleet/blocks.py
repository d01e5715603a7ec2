"""Expositions as blocks of a Prometheus: what it would have scraped, at times that the test knows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families as parse_classic

from lab.packages.cache import UnavailableHere
from lab.programs import promtool
from tests.unavailable import give_up

UPTIMES = ("innodb_server_uptime_seconds", "mysql_global_status_uptime")


class Blocks:
    """Samples by family: a text in OpenMetrics has all samples of one together."""

    def __init__(self) -> None:
        self._lines: dict[str, list[str]] = {}

    def add(self, exposition: str, at: Iterable[float], since: float | None = None, **target: str) -> None:
        """Scrapes of a text.

        Args:
            exposition: In the classic format.
            at: When, Unix seconds.
            since: When the server started, by the same clock; None for the uptime of the text.
            target: Labels.
        """
        times = list(at)
        for family in parse_classic(exposition):
            for sample in family.samples:
                labels = ",".join(f"{name}={quoted(value)}" for name, value in {**target, **sample.labels}.items())
                lines = self._lines.setdefault(sample.name, [])
                for time in times:
                    value = time - since if since is not None and sample.name in UPTIMES else sample.value
                    lines.append(f"{sample.name}{{{labels}}} {value} {time:.3f}")

    def write(self, folder: Path) -> Path:
        """The data folder of a Prometheus, in a folder."""
        text, data = folder / "scraped.txt", folder / "data"
        parts = [f"# TYPE {name} gauge\n" + "\n".join(lines) for name, lines in self._lines.items()]
        text.write_text("\n".join([*parts, "# EOF\n"]), encoding="utf-8")
        try:
            promtool.create_blocks(text, data)
        except UnavailableHere as error:
            give_up(f"promtool is unavailable here: {error}")
        return data


def quoted(text: str) -> str:
    """A label's value."""
    escaped = text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return f'"{escaped}"'
