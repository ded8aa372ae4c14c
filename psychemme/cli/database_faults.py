"""What a database refused, and what to do about it, for whoever ran the command."""

_AGAIN = "then run the command again (`generate` with --resume); what was committed is kept."
_ACTIONS = {
    ("SQLITE_FULL", "53"): f"Make room for the database, {_AGAIN}",
    # A standby server says 0A: it does not support writing.
    ("SQLITE_READONLY", "SQLITE_CANTOPEN", "25", "0A"): f"Let the database be written, {_AGAIN}",
    ("SQLITE_CORRUPT", "SQLITE_NOTADB", "XX"): "Restore the database from a copy.",
    ("SQLITE_BUSY",): f"End what else holds the database, {_AGAIN}",
    ("28",): "Check the password of this database role.",
    ("08", "57"): f"Check that the database server runs and can be reached, {_AGAIN}",
}
"""SQLite's names of errors, and PostgreSQL's SQLSTATE, by how they begin."""


def described(error: Exception) -> tuple[str, str]:
    """Return the problem and the action for a driver's error, or one that wraps it."""
    origin = getattr(error, "orig", error)
    # What follows PostgreSQL's first line may quote a row.
    said = str(origin).partition("\n")[0].rstrip(".")
    # A server that cannot be reached gives no state at all.
    code = getattr(origin, "sqlite_errorname", None) or getattr(origin, "sqlstate", None) or "08"
    found = (action for starts, action in _ACTIONS.items() if code.startswith(starts))
    other = f"Check that the database can be reached and written, {_AGAIN}"
    return f"The workspace's database cannot be used: {said}.", next(found, other)
