"""The release: where construction ends and evaluation begins (see `docs/release-format.md`)."""
