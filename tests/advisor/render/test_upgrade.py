"""The forecast of an upgrade for people: in the order of the JSON, with lines that can be pasted."""

from __future__ import annotations

import re
from html import escape

import pytest

from advisor.contract.upgrade import MovedDefault, OptionLine, UpgradeForecast
from advisor.render import html, text
from advisor.render import upgrade as documents
from advisor.render.markdown import markdown
from tests.advisor.upgrade.forecasts import FORECAST, KEEP, NOTHING
from tests.hostile_names import NAMES

SECTIONS = (
    "What would not start",
    "What changes for this workload",
    "What gets better by itself",
    "Advice that falls away",
    "Lines for the new server's option file",
    "SQL to run before",
    "SQL to run after",
    "What cannot be said",
)


def in_text(forecast: UpgradeForecast = FORECAST) -> str:
    return text.text(documents.forecast(forecast))


def in_markdown(forecast: UpgradeForecast = FORECAST) -> str:
    return markdown(documents.forecast(forecast))


def in_html(forecast: UpgradeForecast = FORECAST) -> str:
    return html.html(documents.forecast(forecast))


def test_every_section_is_in_the_order_of_the_issue() -> None:
    assert re.findall(r"^(?:What |Advice |Lines |SQL ).*", in_text(), re.MULTILINE) == [*SECTIONS]
    assert re.findall(r"^## (.*)", in_markdown(), re.MULTILINE) == [*SECTIONS]
    assert re.findall(r"<h2 [^>]*>(.*?)</h2>", in_html()) == [section.replace("'", "&#x27;") for section in SECTIONS]


@pytest.mark.parametrize(
    "line",
    [
        "mysql 8.0.28 to mysql 26.10, taken to behave like 9.7; watched 10 min",
        "An upgrade of the data folder goes through 8.4 first.",
        "critical  innodb_log_file_size = 50331648: the new version does not know it, and does not start",
        "  set in      option file",
        "  gone since  9.3",
        "  option file innodb_redo_log_capacity = 100663296",
        "worse  Inserts read the pages of secondary indexes at once",
        "  effect      pages read a second: 120 -> 1,500 (expect 1,300 to 1,700); model: change buffer",
        "  default     innodb_change_buffering: all -> none",
        "  line        one read for several inserts",
        "changes  An idle server writes dirty pages faster",
        "  behaviour   idle_flushing",
        "better  COUNT(*) of shop.orders reads a small index again",
        "1 other default changes; it touches nothing that was seen.",
    ],
)
def test_what_is_said_has_its_number_its_cause_and_its_line(line: str) -> None:
    assert line in in_text().splitlines()


def test_the_fragment_can_be_pasted_with_its_reasons() -> None:
    fragment = (
        "[mysqld]\n"
        "# two files of 48 MiB, as today\n"
        "innodb_redo_log_capacity = 100663296\n"
        "# one read for several inserts\n"
        "innodb_change_buffering = all"
    )
    assert f"```ini\n{fragment}\n```" in in_markdown()
    assert "".join(f"  {line}\n" for line in fragment.splitlines()) in in_text()
    assert escape(fragment) in in_html()
    assert "```sql\n-- mysqld-auto.cnf has it\nRESET PERSIST innodb_log_file_size;\n```" in in_markdown()


@pytest.mark.parametrize("name", NAMES)
def test_a_value_that_does_not_show_is_never_pasted(name: str) -> None:
    hostile = FORECAST.model_copy(
        update={"option_file": (OptionLine(line=f"init_file = {name}\x1b[31m", reason=name),)}
    )
    [fragment] = re.findall(r"```+ini\n(.*?)\n```+", in_markdown(hostile), re.DOTALL)
    head, *lines = fragment.splitlines()
    assert head == "[mysqld]"
    assert all(line.startswith("# ") for line in lines), lines
    assert "\x1b" not in in_text(hostile) + in_html(hostile)


def test_a_forecast_of_nothing_says_so_and_has_no_empty_section() -> None:
    assert in_text(NOTHING).splitlines()[1:] == [
        "",
        "What would not start",
        "Nothing that is set here stops the start, as far as it is known.",
        "",
        "What changes for this workload",
        "Nothing is known that changes this workload for the worse.",
    ]


def test_a_page_unfolds_the_other_defaults() -> None:
    others = tuple(MovedDefault(setting=name, from_=1, to=2) for name in ("innodb_a", "innodb_b"))
    two = FORECAST.model_copy(update={"other_changes": others})
    assert "2 other defaults change; none touches anything that was seen." in in_text(two)
    assert "innodb_b" not in in_text(two)
    assert "innodb_b" in in_html(two)


def test_the_json_comes_back_as_it_was() -> None:
    written = FORECAST.model_dump_json(by_alias=True)
    assert '"from":"all"' in written
    assert UpgradeForecast.model_validate_json(written) == FORECAST
    assert KEEP in FORECAST.option_file
