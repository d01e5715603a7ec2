"""Fresh data folders: set up once a server program, then copied, which is much faster."""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from lab.packages import cache
from lab.servers.programs import ServerProgram

# Options that a data folder is made with and has to be started with ever after.
LASTING = {"innodb-page-size", "innodb-data-file-path", "innodb-undo-tablespaces", "lower-case-table-names"}

SET_UP_SECONDS = 120

# Bootstrap scripts of the servers without --initialize, by the ends of their names; MariaDB renamed
# mysql_*.sql to mariadb_*.sql.
SCRIPTS = ("system_tables.sql", "performance_tables.sql", "system_tables_data.sql")


class StartError(Exception):
    """A server that can be had didn't start; the text ends with the end of what it said."""


def flags(options: Mapping[str, str]) -> list[str]:
    """Options as arguments; an empty value stands for none, as in --skip-log-bin."""
    return [f"--{name}={value}" if value else f"--{name}" for name, value in options.items()]


def placement(program: ServerProgram, data: Path) -> list[str]:
    """The arguments that tell a program where its own files and its data are, and nothing of the host."""
    arguments = [
        "--no-defaults",
        f"--basedir={program.base}",
        f"--lc-messages-dir={program.share}",
        f"--datadir={data}",
    ]
    for folder in ("lib/mysql/plugin", "lib/plugin"):
        if (program.base / folder).is_dir():
            arguments.append(f"--plugin-dir={program.base / folder}")
            break
    if _has_initialize(program):
        arguments.append("--secure-file-priv=NULL")  # Debian's default is a folder that isn't there
    if os.geteuid() == 0:
        arguments.append("--user=root")  # servers refuse to run as root unless told
    return arguments


def create(program: ServerProgram, options: Mapping[str, str], data: Path) -> None:
    """Fill `data` with a fresh data folder: root without a password on the loopback address, no data.

    Args:
        program: The server's program.
        options: What the server will be started with; those that last are baked in.
        data: A folder that is absent or empty.

    Raises:
        StartError: The program failed to set one up.
        Unavailable: The program's own files are not complete.
    """
    arguments, script = _recipe(program, options)
    key = hashlib.sha256(repr((program.command, arguments, script)).encode()).hexdigest()[:8]
    version = re.sub(r"[^\w.+-]", "_", program.version)
    template = cache.kept(
        f"datadirs/{program.name.partition('-')[0]}-{version}-{key}",
        lambda folder: _set_up(program, arguments, script, folder),
    )
    shutil.copytree(template, data, dirs_exist_ok=True)


def _recipe(program: ServerProgram, options: Mapping[str, str]) -> tuple[list[str], str]:
    """The arguments, besides the placement, and the SQL that set up a data folder."""
    arguments = flags({name: value for name, value in sorted(options.items()) if name in LASTING})
    # A redo log of 8 MB, as every copy pays for it; the server makes it as large as it wants when started.
    if _has_initialize(program):
        return [*arguments, "--initialize-insecure", "--innodb-redo-log-capacity=8M"], ""
    return [*arguments, "--bootstrap", "--skip-log-bin", "--innodb-log-file-size=8M"], _script(program)


def _set_up(program: ServerProgram, arguments: list[str], script: str, data: Path) -> None:
    if script:
        (data / "mysql").mkdir()
    try:
        subprocess.run(
            [*program.command, *placement(program, data), *arguments],
            env={**os.environ, **program.environment},
            input=script,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SET_UP_SECONDS,
            check=True,
        )
    except subprocess.TimeoutExpired:
        raise StartError(f"{program.name} took over {SET_UP_SECONDS} s to set up a data folder") from None
    except subprocess.CalledProcessError as error:
        raise StartError(f"{program.name} could not set up a data folder:\n{error.stdout[-4000:]}") from None
    (data / "auto.cnf").unlink(missing_ok=True)  # every copy makes a server UUID of its own


def _has_initialize(program: ServerProgram) -> bool:
    return program.name.startswith("mysql") and not program.version.startswith("5.6.")


def _script(program: ServerProgram) -> str:
    """The SQL that makes the system tables, fed to --bootstrap."""
    parts = [
        "USE mysql;",
        # mysql_install_db's switches: root logs in by empty password rather than as the system's user, and
        # there are no anonymous accounts.
        "SET @auth_root_socket = NULL;",
        "SET @skip_auth_anonymous = 1;",
    ]
    for end in SCRIPTS:
        parts += [path.read_text(errors="replace") for path in sorted(program.share.glob(f"m*_{end}"))]
    if program.name.startswith("mysql"):
        # 5.6 has no such switch, and an anonymous account would be matched before others.
        parts.append("DELETE FROM user WHERE User = '';")
    return "\n".join(parts) + "\n"
