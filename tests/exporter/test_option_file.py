"""Option files are read as the server reads them; tests/exporter/connection/test_target.py has quotes and comments."""

from __future__ import annotations

import pytest

from exporter.option_file import Option, OptionFileError, read, with_value


def test_lines_have_their_group_and_their_order() -> None:
    text = "[mysqld]\nInnoDB_IO_Capacity = 1\nskip-name-resolve\n# x\n[empty]\n[ mysqld-8.4 ]\ninnodb-io-capacity='2'\n"
    file = read(text)
    assert file.options == (
        Option("mysqld", "innodb-io-capacity", "1", 2),
        Option("mysqld", "skip-name-resolve", None, 3),
        Option(" mysqld-8.4", "innodb-io-capacity", "2", 7),
    )
    assert file.groups == {"mysqld": 3, "empty": 5, " mysqld-8.4": 7}


def test_includes_are_named() -> None:
    assert read("!includedir /etc/my.cnf.d/\n[mysqld]\n  !include x.cnf\n").includes == (
        "!includedir /etc/my.cnf.d/",
        "!include x.cnf",
    )


def test_a_line_outside_of_a_group_is_refused_without_repeating_it() -> None:
    with pytest.raises(OptionFileError, match=r"^line 2: not an option file") as refused:
        read("\npassword=secret\n")
    assert refused.value.line == 2
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("a=1", "a=2"),
        ("\ta-b  =  1  # kept = 3\r", "\ta-b  =  2  # kept = 3\r"),
        ("a = '1 # x' ; y", "a = 2"),
        ("a", "a = 2"),
        ("a # kept", "a = 2 # kept"),
        ("a=", "a=2"),
    ],
)
def test_a_line_takes_another_value_and_keeps_the_rest(line: str, changed: str) -> None:
    assert with_value(line, "2") == changed
