"""The cases of a rule: recordings, and what the rule must say of each."""
