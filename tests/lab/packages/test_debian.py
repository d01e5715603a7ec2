"""The machine's apt configuration is read in both formats, with the suite replaced."""

from pathlib import Path

import pytest

from lab.packages import debian
from lab.packages.cache import Unavailable

DEB822 = """\
# a comment
Types: deb
URIs: file:/mirror/debian-security
Suites: stable-security
Components: main
Signed-By: /security.gpg

Types: deb deb-src
URIs: file:/mirror/debian
Suites: stable stable-updates
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 aGVsbG8=
 -----END PGP PUBLIC KEY BLOCK-----
"""

ONE_LINE = """\
deb-src file:/mirror/debian stable main
deb [arch=amd64 signed-by=/keys.gpg] file:/mirror/debian stable main
"""


def configured(folder: Path, name: str, text: str) -> Path:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return folder


def test_a_deb822_source_keeps_its_mirror_and_its_inline_key(tmp_path: Path) -> None:
    stanza = debian.source("sid", configured(tmp_path, "sources.list.d/debian.sources", DEB822))
    assert stanza == (
        "Types: deb\nURIs: file:/mirror/debian\nSuites: sid\nComponents: main\nSigned-By: \n"
        " -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n aGVsbG8=\n -----END PGP PUBLIC KEY BLOCK-----\n"
    )


@pytest.mark.parametrize("name", ["sources.list", "sources.list.d/own.list"])
def test_a_one_line_source_keeps_its_mirror_and_keyring(tmp_path: Path, name: str) -> None:
    stanza = debian.source("sid", configured(tmp_path, name, ONE_LINE))
    assert stanza == ("Types: deb\nURIs: file:/mirror/debian\nSuites: sid\nComponents: main\nSigned-By: /keys.gpg\n")


def test_a_machine_without_a_source_is_reported(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="no source of Debian packages"):
        debian.source("sid", tmp_path)


def test_the_trees_own_loader_is_used_not_a_link_out_of_it(tmp_path: Path) -> None:
    folder = tmp_path / "lib" / "x86_64-linux-gnu"
    for file in (tmp_path / "usr/bin/tool", folder / "ld-2.31.so"):
        file.parent.mkdir(parents=True)
        file.touch()
    (folder / "ld-linux-x86-64.so.2").symlink_to("/proc/self/exe")
    loader, _, libraries, program = debian.command(tmp_path, "usr/bin/tool")
    assert (loader, libraries) == (str(folder / "ld-2.31.so"), str(folder))
    assert program == str(tmp_path / "usr/bin/tool")
