#!/bin/sh
# Creates the virtual environment. Usage: tools/setup.sh PYTHON VENV
set -eu
python=$1 venv=$2

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
    echo "setup: $python is missing or older than Python 3.11; name another with: make PYTHON=/path/to/python3.11, or run: docker compose up" >&2
    exit 2
}
if ! "$python" -c 'import ensurepip' 2>/dev/null; then
    # Debian keeps venv in a package of its own.
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "setup: installing python3-venv"
        apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv >/dev/null
    else
        echo "setup: $python cannot make virtual environments; run: sudo apt-get install python3-venv" >&2
        exit 2
    fi
fi
echo "setup: installing the pinned dependencies into $venv"
"$python" -m venv --clear "$venv"
"$venv/bin/pip" install -q --disable-pip-version-check --require-hashes -r requirements/dev.txt
"$venv/bin/pip" install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
