"""The command line of the outcomes: `python -m lab.outcomes`, or `make outcomes`."""

from __future__ import annotations

import click

from lab.harness.campaign import Campaign
from lab.outcomes import changed, followed
from lab.outcomes.followed import SERVERS


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--server", "servers", multiple=True, type=click.Choice(SERVERS), help="Only on this server; its results are kept."
)
@click.option("--fresh", is_flag=True, help="Discard the results of an interrupted run, and start over.")
def main(servers: tuple[str, ...], fresh: bool) -> None:  # noqa: FBT001 - click's flag
    """Follow advice by hand under load, and change settings without advice, while the ledger watches.

    The ledger's outcomes are compared with the lab's own count. The ledger must report harm within three windows, and
    no harm in hours of ordinary work.

    With --server, two runs can measure side by side; a run without it collects both, and records them.

    The records are lab/records/outcomes.json and changes.json; `python -m tools.docs` makes the sections of
    docs/proofs.md from them.

    Exit status: 0 all bounds hold, 1 one does not, 2 a server is unavailable here, 130 interrupted.
    """
    studies = [
        study.only(lambda part: not servers or part.server in servers) for study in (followed.study(), changed.study())
    ]
    Campaign(studies, fresh=fresh).run(record=not servers, share=bool(servers))


if __name__ == "__main__":
    main()
