"""The files of the page: libraries as npm has them, their licences, the size of all, and no other host."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from advisor.http import pages

PAGE = Path(pages.__file__).parent / "page"
VENDOR = PAGE / "vendor"
OWN = sorted(path for path in PAGE.rglob("*") if path.is_file() and VENDOR not in path.parents)
LOADED = sorted(path for path in PAGE.rglob("*") if path.suffix in {".js", ".css", ".svg", ".html"})
MOST_BYTES = 300_000
ADDRESS = re.compile(r"(?:https?:)?//(?!www\.w3\.org/)[\w.-]+\.\w")  # but the names of XML's vocabularies


def vendored() -> dict[str, tuple[str, list[str]]]:
    """Hash and licence files of each library, as vendor/README.md has them."""
    rows = re.findall(r"^\| (\S+) \| ([0-9a-f]{64}) \|.*\| (.+) \|$", (VENDOR / "README.md").read_text(), re.MULTILINE)
    return {name: (digest, re.findall(r"\]\(([^)]+)\)", licences)) for name, digest, licences in rows}


def test_every_library_is_the_file_of_its_package() -> None:
    listed = vendored()
    files = {path.name for path in VENDOR.iterdir() if path.suffix in {".js", ".css"}}
    assert files == set(listed)
    for name, (digest, _) in listed.items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest, name


def test_every_library_has_its_licence_beside_it() -> None:
    for name, (_, licences) in vendored().items():
        assert licences, name
        for licence in licences:
            text = (VENDOR / licence).read_text()
            assert "Permission is hereby granted" in text or "Apache License" in text, licence


def test_the_page_is_small() -> None:
    swagger = {"docs.html", "docs.js"}
    assert sum(path.stat().st_size for path in LOADED if path.name not in swagger) < MOST_BYTES


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
def test_a_file_of_the_page_names_no_other_host(path: Path) -> None:
    assert not ADDRESS.findall(path.read_text())


LOADS = re.compile(r"\b(?:fetch|importScripts|eval|XMLHttpRequest|import)\s*\(|new Function\b|@import|url\(")


@pytest.mark.parametrize("name", vendored())
def test_a_library_loads_and_evaluates_nothing_by_itself(name: str) -> None:
    assert not LOADS.findall((VENDOR / name).read_text())


def test_every_module_that_a_file_imports_is_served() -> None:
    for path in OWN:
        for name in re.findall(r"""(?:from|import)\s+"(\.[^"]+)";""", path.read_text()):
            target = (path.parent / name).resolve()
            assert target.relative_to(PAGE).as_posix() in pages.FILES, (path.name, name)


SCRIPTS = [path for path in OWN if path.suffix == ".js"]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_a_script_of_the_page_writes_text_and_stores_nothing_but_whose_patch_was_chosen(path: Path) -> None:
    writes = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function"
    stores = r"localStorage|sessionStorage|indexedDB|document\.cookie|caches\."
    text = path.read_text()
    if path.name == "plan.js":
        text = re.sub(r"localStorage\.(getItem\(CHOICE\)|setItem\(CHOICE, choice\))", "", text)
    assert not re.search(f"{writes}|{stores}", text)


def test_the_scripts_of_the_page_are_modules_without_globals() -> None:
    scripts = re.findall(r"<script[^>]*>", (PAGE / "index.html").read_text())
    assert scripts
    assert all('type="module"' in script or "vendor/" in script for script in scripts)


def test_files_of_few_kinds_are_served() -> None:
    assert {path.suffix for path in pages.FILES.values()} == {".js", ".css", ".svg"}
