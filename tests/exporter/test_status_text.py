"""Texts of others, which are kept beside the checkout and not in it, and texts that say nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

from exporter.collectors.innodb_status import INNODB_STATUS
from exporter.rows import Rows
from exporter.sampling.assembly import Answer, Assembler
from exporter.server import identify
from exporter.snapshot import ReadOutcome
from exporter.status_text import without_statements

ROOT = Path(__file__).parents[2]
CHECK = Path("shared", "status-texts", "check_status.py")
COLUMNS = ("type", "name", "status")


def test_no_number_of_third_party_texts_is_invented_or_missed() -> None:
    check = next((folder / CHECK for folder in ROOT.parents if (folder / CHECK).is_file()), None)
    if check is None:
        pytest.skip(f"{CHECK} is not beside this checkout")
    done = subprocess.run(  # noqa: S603 - the check of this project
        [sys.executable, str(check), "--product", str(ROOT)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    right, invented = (int(word.split("/")[0]) for word in done.stdout.splitlines()[-1].split()[1:4:2])
    assert invented == 0
    assert right > 1000


def outcome(*rows: tuple[str, str, str]) -> ReadOutcome:
    assembler = Assembler(identify({"version": "8.0.39", "aurora_version": "3.08.0"}), "watcher@%")
    assembler.take(Answer(INNODB_STATUS.name, 1.0, 0.1, (Rows(COLUMNS, rows),)))
    snapshot = assembler.snapshot(1.0)
    assert snapshot[INNODB_STATUS] is None
    return snapshot.outcomes[INNODB_STATUS.name]


@pytest.mark.parametrize("rows", [(), (("InnoDB", "", ""),), (("InnoDB", "", " \n"),)])
def test_an_empty_text_is_a_source_that_the_server_does_not_have(rows: tuple[tuple[str, str, str], ...]) -> None:
    unavailable = outcome(*rows)
    assert unavailable.failure == "absent"
    assert (
        unavailable.reason
        == "the text of SHOW ENGINE INNODB STATUS is empty, as a reader instance of Aurora returns it"
    )
    assert unavailable.cure is not None
    assert unavailable.cure.startswith("watch the writer instance")


def test_a_text_that_is_something_else_is_unreadable_also_where_it_was_shortened() -> None:
    [row] = without_statements(Rows(COLUMNS, (("InnoDB", "", "SELECT 'a secret'"),))).rows
    assert "secret" not in str(row)
    for status in ("SELECT 'a secret'", str(row[2])):
        unavailable = outcome(("InnoDB", "", status))
        assert unavailable.failure == "unreadable"
        assert "not the text of SHOW ENGINE INNODB STATUS" in unavailable.reason
