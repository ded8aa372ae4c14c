"""Keep what screening found of clips and what people decided about them."""

import sqlalchemy as sa
from alembic import op

from state.migrations.rules import refuse

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "clip_screenings",
        sa.Column("clip_id", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("maker", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("verdict", sa.String(), nullable=False),
        sa.Column("reasons_json", sa.String(), nullable=False),
        sa.Column("measures_json", sa.String(), nullable=False),
        sa.Column("screened_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["clip_id"], ["clips.id"]),
        sa.PrimaryKeyConstraint("clip_id", "position"),
        sqlite_with_rowid=False,
    )
    same = "clip_id = NEW.clip_id AND position = NEW.position"
    exists = f"EXISTS (SELECT 1 FROM clip_screenings WHERE {same})"
    refuse("clip_screenings", "append_only", exists, "clip_screenings is append-only")
