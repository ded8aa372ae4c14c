"""Create the tables of review, the views a reviewer reads, and the rules of both steps."""

import secrets

import sqlalchemy as sa
from alembic import op

from state.migrations.rules import is_sqlite, on_row, refuse

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_OF_VERSION = ("candidate_key", "version")
_OF_REVIEWER = (*_OF_VERSION, "reviewer_id")
APPEND_ONLY = {
    "adjudication_notes": (*_OF_VERSION, "position"),
    "assignments": _OF_REVIEWER,
    "blind_answers": _OF_REVIEWER,
    "gate_results": (*_OF_VERSION, "gate", "position"),
    "review_closings": _OF_VERSION,
    "review_cues": (*_OF_VERSION, "position"),
    "review_edits": _OF_VERSION,
    "review_items": _OF_VERSION,
    "review_references": _OF_VERSION,
    "votes": (*_OF_REVIEWER, "revision"),
}
_ASSIGNED = "EXISTS (SELECT 1 FROM assignments a WHERE {same})"
_CLOSED = (
    "EXISTS (SELECT 1 FROM review_closings c WHERE c.candidate_key = NEW.candidate_key "
    "AND c.version = NEW.version)"
)
_ANSWERED = "EXISTS (SELECT 1 FROM blind_answers b WHERE {same})"


_VERDICTS = ("question_validity", "answer_correctness", "psychological_consistency")
Rule = tuple[str, str, str, str]
"""Table, name, the condition under which a row is refused, and what is said then."""


def _same(alias: str) -> str:
    return " AND ".join(f"{alias}.{column} = NEW.{column}" for column in _OF_REVIEWER)


def _append_only(table: str, key: tuple[str, ...]) -> Rule:
    same = " AND ".join(f"{column} = NEW.{column}" for column in key)
    exists = f"EXISTS (SELECT 1 FROM {table} WHERE {same})"
    return table, "append_only", exists, f"{table} is append-only"


def _misshapen(json: str) -> str:
    if is_sqlite():
        return f"typeof(NEW.request_id) <> 'text' OR NOT json_valid(NEW.{json})"
    return f"NEW.{json} IS NOT JSON"


def _rules() -> list[Rule]:
    someone_else = "NEW.reviewer_id <> current_reviewer()"
    assigned = _ASSIGNED.format(same=_same("a"))
    answered = _ANSWERED.format(same=_same("b"))
    same_request = "EXISTS (SELECT 1 FROM votes v WHERE {} AND v.request_id = NEW.request_id)"
    rules = []
    for table in ("blind_answers", "votes", "review_drafts"):
        rules.append((table, "own", someone_else, f"{table}: not your own"))
        rules.append((table, "assigned", f"NOT {assigned}", f"{table}: not assigned"))
        rules.append((table, "open", _CLOSED, f"{table}: closed"))
    rules.append(("votes", "once", same_request.format(_same("v")), "votes: sent twice"))
    votes_shape = " OR ".join(
        (
            _misshapen("reasons_json"),
            "NEW.kind NOT IN ('verdict', 'skip', 'withdrawal')",
            *(f"NEW.{name} NOT IN ('approve', 'reject')" for name in _VERDICTS),
        )
    )
    rules.append(("votes", "shaped", votes_shape, "votes: of no known shape"))
    answers_shape = _misshapen("answer_json")
    rules.append(("blind_answers", "shaped", answers_shape, "blind_answers: no answer"))
    unanswered = f"NEW.kind = 'verdict' AND NOT {answered}"
    rules.append(("votes", "answered", unanswered, "votes: answer first"))
    return rules


def _refuse_on_sqlite() -> None:
    append_only = [_append_only(table, key) for table, key in APPEND_ONLY.items()]
    for rule in append_only + _rules():
        refuse(*rule)


def _refuse_on_postgres() -> None:
    # In the order of their names: whoever is not the reviewer learns nothing from the rest.
    for place, (table, name, when, message) in enumerate(_rules()):
        refuse(table, f"{place:02}_{name}", when, message)
    replaced = f"DELETE FROM review_drafts d WHERE {_same('d')};"
    on_row("review_drafts", "review_drafts_replace", replaced)


# A value of the transaction names the reviewer; the key that signs it is out of reviewers' reach.
_CURRENT_REVIEWER = """
CREATE FUNCTION current_reviewer() RETURNS text LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
SELECT CASE WHEN session_user IN ('psychemme_reviewer_blind', 'psychemme_reviewer_informed') THEN
  coalesce((
    SELECT substr(said, 65) FROM private.reviewer_key k,
      current_setting('psychemme.reviewer', true) said,
      convert_to(pg_backend_pid() || '|' || substr(said, 65), 'UTF8') told
    WHERE left(said, 64) = encode(sha256(k.key || sha256(k.key || told)), 'hex')
  ), '')
END
$$
"""


