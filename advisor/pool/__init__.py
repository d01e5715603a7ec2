"""The miss curve: the reads to expect with pools of other sizes, and how sure that is."""

from __future__ import annotations

from advisor.pool.curve import Curve, Estimate, Filled, Size

__all__ = ["Curve", "Estimate", "Filled", "Size"]
