"""Mark calls that the response cache answered; those made so far were all paid for."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Not a batch: copying the table would drop its append-only trigger.
    op.add_column(
        "ledger", sa.Column("cached", sa.Boolean(), server_default=sa.false(), nullable=False)
    )