def _create_current_reviewer() -> None:
    op.execute("CREATE SCHEMA private")
    op.execute("CREATE TABLE private.reviewer_key (key bytea NOT NULL)")
    key = sa.text("INSERT INTO private.reviewer_key VALUES (:key)")
    op.get_bind().execute(key, {"key": secrets.token_bytes(32)})
    op.execute(_CURRENT_REVIEWER)


_MINE = "reviewer_id = current_reviewer()"
# The own answer is the outer loop: no condition of the caller's is tried on a row that it hides.
_COMMITTED = (
    "FROM blind_answers b CROSS JOIN {table} r ON r.candidate_key = b.candidate_key "
    f"AND r.version = b.version WHERE b.{_MINE}"
)
_FENCE = " LIMIT -1"
"""SQLite neither flattens a limited query nor pushes conditions into it."""
VIEWS = {
    "own_items": (
        "SELECT i.candidate_key, i.version, i.episode_id, i.preparation, i.format, i.question, "
        "i.options_json, i.decision_time, a.position, a.is_unblinded, "
        "EXISTS (SELECT 1 FROM review_closings c WHERE c.candidate_key = i.candidate_key "
        "AND c.version = i.version) AS is_closed, s.kind = 'calibration' AS is_calibration "
        "FROM assignments a "
        "JOIN review_items i ON i.candidate_key = a.candidate_key AND i.version = a.version "
        f"JOIN review_sets s ON s.name = i.set_name WHERE a.{_MINE}"
    ),
    "own_episodes": (
        "SELECT DISTINCT e.id, e.preparation, e.duration, e.public_context, e.transcript_json, "
        "e.history_json FROM assignments a "
        "CROSS JOIN review_items i ON i.candidate_key = a.candidate_key AND i.version = a.version "
        "CROSS JOIN episodes e ON e.id = i.episode_id AND e.preparation = i.preparation "
        f"WHERE a.{_MINE}"
    ),
    "own_answers": (
        "SELECT candidate_key, version, answer_json, is_unblinded, seconds, watched, request_id, "
        f"committed_at FROM blind_answers WHERE {_MINE}"
    ),
    "own_votes": (
        "SELECT candidate_key, version, revision, kind, question_validity, answer_correctness, "
        "psychological_consistency, reasons_json, comment, skip_reason, seconds, "
        f"watched, request_id, committed_at FROM votes WHERE {_MINE}"
    ),
    "own_drafts": (
        f"SELECT candidate_key, version, draft_json, saved_at FROM review_drafts WHERE {_MINE}"
    ),
    "revealed_references": (
        "SELECT r.candidate_key, r.version, r.capability, r.subcategory, r.answer_json, "
        "r.key_points_json " + _COMMITTED.format(table="review_references")
    ),
    "revealed_cues": (
        'SELECT r.candidate_key, r.version, r.position, r.start, r."end", r.modality, '
        "r.description " + _COMMITTED.format(table="review_cues")
    ),
}


