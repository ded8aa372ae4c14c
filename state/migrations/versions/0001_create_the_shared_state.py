"""Create the Shared State."""

import sqlalchemy as sa
from alembic import op

from state.migrations.rules import is_sqlite, refuse

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


APPEND_ONLY = {
    "answer_calls": ("candidate_key", "round", "attempt"),
    "answer_feedback": ("candidate_key", "round", "position"),
    "candidates": ("key",),
    "critic_calls": ("candidate_key", "round", "attempt"),
    "critiques": ("candidate_key", "round"),
    "cues": ("candidate_key", "round", "position"),
    "independent_answers": ("candidate_key", "round"),
    "ledger": ("candidate_key", "round", "role", "attempt"),
    "question_calls": ("candidate_key", "round", "attempt"),
    "question_feedback": ("candidate_key", "round", "position"),
    "questions": ("candidate_key", "round"),
    "reference_answers": ("candidate_key", "round"),
    "runs": ("ordinal",),
    "steps": ("candidate_key", "round", "step"),
}


def _refuse_second_insert(table: str, key: tuple[str, ...]) -> None:
    # INSERT OR REPLACE deletes without asking the authorizer; a trigger sees it.
    same = " AND ".join(f"{column} = NEW.{column}" for column in key)
    exists = f"EXISTS (SELECT 1 FROM {table} WHERE {same})"
    refuse(table, "append_only", exists, f"{table} is append-only")


