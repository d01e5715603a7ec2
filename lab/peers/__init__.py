"""The advice of other advisers beside ours: each is followed alone under the same loads, and measured."""

from lab.peers.trial import GROUP, study

__all__ = ["GROUP", "study"]