def upgrade() -> None:
    op.create_table(
        "blind_answers",
        sa.Column("candidate_key", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("reviewer_id", sa.String(), nullable=False),
        sa.Column("answer_json", sa.String(), nullable=False),
        sa.Column("is_unblinded", sa.Boolean(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("watched", sa.Float(), nullable=False),
        sa.Column("request_id", sa.String(), nullable=False),
        sa.Column("committed_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("candidate_key", "version", "reviewer_id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "review_drafts",
        sa.Column("candidate_key", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("reviewer_id", sa.String(), nullable=False),
        sa.Column("draft_json", sa.String(), nullable=False),
        sa.Column("saved_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("candidate_key", "version", "reviewer_id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "review_sets",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("reviewers_per_item", sa.Integer(), nullable=False),
        sa.Column("opened_at", sa.BigInteger(), nullable=False),
        sa.Column("discussed_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("name"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "reviewers",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("background", sa.String(), nullable=False),
        sa.Column("is_demonstration", sa.Boolean(), nullable=False),
        sa.Column("token_sha256", sa.String(), nullable=False),
        sa.Column("invited_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("token_sha256"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "votes",
        sa.Column("candidate_key", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("reviewer_id", sa.String(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("question_validity", sa.String(), nullable=True),
        sa.Column("answer_correctness", sa.String(), nullable=True),
        sa.Column("psychological_consistency", sa.String(), nullable=True),
        sa.Column("reasons_json", sa.String(), nullable=False),
        sa.Column("comment", sa.String(), nullable=False),
        sa.Column("skip_reason", sa.String(), nullable=True),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("watched", sa.Float(), nullable=False),
        sa.Column("request_id", sa.String(), nullable=False),
        sa.Column("committed_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("candidate_key", "version", "reviewer_id", "revision"),
        sa.UniqueConstraint("candidate_key", "version", "reviewer_id", "request_id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "review_sessions",
        sa.Column("token_sha256", sa.String(), nullable=False),
        sa.Column("reviewer_id", sa.String(), nullable=True),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["reviewer_id"],
            ["reviewers.id"],
        ),
        sa.PrimaryKeyConstraint("token_sha256"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "review_items",
        sa.Column("candidate_key", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("set_name", sa.String(), nullable=False),
        sa.Column("episode_id", sa.String(), nullable=False),
        sa.Column("preparation", sa.Integer(), nullable=False),
        sa.Column("format", sa.String(), nullable=False),
        sa.Column("question", sa.String(), nullable=False),
        sa.Column("options_json", sa.String(), nullable=False),
        sa.Column("decision_time", sa.Float(), nullable=True),
        sa.Column("opened_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["candidate_key"],
            ["candidates.key"],
        ),
        sa.ForeignKeyConstraint(
            ["episode_id", "preparation"],
            ["episodes.id", "episodes.preparation"],
        ),
        sa.ForeignKeyConstraint(
            ["set_name"],
            ["review_sets.name"],
        ),
        sa.PrimaryKeyConstraint("candidate_key", "version"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "adjudication_notes",
        sa.Column("candidate_key", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("author", sa.String(), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.Column("noted_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["candidate_key", "version"],
            ["review_items.candidate_key", "review_items.version"],
        ),
        sa.PrimaryKeyConstraint("candidate_key", "version", "position"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "assignments",
        sa.Column("candidate_key", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("reviewer_id", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("is_unblinded", sa.Boolean(), nullable=False),
        sa.Column("assigned_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["candidate_key", "version"],
            ["review_items.candidate_key", "review_items.version"],
        ),
        sa.ForeignKeyConstraint(
            ["reviewer_id"],
            ["reviewers.id"],
        ),
        sa.PrimaryKeyConstraint("candidate_key", "version", "reviewer_id"),
        sa.UniqueConstraint("reviewer_id", "position"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "review_closings",
        sa.Column("candidate_key", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("closed_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["candidate_key", "version"],
            ["review_items.candidate_key", "review_items.version"],
        ),
        sa.PrimaryKeyConstraint("candidate_key", "version"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "review_cues",
        sa.Column("candidate_key", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("start", sa.Float(), nullable=False),
        sa.Column("end", sa.Float(), nullable=False),
        sa.Column("modality", sa.String(), nullable=False),
        sa.Column("description", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["candidate_key", "version"],
            ["review_items.candidate_key", "review_items.version"],
        ),
        sa.PrimaryKeyConstraint("candidate_key", "version", "position"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "review_edits",
        sa.Column("candidate_key", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("editor", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("edited_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["candidate_key", "version"],
            ["review_items.candidate_key", "review_items.version"],
        ),
        sa.PrimaryKeyConstraint("candidate_key", "version"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "review_references",
        sa.Column("candidate_key", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("capability", sa.String(), nullable=False),
        sa.Column("subcategory", sa.String(), nullable=False),
        sa.Column("answer_json", sa.String(), nullable=False),
        sa.Column("key_points_json", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["candidate_key", "version"],
            ["review_items.candidate_key", "review_items.version"],
        ),
        sa.PrimaryKeyConstraint("candidate_key", "version"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "gate_results",
        sa.Column("candidate_key", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("gate", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("detail", sa.String(), nullable=False),
        sa.Column("found_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["candidate_key", "version"], ["review_items.candidate_key", "review_items.version"]
        ),
        sa.PrimaryKeyConstraint("candidate_key", "version", "gate", "position"),
        sqlite_with_rowid=False,
    )
    if is_sqlite():
        _refuse_on_sqlite()
        for name, query in VIEWS.items():
            # An episode is no secret among reviewers, and too long to be copied for every look.
            fence = "" if name == "own_episodes" else _FENCE
            op.execute(f"CREATE VIEW {name} AS {query}{fence}")
        return
    _create_current_reviewer()
    _refuse_on_postgres()
    for name, query in VIEWS.items():
        # Asked once a statement, and not once a row.
        mine = query.replace("current_reviewer()", "(SELECT current_reviewer())")
        joined = mine.replace("CROSS JOIN", "JOIN")
        op.execute(f"CREATE VIEW {name} WITH (security_barrier) AS {joined}")
