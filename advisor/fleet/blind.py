"""What rules lack on many servers, in one line for each lack."""

from __future__ import annotations

from dataclasses import dataclass, field

from advisor.contract.fleet import FleetBlindSpot, Source

EXAMPLES = 3


@dataclass(slots=True)
class _Spot:
    servers: int = 0
    examples: list[str] = field(default_factory=list)


class BlindSpots:
    """Counts servers by rule, lack, source and cure; memory does not grow with the servers."""

    def __init__(self) -> None:
        """Nothing is blind."""
        self._spots: dict[tuple[str, str, Source, str | None], _Spot] = {}

    def add(self, server: str, rule: str, lacks: str, source: Source, cure: str | None = None) -> None:
        """A rule that could not be judged on a server."""
        spot = self._spots.setdefault((rule, lacks, source, cure), _Spot())
        spot.servers += 1
        if len(spot.examples) < EXAMPLES:
            spot.examples.append(server)

    def lines(self) -> tuple[FleetBlindSpot, ...]:
        """One for each lack, the most servers first."""
        return tuple(
            FleetBlindSpot(
                rule=rule, lacks=lacks, source=source, servers=spot.servers, examples=tuple(spot.examples), cure=cure
            )
            for (rule, lacks, source, cure), spot in sorted(
                self._spots.items(), key=lambda each: (-each[1].servers, each[0][0], each[0][1], each[0][2])
            )
        )
