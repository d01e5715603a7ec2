"""Recordings of servers unlike those at hand: a real one's answers, altered."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.advisor.building import capture

Answer = list[dict[str, Any]]
"""Results, each with columns and rows."""
Change = Callable[[Answer], None]


def altered(target: Path, name: str, changes: Mapping[str, Change]) -> Path:
    """A capture whose answers are changed in place, by their source."""
    lines = [json.loads(line) for line in gzip.decompress(capture(name).read_bytes()).decode().splitlines()]
    for line in lines:
        if change := changes.get(line.get("answer")):
            change(line["results"])
    target.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return target


def instances(count: int) -> Mapping[str, Change]:
    """The pool as so many instances, of which the last is the fullest of old pages."""

    def split(results: Answer) -> None:
        [pools] = results
        [whole] = pools["rows"]
        _, *sizes = whole
        pools["rows"] = [[number, *(size // count for size in sizes)] for number in range(count)]

    return {"pools": split}


def tables(count: int) -> Mapping[str, Change]:
    """So many tables beside those that are there, all of them scanned."""
    names = [f"customer_{number:04}" for number in range(count)]
    passes = iter(range(1, 1_000_000))

    def sizes(results: Answer) -> None:
        results[0]["rows"] += [["tenants", name, "PRIMARY", 97, 95, 760, 20, "n_diff_pfx01 id"] for name in names]
        results[1]["rows"] = [[results[1]["rows"][0][0] + 97 * count, results[1]["rows"][0][1] + count]]

    def scans(results: Answer) -> None:
        fetched = 760 * next(passes)
        results[0]["rows"] += [["tenants", name, fetched] for name in names]

    def files(results: Answer) -> None:
        [datadir] = {row[-1] for row in results[0]["rows"]}
        results[0]["rows"] += [[f"{datadir}tenants/{name}.ibd", 97, 97 * 16_384, 97_000_000, datadir] for name in names]

    return {"index_sizes": sizes, "table_scans": scans, "table_files": files}


def renamed(table: str, name: str) -> Mapping[str, Change]:
    """A table of the schema shop under another name, which the server's files have in its own encoding."""
    encoded = "".join(
        character if character.isascii() and character.isalnum() else f"@{ord(character):04x}" for character in name
    )
    names = {
        table: name,
        f"shop/{table}": f"shop/{encoded}",
        f"/var/lib/mysql/shop/{table}.ibd": f"/var/lib/mysql/shop/{encoded}.ibd",
    }

    def rename(results: Answer) -> None:
        for result in results:
            result["rows"] = [[names.get(str(value), value) for value in row] for row in result["rows"]]

    return dict.fromkeys(("index_sizes", "table_scans", "table_files", "cached_indexes", "indexes"), rename)
