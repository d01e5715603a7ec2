"""The command line: its commands, and what may happen in any of them."""

from __future__ import annotations

import errno
import io
import sys
from typing import Any

import click

from advisor.cli import logs
from advisor.cli.exits import INTERRUPTED, Unusable, epilog
from advisor.cli.lazy import LazyCommands, load
from advisor.contract.visible import visible_lines
from exporter import __version__

_COMMANDS = LazyCommands(
    {
        "advise": "advisor.cli.advise.advise",
        "anonymise": "advisor.cli.anonymise.anonymise",
        "check": "advisor.cli.check.check",
        "curve": "advisor.cli.curve.curve",
        "fleet": "advisor.cli.fleet.fleet",
        "grade": "advisor.cli.grade.grade",
        "history": "advisor.cli.history.history",
        "lru": "advisor.cli.lru.lru",
        "record": "advisor.cli.record.record",
        "rules": "advisor.cli.rules.rules",
        "serve": "advisor.cli.serve.serve",
        "whatif": "advisor.cli.whatif.whatif",
    }
)
_INPUT_ERRORS = "advisor.cli.actions.errors.INPUT_ERRORS"


class Program(click.Group):
    """The commands, and what ends any of them early."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")  # a terminal with another character set is no reason to fail
        logs.warn_only()
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            error.message = visible_lines(error.message)  # type: ignore[misc]  # it may quote a file, or a rule of others
            raise
        except (click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            sys.exit(INTERRUPTED)
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # the reader of the output has seen enough; click ends quietly
            raise Unusable(visible_lines(f"cannot write the output: {error.strerror or error}")) from error
        except Exception as error:
            if isinstance(error, load(_INPUT_ERRORS)):
                raise Unusable(visible_lines(str(error))) from error
            raise


@click.group(
    cls=Program,
    commands=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=epilog(
        "check  --dsn mysql://advisor@127.0.0.1:3306 --password-file pw",
        "advise --defaults-file ~/.my.cnf --watch 5m",
        "serve  --defaults-file ~/.my.cnf",
    ),
)
@click.version_option(__version__, prog_name="innodb-advisor")
def main() -> None:
    """Shows what InnoDB does, and which setting to change.

    Reads a MySQL or MariaDB server and never changes it. The account needs PROCESS, and SELECT on
    performance_schema and mysql.innodb_index_stats; `check` names what is missing.
    """


if __name__ == "__main__":
    main()
