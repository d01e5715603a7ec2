"""The time of a parallel read of a clustered index with other numbers of threads. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ParallelRead:
    """A measured read of a whole index.

    Attributes:
        seconds: From its beginning to its end.
        threads: Reader threads at work.
        wait_seconds: Time that all threads together waited for reads of the table's file.
        cores: Cores that the server can keep busy.
    """

    seconds: float
    threads: float
    wait_seconds: float
    cores: float

    @property
    def wait_share(self) -> float:
        """Share of the threads' time, 0 to 1, that is waiting for reads."""
        return min(1.0, self.wait_seconds / (self.seconds * self.threads))

    @property
    def cpu_seconds(self) -> float:
        """CPU time of the read, limited by the cores."""
        return max(0.0, self.seconds - self.wait_seconds / self.threads) * min(self.threads, self.cores)

    def seconds_with(self, threads: float) -> float:
        """The time with other threads, if single reads stay as fast.

        The waits overlap, and the rest is spread over the cores. Measured on MySQL 9.7.4, two cores and a local SSD, a
        table in random order: 0.75 s with one thread, 0.35 to 0.40 with two, 0.23 to 0.28 with four (the sum says
        0.38 and 0.21), and from there on the device was the limit.
        """
        return self.cpu_seconds / min(threads, self.cores) + self.wait_seconds / threads

    def more_threads(self, at_most: float) -> float:
        """The next step up: at most four times as many threads, and at most what the cores can feed.

        Args:
            at_most: Upper bound of the threads.
        """
        busy = 1.0 - self.wait_share
        fed = self.cores / busy if busy > 0.0 else math.inf
        return float(max(self.threads, math.floor(min(4.0 * self.threads, at_most, fed))))
