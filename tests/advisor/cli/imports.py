"""What each command imports, of those on standard input: each runs in a fork of a process that imported nothing."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys

from advisor.cli.main import main


def modules(arguments: list[str]) -> list[str]:
    """The modules that are there after a command has ended well."""
    with contextlib.redirect_stdout(io.StringIO()):
        main(arguments, standalone_mode=False)
    return sorted(sys.modules)


def forked(arguments: list[str]) -> list[str]:
    """The same of a fork."""
    readable, writable = os.pipe()
    if child := os.fork():
        os.close(writable)
        with os.fdopen(readable) as pipe:
            text = pipe.read()
        assert os.waitpid(child, 0)[1] == 0, arguments
        return list(json.loads(text))
    with os.fdopen(writable, "w") as pipe:
        json.dump(modules(arguments), pipe)
    os._exit(0)


if __name__ == "__main__":
    json.dump([forked(arguments) for arguments in json.load(sys.stdin)], sys.stdout)
