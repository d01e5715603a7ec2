"""The setting that the geometry asks for is the smallest at which the old sublist really holds the object."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from advisor.models.lru import NO_SETTING, OLD_BLOCKS_PCT, old_blocks_pct_to_hold, pages_in_fullest_instance
from exporter.midpoint import TOLERANCE, old_target

PAGES = st.integers(1, 2_000_000)


@given(pages=PAGES, list_pages=PAGES)
def test_the_old_sublist_holds_the_object_at_that_setting_and_at_none_below(pages: int, list_pages: int) -> None:
    pct = old_blocks_pct_to_hold(pages, list_pages, 1)
    holding = [each for each in OLD_BLOCKS_PCT if old_target(list_pages, each) - TOLERANCE >= pages]
    assert pct == (float(holding[0]) if holding else NO_SETTING)


@given(pages=PAGES, more=st.integers(1, 1000), list_pages=PAGES, instances=st.integers(1, 64))
def test_a_larger_object_never_needs_less(pages: int, more: int, list_pages: int, instances: int) -> None:
    small = old_blocks_pct_to_hold(pages, list_pages, instances)
    assert small <= old_blocks_pct_to_hold(pages + more, list_pages, instances)


def test_an_object_that_fits_the_smallest_old_sublist_needs_the_smallest_setting() -> None:
    assert old_blocks_pct_to_hold(100, 16_382, 1) == 5.0


def test_the_measured_table_of_11491_pages_needs_71_of_a_pool_of_256_mib() -> None:
    # Live on MySQL 9.7 (facts.md, section 1): 37 reads it at every pass, 95 holds it.
    assert old_target(16_382, 37) < 11_491
    assert old_blocks_pct_to_hold(11_491, 16_382, 1) == 71.0


def test_an_object_larger_than_the_pool_fits_no_setting() -> None:
    assert old_blocks_pct_to_hold(20_000, 16_382, 1) == NO_SETTING
    assert old_blocks_pct_to_hold(100, 511, 1) == NO_SETTING  # no old sublist below 512 pages


def test_one_instance_holds_all() -> None:
    assert pages_in_fullest_instance(11_491, 1) == 11_491


@given(pages=PAGES, instances=st.integers(2, 64))
def test_the_fullest_of_several_instances_holds_less_than_an_extent_more_than_its_share(
    pages: int, instances: int
) -> None:
    assert 0 <= pages_in_fullest_instance(pages, instances) - pages / instances < 64


def test_the_fullest_of_eight_instances_holds_what_it_held_on_a_real_server() -> None:
    assert pages_in_fullest_instance(8_003, 8) == 1_024  # live, MySQL 9.7: 960 to 1,024


def test_several_instances_may_need_a_larger_setting_than_one() -> None:
    assert old_blocks_pct_to_hold(10_000, 65_528, 64) > old_blocks_pct_to_hold(10_000, 65_528, 1)
