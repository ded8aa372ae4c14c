"""Alembic's entry: runs the revisions on the connection that `state.migrate` hands over."""

from alembic import context
from sqlmodel import SQLModel

from state import review_tables, tables  # noqa: F401  (registers every table)

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=SQLModel.metadata,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
