"""`python -m tools.stable_names`: writes docs/stable-names.txt anew, as far as docs/versioning.md lets names go."""

from __future__ import annotations

import sys

from tools.stable_names.page import write
from tools.stable_names.policy import TooEarly

if __name__ == "__main__":
    try:
        write()
    except TooEarly as error:
        sys.exit(str(error))
