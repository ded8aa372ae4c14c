"""What a reviewer's database roles read: views of their own rows, and nothing else.

`current_reviewer()` tells who acts (`state.engines.acting`), and statements cannot change it: on
SQLite it is a function of the connection, on PostgreSQL one that believes a signature alone. The
reference of a version is visible only to whoever has committed an answer to that version, so that
the engine itself keeps the order of the two steps.
"""

from sqlalchemy import Boolean, Column, Float, Integer, MetaData, Table, Text

_ITEM = ("candidate_key", "version")
_TYPES = {
    "version": Integer,
    "preparation": Integer,
    "position": Integer,
    "revision": Integer,
    "decision_time": Float,
    "start": Float,
    "end": Float,
    "duration": Float,
    "seconds": Float,
    "watched": Float,
    "is_unblinded": Boolean,
    "is_closed": Boolean,
    "is_calibration": Boolean,
    "committed_at": Integer,
    "saved_at": Integer,
}
_metadata = MetaData()


def _view(name: str, *columns: str) -> Table:
    return Table(name, _metadata, *(Column(c, _TYPES.get(c, Text)) for c in columns))


OWN_ITEMS = _view(
    "own_items",
    *_ITEM,
    "episode_id",
    "preparation",
    "format",
    "question",
    "options_json",
    "decision_time",
    "position",
    "is_unblinded",
    "is_closed",
    "is_calibration",
)
OWN_EPISODES = _view(
    "own_episodes",
    "id",
    "preparation",
    "duration",
    "public_context",
    "transcript_json",
    "history_json",
)
OWN_ANSWERS = _view(
    "own_answers",
    *_ITEM,
    "answer_json",
    "is_unblinded",
    "seconds",
    "watched",
    "request_id",
    "committed_at",
)
OWN_VOTES = _view(
    "own_votes",
    *_ITEM,
    "revision",
    "kind",
    "question_validity",
    "answer_correctness",
    "psychological_consistency",
    "reasons_json",
    "comment",
    "skip_reason",
    "seconds",
    "watched",
    "request_id",
    "committed_at",
)
OWN_DRAFTS = _view("own_drafts", *_ITEM, "draft_json", "saved_at")
REVEALED_REFERENCES = _view(
    "revealed_references", *_ITEM, "capability", "subcategory", "answer_json", "key_points_json"
)
REVEALED_CUES = _view(
    "revealed_cues", *_ITEM, "position", "start", "end", "modality", "description"
)
