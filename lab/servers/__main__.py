"""The command line of the private servers: python -m lab.servers."""

import sys
import time
from pathlib import Path

import click

from lab.servers import NAMES, StartError, Unavailable, interrupt_on_signals, programs, start


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Start private, temporary MySQL and MariaDB servers on the loopback address."""


@main.command("start")
@click.argument("name", type=click.Choice((*NAMES, *programs.OWN)))
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
        with start(name, options, datadir) as server:
            for label in ("version", "dsn", "socket", "pid", "datadir"):
                click.echo(f"{label:8} {getattr(server, label)}")
            sys.stdout.flush()
            status = server.wait()
            raise click.ClickException(f"{name} ended with status {status}:\n{server.log()[-4000:]}")
    except KeyboardInterrupt:
        return
    except StartError as error:
        raise click.ClickException(str(error)) from None
    except Unavailable as error:
        click.echo(f"{name} is unavailable here: {error}", err=True)
        sys.exit(2)


@main.command("fetch")
@click.argument("names", nargs=-1, type=click.Choice(NAMES), metavar="[NAME]...")
def fetch_command(names: tuple[str, ...]) -> None:
    """Download the servers NAME..., or all of them, so that their start needs no network.

    Servers from the environment or PATH are not downloaded. Exit status: 2 when a server is unavailable.
    """
    missing = False
    for name in names or NAMES:
        began = time.monotonic()
        click.echo(f"{name}: ", nl=False)
        try:
            program = programs.find(name)
        except Unavailable as error:
            click.echo(f"unavailable here: {error}")
            missing = True
        else:
            click.echo(f"{program.version} in {time.monotonic() - began:.1f} s: {program.command[-1]}")
    if missing:
        sys.exit(2)


@main.command("list")
def list_command() -> None:
    """List the servers and their sources. Nothing is downloaded."""
    for name in NAMES:
        try:
            program = programs.local(name)
        except Unavailable as error:
            click.echo(f"{name:14} {error}")
            continue
        if program is not None:
            click.echo(f"{name:14} {program.version}: {program.command[-1]}")
        else:
            click.echo(f"{name:14} {programs.origin(name)}")


if __name__ == "__main__":
    main()