def upgrade() -> None:
    op.create_table(
        "clips",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("modified_at", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("action", sa.String(), nullable=True),
        sa.Column("duration", sa.Float(), nullable=True),
        sa.Column("probe_json", sa.String(), nullable=True),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("source_group", sa.String(), nullable=False),
        sa.Column("source_video_id", sa.String(), nullable=False),
        sa.Column("recording_group", sa.String(), nullable=False),
        sa.Column("verified", sa.Boolean(), nullable=False),
        sa.Column("source_start", sa.Float(), nullable=False),
        sa.Column("licence", sa.String(), nullable=True),
        sa.Column("consent", sa.String(), nullable=True),
        sa.Column("url", sa.String(), nullable=True),
        sa.Column("history_json", sa.String(), nullable=True),
        sa.Column("context", sa.String(), nullable=False),
        sa.Column("added_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("sha256"),
        # A row without a rowid has no second key to be replaced by.
        sqlite_with_rowid=False,
    )
    op.create_table(
        "runs",
        sa.Column("ordinal", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("seed", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("count", sa.Integer(), nullable=True),
        sa.Column("preparation", sa.Integer(), nullable=False),
        sa.Column("models_json", sa.String(), nullable=False),
        sa.Column("pins_json", sa.String(), nullable=False),
        sa.Column("plan_json", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("ordinal"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "preparations",
        sa.Column("clip_id", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("content_hash", sa.String(), nullable=False),
        sa.Column("transcript_source", sa.String(), nullable=False),
        sa.Column("notes_json", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["clip_id"],
            ["clips.id"],
        ),
        sa.PrimaryKeyConstraint("clip_id", "number"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "episodes",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("preparation", sa.Integer(), nullable=False),
        sa.Column("clip_id", sa.String(), nullable=False),
        sa.Column("start", sa.Float(), nullable=False),
        sa.Column("end", sa.Float(), nullable=False),
        sa.Column("duration", sa.Float(), nullable=False),
        sa.Column("public_context", sa.String(), nullable=False),
        sa.Column("transcript_json", sa.String(), nullable=False),
        sa.Column("signals_json", sa.String(), nullable=False),
        sa.Column("history_json", sa.String(), nullable=False),
        sa.Column("frames_json", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["clip_id", "preparation"],
            ["preparations.clip_id", "preparations.number"],
        ),
        sa.PrimaryKeyConstraint("id", "preparation"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "candidates",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("run", sa.Integer(), nullable=False),
        sa.Column("batch", sa.Integer(), nullable=False),
        sa.Column("pick", sa.Integer(), nullable=False),
        sa.Column("episode_id", sa.String(), nullable=False),
        sa.Column("preparation", sa.Integer(), nullable=False),
        sa.Column("capability", sa.String(), nullable=False),
        sa.Column("format", sa.String(), nullable=False),
        sa.Column("cell_json", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["episode_id", "preparation"],
            ["episodes.id", "episodes.preparation"],
        ),
        sa.ForeignKeyConstraint(
            ["run"],
            ["runs.ordinal"],
        ),
        sa.PrimaryKeyConstraint("key"),
        sa.UniqueConstraint("run", "pick"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "answer_calls",
        sa.Column("candidate_key", sa.String(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("request_key", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("finish_reason", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["candidate_key"],
            ["candidates.key"],
        ),
        sa.PrimaryKeyConstraint("candidate_key", "round", "attempt"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "answer_feedback",
        sa.Column("candidate_key", sa.String(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("code", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["candidate_key"],
            ["candidates.key"],
        ),
        sa.PrimaryKeyConstraint("candidate_key", "round", "position"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "critic_calls",
        sa.Column("candidate_key", sa.String(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("request_key", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("finish_reason", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["candidate_key"],
            ["candidates.key"],
        ),
        sa.PrimaryKeyConstraint("candidate_key", "round", "attempt"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "critiques",
        sa.Column("candidate_key", sa.String(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("critique_json", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["candidate_key"],
            ["candidates.key"],
        ),
        sa.PrimaryKeyConstraint("candidate_key", "round"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "cues",
        sa.Column("candidate_key", sa.String(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("start", sa.Float(), nullable=False),
        sa.Column("end", sa.Float(), nullable=False),
        sa.Column("modality", sa.String(), nullable=False),
        sa.Column("description", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["candidate_key"],
            ["candidates.key"],
        ),
        sa.PrimaryKeyConstraint("candidate_key", "round", "position"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "independent_answers",
        sa.Column("candidate_key", sa.String(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("answer_json", sa.String(), nullable=False),
        sa.Column("flag", sa.String(), nullable=True),
        sa.Column("rationale", sa.String(), nullable=False),
        sa.Column("order_json", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["candidate_key"],
            ["candidates.key"],
        ),
        sa.PrimaryKeyConstraint("candidate_key", "round"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "ledger",
        sa.Column("candidate_key", sa.String(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("prompt_id", sa.String(), nullable=False),
        sa.Column("prompt_hash", sa.String(), nullable=False),
        sa.Column("parameters_json", sa.String(), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=False),
        sa.Column("output_tokens", sa.Integer(), nullable=False),
        sa.Column("cost", sa.Float(), nullable=True),
        sa.Column("latency", sa.Float(), nullable=False),
        sa.Column("called_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["candidate_key"],
            ["candidates.key"],
        ),
        sa.PrimaryKeyConstraint("candidate_key", "round", "role", "attempt"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "outcomes",
        sa.Column("candidate_key", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("answers", sa.Integer(), nullable=False),
        sa.Column("reference_flip", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["candidate_key"],
            ["candidates.key"],
        ),
        sa.PrimaryKeyConstraint("candidate_key"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "question_calls",
        sa.Column("candidate_key", sa.String(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("request_key", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("finish_reason", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["candidate_key"],
            ["candidates.key"],
        ),
        sa.PrimaryKeyConstraint("candidate_key", "round", "attempt"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "question_feedback",
        sa.Column("candidate_key", sa.String(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("code", sa.String(), nullable=False),
        sa.Column("option_id", sa.String(), nullable=True),
        sa.Column("cue_index", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["candidate_key"],
            ["candidates.key"],
        ),
        sa.PrimaryKeyConstraint("candidate_key", "round", "position"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "questions",
        sa.Column("candidate_key", sa.String(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("subcategory", sa.String(), nullable=False),
        sa.Column("question", sa.String(), nullable=False),
        sa.Column("options_json", sa.String(), nullable=False),
        sa.Column("decision_time", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(
            ["candidate_key"],
            ["candidates.key"],
        ),
        sa.PrimaryKeyConstraint("candidate_key", "round"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "reference_answers",
        sa.Column("candidate_key", sa.String(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("answer_json", sa.String(), nullable=False),
        sa.Column("key_points_json", sa.String(), nullable=False),
        sa.Column("rationale", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["candidate_key"],
            ["candidates.key"],
        ),
        sa.PrimaryKeyConstraint("candidate_key", "round"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "steps",
        sa.Column("candidate_key", sa.String(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("step", sa.String(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["candidate_key"],
            ["candidates.key"],
        ),
        sa.PrimaryKeyConstraint("candidate_key", "round", "step"),
        sqlite_with_rowid=False,
    )
    # PostgreSQL replaces nothing without a right to update.
    if is_sqlite():
        for table, key in APPEND_ONLY.items():
            _refuse_second_insert(table, key)
