"""Shared State: the only durable truth, isolated by role in the database engine."""
