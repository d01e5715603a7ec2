"""A rule's cases: recordings, and the findings that the rule must have on them."""
