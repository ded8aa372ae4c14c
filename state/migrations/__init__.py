"""Ordered, named revisions of the Shared State."""
