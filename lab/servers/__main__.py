"""The command line of the private servers: python -m lab.servers."""

import sys
from pathlib import Path

import click

from lab.servers import NAMES, OWN, StartError, UnavailableHere, interrupt_on_signals, start


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Start private, temporary MySQL and MariaDB servers on the loopback address."""


@main.command("start")
@click.argument("name", type=click.Choice((*NAMES, *OWN)))
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="An option of the server, without dashes, such as innodb-buffer-pool-size=256M. May be repeated.",
)
@click.option(
    "--datadir",
    type=click.Path(file_okay=False, path_type=Path),
    help="A data folder to use and to keep; set up when empty. Default: a temporary one.",
)
def start_command(name: str, options: tuple[str, ...], datadir: Path | None) -> None:
    """Start server NAME, print its address, and stop it on Ctrl-C or SIGTERM.

    Root has no password. The server always ends with this command. Exit status: 2 when the server is unavailable here,
    1 when it did not start or ended by itself.
    """
    interrupt_on_signals()
    try:
        with start(name, dict(option.partition("=")[::2] for option in options), datadir) as server:
            for label in ("version", "dsn", "socket", "pid", "datadir"):
                click.echo(f"{label:8} {getattr(server, label)}")
            sys.stdout.flush()
            status = server.wait()
            raise click.ClickException(f"{name} ended with status {status}:\n{server.log()[-4000:]}")
    except KeyboardInterrupt:
        return
    except StartError as error:
        raise click.ClickException(str(error)) from None
    except UnavailableHere as error:
        click.echo(f"{name} is unavailable here: {error}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
