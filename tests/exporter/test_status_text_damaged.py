"""A damaged text of SHOW ENGINE INNODB STATUS never fails the parser and never gives a wrong number."""

import itertools
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.status_text import parse_text
from tests.exporter.status_texts import (
    END,
    FILE_IO,
    LIES,
    captured,
    damaged,
    numbers,
    unfounded,
    with_instances,
)


@pytest.mark.parametrize(
    ("seed", "texts"),
    [(0, 5_000), *(pytest.param(seed, 100_000, marks=pytest.mark.long) for seed in range(10))],
)
def test_a_million_damaged_texts_never_raise_and_never_yield_a_number_that_is_not_there(seed: int, texts: int) -> None:
    said_something = said_nothing = no_status = 0
    for text in damaged(seed, texts):
        try:
            status = parse_text(text)
        except ValueError:
            assert "INNODB MONITOR OUTPUT" not in text, text
            no_status += 1
            continue
        assert unfounded(text, status) == [], text
        if numbers(status):
            said_something += 1
        else:
            said_nothing += 1
    # Otherwise the damage is of the wrong kind, and this test shows nothing.
    assert said_something > texts / 2
    assert said_nothing > texts / 20
    assert no_status > 0


def test_a_number_that_is_not_there_would_be_seen() -> None:
    for text in (*(texts[0] for texts in captured().values()), with_instances(captured()["mysql-9.7"][0])):
        status = parse_text(text)
        assert unfounded(text, status) == []
        assert status.total is not None
        assert status.total.free_pages is not None
        assert status.checkpoint_age_bytes is not None
        wrong = [
            replace(status, total=replace(status.total, free_pages=status.total.free_pages * 10 + 1)),
            replace(status, total=replace(status.total, made_young=987654321)),
            replace(status, checkpoint_age_bytes=status.checkpoint_age_bytes + 1),
        ]
        if status.change_buffer is not None:
            wrong.append(replace(status, change_buffer=replace(status.change_buffer, merges=987654321)))
            wrong.append(replace(status, change_buffer=replace(status.change_buffer, merged_deletes=987654321)))
        for each in wrong:
            assert len(unfounded(text, each)) == 1


@given(st.text(), st.integers(0, 6000), st.integers(0, 300))
def test_any_text_within_a_real_one_does_no_harm(inserted: str, place: int, skipped: int) -> None:
    for text in (texts[0] for texts in captured().values()):
        changed = text[:place] + inserted + text[place + skipped :]
        try:
            status = parse_text(changed)
        except ValueError:
            assert "INNODB MONITOR OUTPUT" not in changed
        else:
            assert unfounded(changed, status) == []


@given(st.text(alphabet="-=\n BUFERPOLINSDAMYG0123456789,:", max_size=400))
def test_what_looks_like_a_text_does_no_harm(body: str) -> None:
    text = f"INNODB MONITOR OUTPUT\n{FILE_IO}{body}{END}"
    assert unfounded(text, parse_text(text)) == []


def test_a_count_that_wrapped_below_zero_is_not_known() -> None:
    for text, *_ in captured().values():
        before = parse_text(text)
        assert before.total is not None
        free = f"\nFree buffers       {before.total.free_pages}\n"
        wrapped = text.replace(free, f"\nFree buffers       {2**64 - 1}\n")
        assert wrapped != text
        assert parse_text(wrapped).total == replace(before.total, free_pages=None)


def test_a_change_buffer_whose_sizes_wrapped_below_zero_is_not_known() -> None:
    text = captured()["mysql-9.7"][0]
    assert parse_text(text).change_buffer is not None
    wrapped = text.replace("Ibuf: size 1,", f"Ibuf: size {2**64 - 1},")
    assert wrapped != text
    assert parse_text(wrapped).change_buffer is None


def test_a_checkpoint_that_lies_ahead_is_not_known() -> None:
    text = captured()["mysql-9.7"][0]
    ahead = text.replace("\nLast checkpoint at           ", "\nLast checkpoint at           9")
    assert ahead != text
    assert parse_text(ahead).checkpoint_age_bytes is None


def test_a_client_cannot_make_up_sections_where_the_text_is_cut() -> None:
    """A text that is cut within a statement ends with the client's words."""
    text = captured()["mysql-9.7"][0]
    before, _, _ = text.partition(FILE_IO)
    status = parse_text(before + FILE_IO + "".join(LIES[:5]))
    assert status.truncated
    assert numbers(status) == []


LONG = 2**20
HOSTILE = {
    "dashes": "-" * LONG,
    "lines of a dash": "-\n" * (LONG // 2),
    "lines of dashes": ("-" * 1000 + "\n") * (LONG // 1000),
    "titles without a lower line": "-\nLOG\n" * (LONG // 6),
    "titles": "-\nLOG\n-\n" * (LONG // 8),
    "a long title": "-\n" + "A" * LONG + "\n-",
    "spaces": "\nBuffer pool size " + " " * LONG,
    "labels": "\nBuffer pool size " * (LONG // 18),
    "digits": "\nBuffer pool size " + "7" * LONG + "\n",
    "instances": "\n---BUFFER POOL 1" * (LONG // 17) + "\n",
    "a change buffer": "\nsize 1, free list len 2, seg size 3, " * (LONG // 38),
    "line ends": "\n" * LONG,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_long_text_is_parsed_in_a_time_that_grows_with_its_length(kind: str) -> None:
    """In a time that grows with the square of the length, none of them would end."""
    section = "\n----------------------\nBUFFER POOL AND MEMORY\n----------------------"
    for inside in ("", section):
        text = f"INNODB MONITOR OUTPUT\n{FILE_IO}{inside}{HOSTILE[kind]}{END}"
        assert unfounded(text, parse_text(text)) == []


def test_a_statement_of_a_mebibyte_hides_no_section() -> None:
    chance = random.Random(1)  # noqa: S311 - any will do
    for text in itertools.chain.from_iterable(captured().values()):
        place = int(chance.random() * text.find(FILE_IO))
        long = text[:place] + ("\n" + "".join(LIES)) * 700 + text[place:]
        assert len(long) > LONG // 2
        # Statements come before the parsed sections, whatever they hold.
        if "INNODB MONITOR OUTPUT" in long:
            assert parse_text(long) == parse_text(text)
