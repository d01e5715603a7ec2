"""What became of advice: findings that stood, changes of settings, and what was measured after them.

A finding has promised a number. When a setting takes another value, an outcome is opened, and the same quantity is
measured again. The code is pure: production, the replay of recordings and proofs share it.
"""
