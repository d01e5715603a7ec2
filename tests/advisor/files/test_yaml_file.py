"""YAML that is damaged or written to harm is refused by name. Each of these files took minutes, or did not end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from advisor.files import yaml_file
from advisor.files.yaml_file import LARGEST_BYTES, FileError


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    a: Any = None


def laughs(levels: int) -> str:
    """Each level names the one before ten times."""
    lines = ["a:", "  - &l0 [ha, ha, ha, ha, ha, ha, ha, ha, ha, ha]"]
    lines += [f"  - &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, levels)]
    return "\n".join(lines)


def merges(levels: int) -> str:
    lines = ["a:", "  - &l0 {k: v}"]
    lines += [f"  - &l{n}\n    <<: [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, levels)]
    return "\n".join(lines)


BOMBS = {
    "billion laughs": laughs(9),
    "merged mappings": merges(9),
    "alias of itself": "a: &x [*x]",
    "key of itself": "&x {*x : a}",
    "brackets": "a: " + "[" * 20_000,
    "indents": "\n".join(" " * n + "a:" for n in range(600)),
    "huge": "a: " + "x" * LARGEST_BYTES,
    "unending number": "a: " + "9" * 100_000,
    "sexagesimal": "%YAML 1.1\n---\na: 1" + ":59" * 20_000,
    "tag": "a: !!python/object/apply:os.system [true]",
    "no anchor": "a: *nothing",
    "bad merge": "<<: 1\na: 1",
    "control": "a: \x00",
    "not text": "a: \udcff",
}
HARMLESS = {"tag", "sexagesimal"}
"""They load: nothing is called."""


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_by_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / "bomb.yaml"
    path.write_bytes(BOMBS[name].encode(errors="surrogateescape"))
    if name in HARMLESS:
        yaml_file.read(path, Shape, "a mapping")
    else:
        with pytest.raises(FileError) as caught:
            yaml_file.read(path, Shape, "a mapping")
        assert str(caught.value).startswith(str(path))
        assert len(str(caught.value)) < len(str(path)) + 600


@pytest.mark.parametrize(
    "text",
    [
        "a: " + " b" * 100_000,
        "a:\n" + "  - x\n" * 5_000,
        "a: [" + "x, " * 10_000 + "]",
        "".join(f"k{n}: v\n" for n in range(4_000)),
        "# c\n" * 50_000,
        "\n" * 200_000,
        'a: "' + "\\x41" * 50_000 + '"',
        "a: >\n" + "  b\n\n" * 30_000,
        "a: &b c\n" + "# *b\n" * 30_000,
    ],
)
def test_the_end_of_a_large_file_is_reached(tmp_path: Path, text: str) -> None:
    path = tmp_path / "large.yaml"
    path.write_text(text)
    assert path.stat().st_size <= LARGEST_BYTES
    try:
        yaml_file.read(path, Shape, "a mapping")
    except FileError as error:
        assert str(error).startswith(str(path))  # noqa: PT017 - some of them are valid


def test_aliases_in_measure_are_followed(tmp_path: Path) -> None:
    path = tmp_path / "aliases.yaml"
    path.write_text(laughs(3))
    assert yaml_file.read(path, Shape, "a mapping").content.a[2][0][0][0] == "ha"
