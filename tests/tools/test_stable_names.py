"""docs/stable-names.txt holds every name that docs/versioning.md promises, and no name of a release goes too early."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from lab.packages.cache import REPOSITORY
from tools.stable_names import page, sources
from tools.stable_names.policy import StableName, TooEarly, may_go, parse, renewed
from tools.stable_names.shapes import fields

AGAIN = "python -m tools.stable_names"
VERSIONING = (REPOSITORY / "docs" / "versioning.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def names() -> dict[str, str | None]:
    return sources.found()


def test_every_name_of_the_code_is_written_down_and_none_is_gone() -> None:
    try:
        wanted = set(page.wanted().splitlines())
    except TooEarly as error:
        pytest.fail(str(error), pytrace=False)
    written = set(page.PAGE.read_text(encoding="utf-8").splitlines())
    changed = [
        *(f"new: {each}" for each in sorted(wanted - written)),
        *(f"gone: {each}" for each in sorted(written - wanted)),
    ]
    if changed:
        pytest.fail(
            "\n".join([*changed[:40], f"If this is meant, and docs/versioning.md allows it: {AGAIN}"]), pytrace=False
        )


def test_every_metric_of_the_documentation_is_among_them(names: dict[str, str | None]) -> None:
    known = {name.split()[1].partition("{")[0] for name in names if name.startswith("metric ")}
    pages = "".join((REPOSITORY / "docs" / name).read_text(encoding="utf-8") for name in ("metrics.md", "fleet.md"))
    documented = set(re.findall(r"^\| `(innodb_\w+)` \|", pages, re.MULTILINE))
    assert documented <= known
    assert len(documented) > 80


@pytest.mark.parametrize(
    "name",
    [
        "metric innodb_up gauge",
        "metric innodb_buffer_pool_pages{pool,sublist} gauge",
        "metric innodb_server_info info {flavour}",
        "http GET /advise",
        "http GET /advise query severity",
        "http GET /advise answer recommendations[].changes[].to: number",
        "http POST /whatif body set.*: number",
        "json fleet servers[].name: string",
        "rule when[]: string",
        "rule choose.setting = innodb_old_blocks_pct",
        "case expect",
        "fact pool.pages_read: number, pages",
        "finding scan-exceeds-old-sublist",
        "behaviour",
        "configuration suppress[].until: string",
        "recording format 1",
        "recording source pools",
        "command innodb-advisor advise --fail-on = warning",
        "variable INNODB_ADVISOR_DSN",
        "chart prometheusRule.enabled: boolean",
        "alert InnoDBAdvice",
    ],
)
def test_each_kind_of_name_is_found(name: str, names: dict[str, str | None]) -> None:
    assert any(each.startswith(name) for each in names), sorted(
        each for each in names if each.split()[0] == name.split(maxsplit=1)[0]
    )[:20]


def test_the_policy_explains_each_kind_and_its_number(names: dict[str, str | None]) -> None:
    kinds = {name.split()[0] for name in names}
    assert {kind for kind in kinds if f"`{kind}`" not in VERSIONING} == set()
    assert "two minor releases" in VERSIONING


UP = StableName("metric innodb_up gauge", "0.1.0")


def test_a_name_of_a_release_must_not_go() -> None:
    with pytest.raises(TooEarly, match=r"(?s)docs/versioning\.md.*metric innodb_up gauge"):
        renewed([UP], {}, "0.2.0", released=False)


def test_a_renamed_or_retyped_metric_is_a_name_that_is_gone() -> None:
    with pytest.raises(TooEarly, match="metric innodb_up gauge"):
        renewed([UP], {"metric innodb_up counter": None}, "0.2.0", released=False)


def test_a_name_that_no_release_has_may_go() -> None:
    assert renewed([UP], {}, "0.1.0", released=False) == []
    with pytest.raises(TooEarly):
        renewed([UP], {}, "0.1.0", released=True)


@pytest.mark.parametrize(
    ("now", "goes"),
    [("0.3.0", False), ("0.4.0", False), ("0.4.9", False), ("0.5.0", True), ("0.12.0", True), ("1.0.0", True)],
)
def test_a_deprecated_name_stays_for_two_minor_releases(now: str, goes: bool) -> None:  # noqa: FBT001
    assert may_go(StableName("metric innodb_up gauge", "0.1.0", "0.3.0"), now, released=False) is goes


def test_a_name_keeps_the_version_that_first_had_it_and_gets_its_deprecation() -> None:
    [kept, new] = renewed([UP], {UP.name: "0.2.0", "rule when": None}, "0.2.0", released=False)
    assert str(kept) == "0.1.0 metric innodb_up gauge (deprecated since 0.2.0)"
    assert str(new) == "0.2.0 rule when"
    assert parse(f"{kept}\n{new}\n") == [kept, new]


def test_a_damaged_line_is_named() -> None:
    with pytest.raises(ValueError, match="line 2 is no stable name: metric"):
        parse(f"{UP}\nmetric innodb_down\n")


def test_a_version_is_unreleased_as_long_as_the_changelog_says_so() -> None:
    assert not page.released("0.2.0", "# Changelog\n\n## 0.2.0 (unreleased)\n")
    assert page.released("0.2.0", "# Changelog\n\n## 0.2.0 (2027-01-05)\n")


def test_a_description_deprecates_a_field_by_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def chart() -> Iterator[tuple[str, str]]:
        schema = {"properties": {"old": {"type": "string", "description": "Deprecated since 0.2.0: use new."}}}
        return fields(schema, schema)

    monkeypatch.setattr(sources, "_chart", chart)
    found = sources.found()
    assert found["old"] == found["old: string"] == "0.2.0"


def test_a_shape_that_holds_itself_ends() -> None:
    schema = {
        "$ref": "#/a",
        "a": {"type": "object", "properties": {"below": {"$ref": "#/a"}, "n": {"type": ["null", "number"]}}},
    }
    assert [name for name, _ in fields(schema, schema)] == ["below", "n", "n: number"]
