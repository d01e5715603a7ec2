import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.rows import Rows, Value, count, count_or_none, credible, lower_half, number, plain, seconds, text


@pytest.mark.parametrize(
    ("given_value", "expected"),
    [
        (None, None),
        (7, 7),
        (2.5, 2.5),
        ("x", "x"),
        (True, 1),
        (Decimal(12), 12),
        (Decimal("12.000"), 12),
        (Decimal("12.5"), 12.5),
        (Decimal(18446744073709551615), 18446744073709551615),
        ("日本".encode(), "日本"),
        (bytearray(b"ab"), "ab"),
        (b"caf\xe9", "caf�"),
        ("half \ud83d of a pair", "half ��� of a pair"),
        (date(2026, 1, 2), "2026-01-02"),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05+00:00"),
        (timedelta(minutes=1, milliseconds=500), 60.5),
        ({"set"}, "{'set'}"),
    ],
    ids=repr,
)
def test_a_drivers_value_becomes_a_plain_one(given_value: object, expected: Value) -> None:
    assert plain(given_value) == expected
    assert type(plain(given_value)) is type(expected)


def test_column_names_are_in_lower_case() -> None:
    assert Rows.of(["POOL_ID", "Free_Buffers"], [[0, 1]]).columns == ("pool_id", "free_buffers")


def test_rows_are_read_as_dictionaries() -> None:
    rows = Rows.of(["A", "B"], [[1, "x"], [2, None]])
    assert list(rows) == [{"a": 1, "b": "x"}, {"a": 2, "b": None}]
    assert len(rows) == 2


@pytest.mark.parametrize("row", [[1], [1, 2, 3]])
def test_a_row_of_another_length_than_the_columns_is_refused(row: list[int]) -> None:
    with pytest.raises(ValueError, match="argument"):
        list(Rows.of(["a", "b"], [row]))


values = st.one_of(st.none(), st.integers(), st.floats(allow_nan=False), st.text())


@given(st.lists(st.tuples(values, values)))
def test_rows_survive_json(rows: list[tuple[Value, Value]]) -> None:
    original = Rows.of(["a", "b"], rows)
    read = json.loads(json.dumps({"columns": original.columns, "rows": original.rows}))
    assert Rows.of(read["columns"], read["rows"]) == original


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (3, 3.0),
        (2.5, 2.5),
        (-1, -1.0),
        ("12", 12.0),
        ("0.5", 0.5),
        ("18446744073709551615", 2.0**64),
        ("", None),
        ("ON", None),
        ("nan", None),
        ("-inf", None),
        ("1e999", None),
        (float("nan"), None),
        (10**400, None),
        ("9" * 5000, None),
        ("1_000", None),
        ("١٢", None),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_a_number_is_read_where_there_is_one(value: Value, expected: float | None) -> None:
    assert number(value) == expected


@pytest.mark.parametrize(("value", "expected"), [(0, 0), (3, 3), ("12", 12), (4.0, 4), (2**63 - 1, 2**63 - 1)])
def test_a_count_is_a_whole_number(value: Value, expected: int) -> None:
    assert count(value) == count_or_none(value) == expected
    assert credible(expected)


NO_NUMBERS = [None, "", "ON", "1.5", 1.5, float("inf"), float("nan"), "1_000", "١٢", "9" * 5000]
WRAPPED = [-1, "-1", 2**63, 2**64 - 1, "18446744073709551615", 2.0**64, -(2**63)]


@pytest.mark.parametrize("read", [count, count_or_none, seconds, lower_half])
@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: repr(value)[:24])
def test_only_whole_numbers_are_accepted(value: Value, read: Callable[[Value], object]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        read(value)


@pytest.mark.parametrize("value", WRAPPED, ids=repr)
def test_a_count_that_wrapped_below_zero_is_refused_or_not_known(value: Value) -> None:
    with pytest.raises(ValueError, match="wrapped below 0"):
        count(value)
    assert count_or_none(value) is None
    parsed = number(value)
    assert parsed is not None
    assert not credible(parsed)


@pytest.mark.parametrize(
    ("value", "expected"), [(0, 0.0), (10**12, 1.0), ("1500000000000", 1.5), (2**63, 9223372.036854776)]
)
def test_waits_are_summed_beyond_what_a_count_can_be(value: Value, expected: float) -> None:
    assert seconds(value) == expected


@pytest.mark.parametrize("value", [-1, 10**400], ids=["-1", "too many"])
def test_a_time_that_cannot_be_is_refused(value: Value) -> None:
    with pytest.raises(ValueError, match="where a time was expected"):
        seconds(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1, 1), (4355096838145, 1), ("541165879297", 1), (2**31 - 1, 2**31 - 1), (-1, None), (2**64 - 1, None)],
)
def test_garbage_in_the_upper_half_is_cut_off(value: Value, expected: int | None) -> None:
    assert lower_half(value) == expected


@pytest.mark.parametrize(("value", "expected"), [(None, ""), ("x", "x"), (3, "3")])
def test_null_is_empty_text(value: Value, expected: str) -> None:
    assert text(value) == expected
