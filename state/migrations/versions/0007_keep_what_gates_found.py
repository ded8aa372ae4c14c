"""Keep what automatic gates found about candidates, and every reply to the leakage filter."""

import sqlalchemy as sa
from alembic import op

from state.migrations.rules import refuse

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

APPEND_ONLY = {
    "gate_runs": ("ordinal",),
    "leakage_trials": (
        "candidate_key",
        "version",
        "probe",
        "protocol",
        "model",
        "trial",
        "attempt",
        "step",
    ),
    "candidate_gates": ("candidate_key", "gate", "position"),
}


def upgrade() -> None:
    op.create_table(
        "gate_runs",
        sa.Column("ordinal", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("gate", sa.String(), nullable=False),
        sa.Column("pins_json", sa.String(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("ordinal"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "leakage_trials",
        sa.Column("candidate_key", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("probe", sa.String(), nullable=False),
        sa.Column("protocol", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("trial", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("step", sa.String(), nullable=False),
        sa.Column("order_json", sa.String(), nullable=False),
        sa.Column("answer_json", sa.String(), nullable=False),
        sa.Column("credit", sa.Float(), nullable=True),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("finish_reason", sa.String(), nullable=False),
        sa.Column("asked", sa.String(), nullable=False),
        sa.Column("request_key", sa.String(), nullable=False),
        sa.Column("prompt_id", sa.String(), nullable=False),
        sa.Column("prompt_hash", sa.String(), nullable=False),
        sa.Column("parameters_json", sa.String(), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=False),
        sa.Column("output_tokens", sa.Integer(), nullable=False),
        sa.Column("cost", sa.Float(), nullable=True),
        sa.Column("latency", sa.Float(), nullable=False),
        sa.Column("cached", sa.Boolean(), nullable=False),
        sa.Column("called_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["candidate_key"], ["candidates.key"]),
        sa.PrimaryKeyConstraint(*APPEND_ONLY["leakage_trials"]),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "candidate_gates",
        sa.Column("candidate_key", sa.String(), nullable=False),
        sa.Column("gate", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("detail", sa.String(), nullable=False),
        sa.Column("found_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["candidate_key"], ["candidates.key"]),
        sa.PrimaryKeyConstraint(*APPEND_ONLY["candidate_gates"]),
        sqlite_with_rowid=False,
    )
    for table, key in APPEND_ONLY.items():
        same = " AND ".join(f"{column} = NEW.{column}" for column in key)
        exists = f"EXISTS (SELECT 1 FROM {table} WHERE {same})"
        refuse(table, "append_only", exists, f"{table} is append-only")
