"""The command curve: its forms, its sizes, its file, and what it refuses."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from advisor.cli.curve import curve as command
from advisor.cli.main import main
from advisor.pool import estimate
from advisor.pool.curve import TIMES, MissCurve
from advisor.pool.errors import Unanswerable
from advisor.render import curve_svg, models, text
from exporter.snapshot import Snapshot
from tests.advisor.building import capture, captured
from tests.advisor.curves import curve, size

SCAN = "mysql-9.7/repeated-scan"


def run(*arguments: object) -> Result:
    return CliRunner(env={"INNODB_ADVISOR_DSN": None}).invoke(main, ["curve", *map(str, arguments)])


def refused(*arguments: object) -> str:
    done = run(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    return done.stderr.partition("Error: ")[2].removesuffix("\n")


def halving(times: Sequence[float]) -> MissCurve:
    """A curve whose reads halve where the pool doubles."""
    return curve([size(multiple, 400.0 / multiple, items=300.0 / multiple) for multiple in times])


class Estimated:
    """Stands for the model: a curve of the sizes that it is asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, float, tuple[float, ...]]] = []

    def __call__(self, history: Sequence[Snapshot], longest: float, times: Sequence[float]) -> MissCurve:
        self.asked.append((len(history), longest, tuple(times)))
        return halving(times)


@pytest.fixture
def estimated(monkeypatch: pytest.MonkeyPatch) -> Estimated:
    estimated = Estimated()
    monkeypatch.setattr(estimate, "curve", estimated)
    return estimated


def test_the_whole_recording_is_asked_for_the_usual_sizes(estimated: Estimated) -> None:
    done = run("--recording", capture(SCAN), "--format", "json")
    assert (done.exit_code, done.stderr) == (0, "")
    assert estimated.asked == [(len(captured(SCAN).snapshots), float("inf"), TIMES)]
    miss_curve = MissCurve.model_validate_json(done.stdout)
    assert miss_curve == halving(TIMES).tidied()
    assert list(json.loads(done.stdout)) == list(MissCurve.model_fields)


def test_the_model_answers_for_a_real_recording() -> None:
    name = "mysql-9.7/change-buffer-off-resident"
    done = run("--recording", capture(name), "--times", "0.5,2", "--format", "json")
    assert (done.exit_code, done.stderr) == (0, "")
    window = captured(name)
    expected = estimate.curve(window.snapshots, float("inf"), (0.5, 1.0, 2.0))
    assert MissCurve.model_validate_json(done.stdout) == expected.tidied()
    assert [size.times for size in expected.sizes] == [0.5, 1.0, 2.0]


@pytest.mark.parametrize(
    ("style", "shown"),
    [
        ("text", lambda answer: text.text(models.curve(answer))),
        ("svg", curve_svg.svg),
        ("json", lambda miss_curve: miss_curve.model_dump_json(indent=2) + "\n"),
    ],
)
def test_a_file_has_what_standard_output_has(
    estimated: Estimated, tmp_path: Path, style: str, shown: Callable[[MissCurve], str]
) -> None:
    printed = run("--recording", capture(SCAN), "--format", style)
    done = run("--recording", capture(SCAN), "--format", style, "-o", tmp_path / "curve")
    assert (printed.exit_code, done.exit_code, done.output) == (0, 0, "")
    content = (tmp_path / "curve").read_text()
    assert content == shown(halving(TIMES).tidied())
    assert [line.rstrip() for line in printed.stdout.splitlines()] == content.splitlines()
    if style == "svg":
        ET.fromstring(content)  # noqa: S314 - written here
    assert len(estimated.asked) == 2


@pytest.mark.parametrize(
    ("written", "asked"),
    [("2", (1.0, 2.0)), ("4,0.5, 2", (0.5, 1.0, 2.0, 4.0)), ("1.0,1,3", (1.0, 3.0)), ("0.01,100", (0.01, 1.0, 100.0))],
)
def test_todays_size_is_always_among_the_sizes(estimated: Estimated, written: str, asked: tuple[float, ...]) -> None:
    assert run("--recording", capture(SCAN), "--times", written).exit_code == 0
    assert estimated.asked[0][2] == asked


@pytest.mark.parametrize("written", ["", "0", "-1", "2,", "2;3", "nan", "inf", "1e3", "101", "0.001", "4G", "2x", "٣"])
def test_what_is_no_multiple_is_refused(written: str) -> None:
    message = refused("--recording", capture(SCAN), "--times", written)
    assert message == (
        f"Invalid value for '--times': {written!r} is not a list of numbers from 0.01 to 100 such as 0.5,1,2"
    )


def test_more_sizes_than_the_model_takes_are_refused() -> None:
    written = ",".join(map(str, range(1, 22)))
    assert refused("--recording", capture(SCAN), "--times", written).endswith("21 sizes are too many: 20 at most")


def test_the_default_sizes_of_the_help_are_the_models() -> None:
    [option] = [parameter for parameter in command.params if parameter.name == "times"]
    assert option.type.convert(option.default, None, None) == TIMES


def test_a_file_that_cannot_be_written_is_refused_before_the_server_is_watched(
    estimated: Estimated, tmp_path: Path
) -> None:
    message = refused("--dsn", "mysql://root@127.0.0.1:1", "-o", tmp_path / "absent" / "curve.svg")
    assert message == f"cannot write {tmp_path}/absent/curve.svg: there is no directory {tmp_path}/absent"
    assert "is a directory" in refused("--recording", capture(SCAN), "-o", tmp_path)
    assert estimated.asked == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has it")  # noqa: PTH110 - a name, not a path
def test_a_full_disk_is_one_clear_line(estimated: Estimated) -> None:
    assert refused("--recording", capture(SCAN), "-o", "/dev/full") == (
        "cannot write /dev/full: No space left on device"
    )
    assert len(estimated.asked) == 1


@pytest.mark.parametrize(
    ("recording", "message"),
    [
        (SCAN, "there is no miss curve: nothing explains what was measured"),
        ("mysql-9.7/unprivileged", "GRANT PROCESS ON *.* TO"),
    ],
)
def test_it_says_why_there_is_no_curve(monkeypatch: pytest.MonkeyPatch, recording: str, message: str) -> None:
    def unanswerable(*_: Any) -> MissCurve:
        raise Unanswerable("accesses", "nothing explains what was measured")

    monkeypatch.setattr(estimate, "curve", unanswerable)
    assert message in refused("--recording", capture(recording))


def test_it_needs_a_server_that_answers() -> None:
    assert refused().startswith("name a server with --dsn")
    assert refused("--dsn", "mysql://root@127.0.0.1:1", "--watch", "1s") == (
        "cannot connect to 127.0.0.1:1: Connection refused"
    )


def test_an_interruption_ends_it_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> MissCurve:
        raise KeyboardInterrupt

    monkeypatch.setattr(estimate, "curve", interrupted)
    done = run("--recording", capture(SCAN))
    assert (done.exit_code, done.stdout, done.stderr) == (130, "", "interrupted\n")
