"""The knowledge file is complete and consistent; a broken file is refused with the error and its place."""

from __future__ import annotations

import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

from exporter.knowledge import (
    BEHAVIOURS,
    PATH,
    REMOVED,
    REPLACED,
    SETTINGS,
    Behaviour,
    Computed,
    Family,
    SettingEntry,
    Version,
    load,
    refused_since,
)
from lab.servers import NAMES

BEGINNING: Version = (5, 5, 0)
VERSIONS: list[tuple[Family, Version]] = [
    *(
        ("mysql", version)
        for version in [(5, 6, 24), (5, 7, 44), (8, 0, 13), (8, 0, 42), (8, 4, 5), (9, 7, 4), (26, 7, 0)]
    ),
    *(("mariadb", version) for version in [(10, 5, 23), (10, 6, 2), (10, 11, 18), (11, 4, 5), (11, 8, 6), (12, 0, 2)]),
]


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_is_complete_wherever_it_exists(name: str) -> None:
    entry = SETTINGS[name]
    assert any(entry.exists.on(*version) for version in VERSIONS)
    for version in [version for version in VERSIONS if entry.exists.on(*version)]:
        assert entry.dynamic.on(*version) is not None
        default = entry.default.on(*version)
        if entry.kind == "text":
            words = entry.words.on(*version)
            assert words
            assert isinstance(default, Computed) or default in (*words, "")
        else:
            minimum, maximum = entry.minimum.on(*version), entry.maximum.on(*version)
            assert minimum is not None
            assert maximum is None or minimum < maximum
            # 0 stands for a size that the server chooses
            assert isinstance(default, Computed) or (isinstance(default, int) and (minimum <= default or default == 0))


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_has_only_what_belongs_to_its_kind(name: str) -> None:
    entry = SETTINGS[name]
    if entry.kind == "text":
        assert (entry.unit, entry.minimum.values(), entry.maximum.values()) == ("", (), ())
    else:
        assert (entry.words.values(), entry.windows_words) == ((), None)


def test_every_entry_has_references() -> None:
    references = [entry.reference for entry in SETTINGS.values()]
    references += [reference for entry in BEHAVIOURS.values() for reference in entry.references]
    assert all(reference.startswith("https://") for reference in references)
    assert all(name in entry.reference for name, entry in SETTINGS.items())


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_a_behaviour_is_that_of_some_versions_and_not_of_others(name: str) -> None:
    behaviour = BEHAVIOURS[name]
    floors: list[tuple[Family, Version]] = [
        *(("mysql", floor) for floor, _ in behaviour.on.mysql),
        *(("mariadb", floor) for floor, _ in behaviour.on.mariadb),
    ]
    answers = {bool(behaviour.on.on(*version)) for version in [*VERSIONS, *floors]}
    assert answers == {True, False}


def test_a_version_is_named_only_where_something_begins_or_ends() -> None:
    by_version = [versions for entry in SETTINGS.values() for versions in (entry.exists, entry.ignored)]
    by_version += [versions for entry in BEHAVIOURS.values() for versions in (entry.on, entry.windows) if versions]
    for versions in by_version:
        for floors in (versions.mysql, versions.mariadb):
            assert all(newer != older for (_, newer), (_, older) in pairwise(floors))
            assert not floors or floors[-1][1] is True


@pytest.mark.parametrize(
    ("version", "default"),
    [
        (("mysql", (5, 6, 24)), "all"), (("mysql", (8, 0, 42)), "all"), (("mysql", (8, 4, 5)), "none"),
        (("mysql", (9, 7, 4)), "all"), (("mysql", (26, 7, 0)), "all"), (("mariadb", (10, 5, 14)), "all"),
        (("mariadb", (10, 5, 15)), "none"), (("mariadb", (10, 6, 6)), "all"), (("mariadb", (10, 6, 7)), "none"),
        (("mariadb", (10, 9, 0)), "none"),
    ],
)  # fmt: skip
def test_the_newest_floor_at_or_before_a_version_holds(version: tuple[Family, Version], default: str) -> None:
    assert SETTINGS["innodb_change_buffering"].default.on(*version) == default


