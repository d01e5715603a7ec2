"""`innodb-advisor` whose history goes back 36 s rather than an hour: `python -m lab.bench.hurried serve …`.

With `--interval 0.1s` it holds as many snapshots as a history of an hour at the usual 10 s, and is full as soon.
"""

from __future__ import annotations

from advisor.cli import main
from exporter.sampling.sampler import Sampler

INTERVAL, SNAPSHOTS = 0.1, 361
"""Seconds, and what an hour at 10 s has."""

if __name__ == "__main__":
    defaults = Sampler.__init__.__kwdefaults__ or {}
    defaults["history_seconds"] = (SNAPSHOTS - 1) * INTERVAL
    main.main()
