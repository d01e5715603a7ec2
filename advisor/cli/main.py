"""The command line: its commands, and how any of them may end early.

Commands import the modules that they need when they run: --help and completion load neither a server's driver, nor
HTTP, nor pydantic.
"""

from __future__ import annotations

import errno
import io
import sys
from typing import Any

import click

from advisor.cli import logs
from advisor.cli.advise import advise
from advisor.cli.anonymise import anonymise
from advisor.cli.check import check
from advisor.cli.curve import curve
from advisor.cli.fleet import fleet
from advisor.cli.grade import grade
from advisor.cli.history import history
from advisor.cli.lru import lru
from advisor.cli.mcp import mcp
from advisor.cli.output import INTERRUPTED, Unusable, epilog
from advisor.cli.plan import plan
from advisor.cli.receipt import receipt
from advisor.cli.record import record
from advisor.cli.rules import rules
from advisor.cli.serve import serve
from advisor.cli.upgrade import upgrade
from advisor.cli.whatif import whatif
from advisor.contract.visible import visible_lines
from exporter import __version__


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
            if isinstance(error, _input_errors()):
                raise Unusable(visible_lines(str(error))) from error
            raise


def _input_errors() -> tuple[type[Exception], ...]:
    """Errors of the input, whose text is the message to the user."""
    from advisor.files.yaml_file import FileError
    from advisor.plan.targets.target import PlanRefused
    from advisor.upgrade.target import UpgradeRefused
    from exporter.connection.errors import ServerError
    from exporter.connection.target import TargetError
    from exporter.recording.file import RecordingError
    from exporter.state_file import InUse

    return TargetError, ServerError, RecordingError, FileError, InUse, UpgradeRefused, PlanRefused


@click.group(
    cls=Program,
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


for command in (
    advise,
    anonymise,
    check,
    curve,
    fleet,
    grade,
    history,
    lru,
    mcp,
    plan,
    receipt,
    record,
    rules,
    serve,
    upgrade,
    whatif,
):
    main.add_command(command)
