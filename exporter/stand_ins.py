"""Modules that a library imports and nothing here uses: empty ones stand in while the library is imported."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType


@contextlib.contextmanager
def standing_in(names: Mapping[str, Sequence[str]]) -> Iterator[None]:
    """Import a library without some modules. Later imports of these get the modules themselves.

    Args:
        names: By module, what the library takes from it on import; empty classes stand in.
    """
    missing = [each for each in names if each not in sys.modules]
    for each in missing:
        sys.modules[each] = ModuleType(each)
        vars(sys.modules[each]).update({name: type(name, (), {}) for name in names[each]})
    try:
        yield
    finally:
        for each in missing:
            del sys.modules[each]
