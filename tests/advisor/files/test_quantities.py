"""Sizes are understood as people write them."""

from __future__ import annotations

import pytest

from advisor.files import quantities


@pytest.mark.parametrize(
    ("written", "size"),
    [
        ("16G", 16 << 30),
        ("16Gi", 16 << 30),
        ("16 GiB", 16 << 30),
        ("1.5g", 3 << 29),
        ("512M", 512 << 20),
        (1 << 30, 1 << 30),
    ],
)
def test_sizes_are_binary(written: object, size: int) -> None:
    assert quantities.size(written) == size
