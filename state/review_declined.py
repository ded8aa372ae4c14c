"""Who has declined an item for good: by a skip for a conflict of interest, or for distress.

Distress holds for every version of the item; a conflict of interest for every item of the same
recording as well. Either ends when its reviewer takes that item up again.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Table, exists, select

from psychemme.vocabulary import SkipReason, VoteKind
from state import review_tables as rows
from state import tables
from state.review import Place

_VOTES: Table = rows.Vote.__table__  # type: ignore[attr-defined]
_ITEMS: Table = rows.ReviewItem.__table__  # type: ignore[attr-defined]
_EPISODES: Table = tables.EpisodeRow.__table__  # type: ignore[attr-defined]
_CLIPS: Table = tables.Clip.__table__  # type: ignore[attr-defined]
_LASTING = (SkipReason.CONFLICT_OF_INTEREST, SkipReason.DISTRESS)


def recordings(connection: Connection) -> dict[Place, str]:
    """Return the recording group of each version's clip."""
    joined = _ITEMS.join(
        _EPISODES,
        (_EPISODES.c.id == _ITEMS.c.episode_id) & (_EPISODES.c.preparation == _ITEMS.c.preparation),
    ).join(_CLIPS, _CLIPS.c.id == _EPISODES.c.clip_id)
    columns = (_ITEMS.c.candidate_key, _ITEMS.c.version, _CLIPS.c.recording_group)
    query = select(*columns).select_from(joined)
    return {(key, version): group for key, version, group in connection.execute(query)}


def declined(
    connection: Connection, recording_of: dict[Place, str]
) -> dict[Place, dict[str, SkipReason]]:
    """Return, by version, who has declined it for good, and why; a conflict outweighs distress."""
    by_item: dict[str, dict[str, SkipReason]] = defaultdict(dict)
    by_recording: dict[str, dict[str, SkipReason]] = defaultdict(dict)
    for place, reviewer, reason in _lasting_skips(connection):
        by_item[place[0]].setdefault(reviewer, reason)
        if reason is SkipReason.CONFLICT_OF_INTEREST:
            by_recording[recording_of[place]][reviewer] = reason
    return {
        place: by_item.get(place[0], {}) | by_recording.get(recording, {})
        for place, recording in recording_of.items()
        if place[0] in by_item or recording in by_recording
    }


def withheld(connection: Connection, reviewer: str) -> frozenset[Place]:
    """Return the versions that a reviewer is not to judge because of a skip of another one."""
    own = {place for place, name, _ in _lasting_skips(connection) if name == reviewer}
    if not own:
        return frozenset()
    found = declined(connection, recordings(connection))
    return frozenset(place for place, who in found.items() if reviewer in who) - own


def _lasting_skips(connection: Connection) -> Iterator[tuple[Place, str, SkipReason]]:
    """Yield the skips for a lasting reason that stand."""
    columns = (_VOTES.c.candidate_key, _VOTES.c.version, _VOTES.c.reviewer_id)
    later: Any = _VOTES.alias()
    is_later = later.c.revision > _VOTES.c.revision
    replaced = exists().where(*(later.c[own.name] == own for own in columns), is_later)
    query = select(*columns, _VOTES.c.skip_reason).where(
        _VOTES.c.kind == VoteKind.SKIP.value,
        _VOTES.c.skip_reason.in_([reason.value for reason in _LASTING]),
        ~replaced,
    )
    for key, version, reviewer, reason in connection.execute(query.order_by(*columns)):
        yield (key, version), reviewer, SkipReason(reason)
