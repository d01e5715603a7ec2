"""Completion and man page, in real shells where they are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lab.packages.cache import REPOSITORY
from tests.unavailable import give_up
from tools import man

VARIABLE = "_INNODB_ADVISOR_COMPLETE"
PAGE = REPOSITORY / "docs" / "command-line.md"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment whose PATH has the program, and whose home is empty."""
    program = tmp_path / "bin" / "innodb-advisor"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable} -P\nfrom advisor.cli.main import main\nmain(prog_name='innodb-advisor')\n")
    program.chmod(0o755)
    path = f"{program.parent}:{os.environ['PATH']}"
    return {"PATH": path, "PYTHONPATH": str(REPOSITORY), "HOME": str(tmp_path), "LC_ALL": "C.UTF-8", "TERM": "dumb"}


def completions(shell: str, script: str, environment: dict[str, str]) -> list[str]:
    program = shutil.which(shell)
    if program is None:
        give_up(f"{shell} is not installed")
    command = [
        program,
        *(["--no-config"] if shell == "fish" else ["--norc"] if shell == "bash" else ["-f"]),
        "-c",
        script,
    ]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60, env=environment)  # noqa: S603
    return done.stdout.split()


BASH = """
eval "$(_INNODB_ADVISOR_COMPLETE=bash_source innodb-advisor)"
handler=$(complete -p innodb-advisor | sed -E 's/.*-F ([^ ]+).*/\\1/')
complete_line() {
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
    $handler innodb-advisor; printf '%s\\n' "${COMPREPLY[@]}"
}
"""


def test_bash_completes_commands_options_and_words(environment: dict[str, str]) -> None:
    assert completions("bash", f"{BASH}\ncomplete_line innodb-advisor wh", environment) == ["whatif"]
    assert completions("bash", f"{BASH}\ncomplete_line innodb-advisor advise --fail", environment) == ["--fail-on"]
    words = completions("bash", f"{BASH}\ncomplete_line innodb-advisor advise --fail-on ''", environment)
    assert words == ["info", "warning", "critical"]


def test_fish_completes_commands_and_options(environment: dict[str, str]) -> None:
    load = f"{VARIABLE}=fish_source innodb-advisor | source\n"
    assert completions("fish", f"{load}complete --do-complete 'innodb-advisor wh'", environment)[0] == "whatif"
    assert (
        completions("fish", f"{load}complete --do-complete 'innodb-advisor advise --fail'", environment)[0]
        == "--fail-on"
    )


# compadd and _describe are the ends of zsh's completion: here they print what they were given.
ZSH = """
autoload -Uz compinit; compinit -D -u
compadd() { while [[ $1 == -* ]]; do shift; done; print -l -- "$@" }
_describe() { for array in $argv; do [[ $array == [a-z_]## ]] 2>/dev/null && print -l -- ${(P)array}; done }
eval "$(_INNODB_ADVISOR_COMPLETE=zsh_source innodb-advisor)"
words=(innodb-advisor wh) CURRENT=2
_innodb_advisor_completion
"""


def test_zsh_completes_commands(environment: dict[str, str]) -> None:
    assert any(word.startswith("whatif") for word in completions("zsh", f"setopt extendedglob\n{ZSH}", environment))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_page_has_the_line_of_each_shell(shell: str) -> None:
    assert f"{VARIABLE}={shell}_source innodb-advisor" in PAGE.read_text(encoding="utf-8")


def test_the_man_page_has_every_command_and_option_and_no_mark_of_click() -> None:
    page = man.page().replace("\\-", "-")
    for words in ("innodb-advisor serve", "rules test", "--state-dir", "--fail-on", ".SH EXAMPLES", "Exit codes:"):
        assert words in page
    assert "\b" not in page
    assert not [line for line in page.splitlines() if line.startswith("'")]


@pytest.mark.parametrize("command", [("mandoc", "-T", "lint", "-W", "error"), ("groff", "-man", "-ww", "-z", "-Tutf8")])
def test_tools_of_man_pages_find_no_problem(command: tuple[str, ...], tmp_path: Path) -> None:
    program = shutil.which(command[0])
    if program is None:
        give_up(f"{command[0]} is not installed")
    page = tmp_path / "innodb-advisor.1"
    page.write_text(man.page(), encoding="utf-8")
    done = subprocess.run([program, *command[1:], str(page)], check=False, capture_output=True, text=True)  # noqa: S603
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
