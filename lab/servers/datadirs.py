"""Fresh data folders: set up once per server program, then copied, which is much faster."""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from exporter.knowledge import SETTINGS
from exporter.server import parse_version
from lab.packages import cache
from lab.servers.programs import ServerProgram

# Options that are fixed when a data folder is created; the server must always start with them.
LASTING = {"innodb-page-size", "innodb-data-file-path", "innodb-undo-tablespaces", "lower-case-table-names"}

SET_UP_SECONDS = 120

# Bootstrap scripts of the servers without --initialize, by the ends of their names; MariaDB renamed
# mysql_*.sql to mariadb_*.sql.
SCRIPTS = ("system_tables.sql", "performance_tables.sql", "system_tables_data.sql")


class StartError(Exception):
    """A server did not start; the text ends with the end of its output."""


def flags(options: Mapping[str, str]) -> list[str]:
    """Options as arguments; an empty value means an option without value, as in --skip-log-bin."""
    return [f"--{name}={value}" if value else f"--{name}" for name, value in options.items()]


def placement(program: ServerProgram, data: Path) -> list[str]:
    """The arguments that name the folders of a program and its data; the host's option files are not read."""
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
        arguments.append("--secure-file-priv=NULL")  # Debian's default folder does not exist here
    if os.geteuid() == 0:
        arguments.append("--user=root")  # servers refuse to run as root unless told
    return arguments


def create(program: ServerProgram, options: Mapping[str, str], data: Path, origin: Path | None = None) -> None:
    """Fill `data`, an absent or empty folder, with a copy of `origin`, or of `template`."""
    shutil.copytree(origin or template(program, options), data, dirs_exist_ok=True)


def template(program: ServerProgram, options: Mapping[str, str]) -> Path:
    """A fresh data folder in the cache, made by the first call: root without a password, no data.

    Args:
        program: The server's program.
        options: The server's options; the folder keeps those in `LASTING`.

    Raises:
        StartError: The program failed.
        UnavailableHere: The program's own files are incomplete.
    """
    arguments, script = _recipe(program, options)
    key = hashlib.sha256(repr((program.command, arguments, script)).encode()).hexdigest()[:8]
    version = re.sub(r"[^\w.+-]", "_", program.version)
    return cache.entry(
        f"datadirs/{program.name.partition('-')[0]}-{version}-{key}",
        lambda folder: _set_up(program, arguments, script, folder),
    )


def _recipe(program: ServerProgram, options: Mapping[str, str]) -> tuple[list[str], str]:
    """The arguments, besides the placement, and the SQL that set up a data folder."""
    arguments = flags({name: value for name, value in sorted(options.items()) if name in LASTING})
    # A redo log of 8 MB keeps the copies small; the server resizes it at its start.
    if _has_initialize(program):
        capacity = SETTINGS["innodb_redo_log_capacity"].exists.on("mysql", parse_version(program.version))
        log = "innodb-redo-log-capacity" if capacity else "innodb-log-file-size"
        return [*arguments, "--initialize-insecure", f"--{log}=8M"], ""
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
    (data / "auto.cnf").unlink(missing_ok=True)  # every copy gets its own server UUID


def _has_initialize(program: ServerProgram) -> bool:
    return program.name.startswith("mysql") and not program.version.startswith("5.6.")


def _script(program: ServerProgram) -> str:
    """The SQL that creates the system tables, for --bootstrap."""
    parts = [
        "USE mysql;",
        # mysql_install_db's switches: root logs in with an empty password, not as the system's user, and there are no
        # anonymous accounts.
        "SET @auth_root_socket = NULL;",
        "SET @skip_auth_anonymous = 1;",
    ]
    for end in SCRIPTS:
        parts += [path.read_text(errors="replace") for path in sorted(program.share.glob(f"m*_{end}"))]
    if program.name.startswith("mysql"):
        # 5.6 lacks that switch, and an anonymous account would match before others.
        parts.append("DELETE FROM user WHERE User = '';")
    return "\n".join(parts) + "\n"
