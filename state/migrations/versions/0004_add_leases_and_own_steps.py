"""Add the coordinator's lease; let a role write only steps and ledger entries of its own."""

import sqlalchemy as sa
from alembic import op

from state.migrations.rules import is_sqlite, refuse

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

# Whose step it is; what no agent does is the curator's.
_STEPS = {"propose": "question", "answer": "answer", "critique": "critic"}
OWNERS = {
    "steps": "CASE NEW.step "
    + "".join(f"WHEN '{step}' THEN '{role}' " for step, role in _STEPS.items())
    + "ELSE 'curator' END",
    "ledger": "NEW.role",
}


# On SQLite a function of the connection; on both NULL, which refuses nothing, for the owner.
_ACTING_ROLE = (
    "CREATE FUNCTION acting_role() RETURNS text LANGUAGE sql STABLE "
    "SET search_path = pg_catalog, pg_temp "
    "AS $$ SELECT substring(session_user from '^psychemme_(question|answer|critic|curator)$') $$"
)


def upgrade() -> None:
    op.create_table(
        "leases",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("work", sa.String(), nullable=False),
        sa.Column("token", sa.String(), nullable=False),
        sa.Column("host", sa.String(), nullable=False),
        sa.Column("machine", sa.String(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("started", sa.BigInteger(), nullable=False),
        sa.Column("taken_at", sa.BigInteger(), nullable=False),
        sa.Column("heartbeat_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
        sqlite_with_rowid=False,
    )
    if not is_sqlite():
        op.execute(_ACTING_ROLE)
    for table, owner in OWNERS.items():
        refuse(table, "own", f"acting_role() <> {owner}", f"{table}: not your own")
