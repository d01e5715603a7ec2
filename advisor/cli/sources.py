"""What a command reads: a recording, or a server that it watches for a while."""

from __future__ import annotations

from typing import Any

from advisor.cli.options import SourceOptions
from advisor.cli.output import Unusable, progress_bar
from advisor.observe import observation
from advisor.observe.source import Replay, window
from advisor.observe.window import Window
from advisor.rules.configuration import ServerMachine
from exporter.collectors.machine import configure
from exporter.connection.errors import ServerError
from exporter.sampling.sampler import Sampler
from exporter.snapshot import Snapshot


def snapshot_source(where: SourceOptions, interval: float, machine: ServerMachine, **options: Any) -> Replay | Sampler:
    """A recording, or a server that is read every ``interval`` seconds.

    Args:
        where: Which of them.
        interval: Seconds.
        machine: The server's machine, as far as it is configured.
        options: More of the sampler's arguments.

    Raises:
        RecordingError: The recording cannot be used.
    """
    if where.recording is None:
        return Sampler(where.server, interval=interval, machine=machine.configured, **options)
    replay = Replay(where.recording)
    replay.history = [configure(snapshot, machine.configured) for snapshot in replay.history]
    return replay


def observed_source(
    where: SourceOptions, watch: float, interval: float | None, machine: ServerMachine | None = None
) -> Replay | Sampler:
    """A recording, or a server that was watched for ``watch`` seconds.

    Raises:
        ServerError, RecordingError: There is nothing to look at.
    """
    source = snapshot_source(
        where, interval or min(watch / 6, 10.0), machine or ServerMachine(), history_seconds=2 * watch
    )
    if isinstance(source, Sampler):
        with progress_bar("watching", watch) as progress:
            observation.run(observation.observe(source, watch, progress))
    return source


def observed_window(
    where: SourceOptions, watch: float, interval: float | None, machine: ServerMachine | None = None
) -> Window:
    """The window of ``observed_source``. Raises as it does."""
    return whole_window(observed_source(where, watch, interval, machine))


def whole_window(source: Replay | Sampler) -> Window:
    """All that a source has. Raises ServerError where that is nothing."""
    observed = window(source, float("inf"))
    if observed is None:
        raise source.problem or ServerError("nothing was collected")
    return observed


def refuse_missing_privileges(snapshot: Snapshot) -> None:
    """Exit with 2 and the GRANTs where the account may not read something."""
    cures = {outcome.cure for outcome in snapshot.outcomes.values() if outcome.failure == "privilege" and outcome.cure}
    if cures:
        raise Unusable(
            f"{snapshot.account} may not read everything; as an administrator run\n"
            + "\n".join(f"  {cure};" for cure in sorted(cures))
        )
