"""The names that users rely on, and the policy that keeps them (docs/versioning.md)."""
