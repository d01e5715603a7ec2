"""The window itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from advisor.facts.base import Meaning


@dataclass(frozen=True, slots=True)
class WindowFacts:
    """The window itself."""

    seconds: Annotated[float, Meaning("Length of the window: how long the server has been watched.", unit="seconds")]
    snapshots: Annotated[float, Meaning("Collections in the window.", unit="collections")] = 0.0
