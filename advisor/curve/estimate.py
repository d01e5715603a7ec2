"""The miss curve of a server, from what was watched of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from advisor.curve.curve import TIMES, Curve
from advisor.whatif.errors import Unanswerable
from exporter.snapshot import Snapshot


def curve(
    history: Sequence[Snapshot],
    longest: float,
    times: Sequence[float] = TIMES,
    check_time: Callable[[], None] = lambda: None,
) -> Curve:
    """The reads to expect with pools of other sizes.

    Args:
        history: Snapshots, oldest first, not empty. The newest part without an interruption is the window. The parts
            before it may show how the pool filled.
        longest: Seconds of the window at most.
        times: The sizes, as multiples of today's.
        check_time: Called between two steps; an exception from it ends the work.

    Raises:
        Unanswerable: A section is not known, or nothing explains what was measured.
    """
    raise Unanswerable("curve", "not built yet")