def test_a_range_includes_its_beginning_and_not_its_end() -> None:
    behaviour = Behaviour.model_validate(
        {
            "what": "A change that was taken back, and came again.",
            "on": {"mysql": {"8.0.17": True, "8.0.37": False, "8.1": True, "8.4": False}},
            "references": ["https://example.org/"],
        }
    )
    inside = [(8, 0, 17), (8, 0, 36), (8, 1, 0), (8, 3, 0)]
    outside = [(5, 7, 44), (8, 0, 16), (8, 0, 37), (8, 0, 43), (8, 4, 0), (26, 7, 0)]
    assert all(behaviour.on.on("mysql", version) for version in inside)
    assert not any(behaviour.on.on("mysql", version) for version in outside)
    assert not behaviour.on.on("mariadb", (8, 0, 17))


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ("kind = ", "Invalid value"),
        ('kind = "numbr"', "settings.x.kind"),
        ("minimun = 1", "settings.x.minimun"),
        ('default.mysq = "x"', "settings.x.default.mysq"),
        ("minimum = 1.5", "settings.x.minimum.mysql"),
        ('dynamic.mysql = { "8.x" = true }', "settings.x.dynamic"),
        ('reference = "the manual"', "settings.x.reference"),
        ('exists.mysql = { "8.x" = true }', "settings.x.exists"),
        ('refused.oracle = "x"', "settings.x.refused.oracle"),
    ],
)
def test_a_broken_file_is_refused_with_what_is_wrong(tmp_path: Path, wrong: str, place: str) -> None:
    good = {
        "kind": 'kind = "number"',
        "dynamic": "dynamic = true",
        "default": "default = 1",
        "reference": 'reference = "https://example.org/"',
    }
    key = wrong.partition(" ")[0].partition(".")[0]
    lines = ["[settings.x]", *(line for name, line in good.items() if name != key), wrong, "[behaviours]"]
    path = tmp_path / "broken.toml"
    path.write_text("\n".join(lines))
    with pytest.raises(ValueError, match=str(path)) as caught:
        load(path)
    assert place in str(caught.value)


def test_the_file_says_which_servers_checked_it() -> None:
    head = PATH.read_text(encoding="utf-8").partition("[")[0]
    assert all(name.partition("-")[2] in head for name in NAMES)
    assert set(tomllib.loads(PATH.read_text(encoding="utf-8"))) == {
        *("series", "steps", "settings", "behaviours", "bugs", "upgrade_bugs", "removed", "replaced")
    }


@pytest.mark.parametrize(
    ("name", "family", "version", "since"),
    [
        ("query_cache_size", "mysql", (5, 7, 44), None),
        ("query_cache_size", "mysql", (8, 4, 6), (8, 0, 3)),
        ("query_cache_size", "mariadb", (11, 8, 9), None),
        ("innodb_log_file_size", "mysql", (8, 4, 6), None),
        ("innodb_log_file_size", "mysql", (9, 7, 4), (9, 3, 0)),
        ("innodb_change_buffering", "mariadb", (11, 8, 9), None),  # it is ignored
        ("innodb_change_buffer_max_size", "mariadb", (11, 8, 9), (11, 0, 0)),
        ("innodb_checksums", "mariadb", (10, 5, 23), (10, 5, 0)),
        ("innodb_parallel_read_threads", "mysql", (5, 7, 44), None),  # it never was there
        ("sort_buffer_size", "mysql", (9, 7, 4), None),
    ],
)
def test_a_version_refuses_the_lines_of_removed_variables(
    name: str, family: Family, version: Version, since: Version | None
) -> None:
    assert refused_since(name, family, version) == since


def test_what_replaces_a_removed_variable_is_there() -> None:
    for family, replaced in REPLACED.items():
        removed = frozenset().union(*(names for _, names in (REMOVED.mysql if family == "mysql" else REMOVED.mariadb)))
        assert replaced.keys() <= removed
        assert {replacement.by for replacement in replaced.values()}.isdisjoint(removed)
    assert REMOVED.on("mysql", BEGINNING) is None
    assert SETTINGS.keys().isdisjoint(name for names in REMOVED.values() for name in names)


def test_without_exists_a_setting_exists_everywhere() -> None:
    entry = SettingEntry.model_validate(
        {"kind": "number", "dynamic": True, "default": 1, "reference": "https://example.org/"}
    )
    assert all(entry.exists.on(*version) for version in [*VERSIONS, ("mysql", BEGINNING)])
    assert entry.minimum.on("mysql", BEGINNING) is None
