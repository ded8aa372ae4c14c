"""The curator's door: clips and what preparing them gave.

Methods are sync and serve the command line; the graph's code steps call them through
`asyncio.to_thread`.
"""

from collections.abc import Iterable, Mapping

from sqlalchemy import func
from sqlmodel import Session, col, delete, select

from psychemme.canonical import canonical_json
from state import read, tables
from state.leases import CuratorStore
from state.values import (
    ClipRecord,
    EpisodeRecord,
)


class ClipStore(CuratorStore):
    """Clips, preparations and episodes."""

    def clips(self) -> list[ClipRecord]:
        """Return all clips, sorted by id."""

        def find(session: Session) -> list[ClipRecord]:
            rows = session.exec(select(tables.Clip).order_by(col(tables.Clip.id))).all()
            return [ClipRecord.model_validate(row.model_dump()) for row in rows]

        return self.query(find)

    def put_clip(self, clip: ClipRecord) -> None:
        """Insert a clip or update the one with its id."""

        def put(session: Session) -> None:
            row = session.get(tables.Clip, clip.id) or tables.Clip.model_validate(clip)
            row.sqlmodel_update(clip.model_dump())
            session.add(row)

        self.commit(put)

    def preparation(self) -> int:
        """Return the number new preparations get: a new one once a run uses the newest."""

        def find(session: Session) -> int:
            newest = session.exec(select(func.max(tables.Preparation.number))).one() or 1
            used = session.exec(select(func.max(tables.Run.preparation))).one() or 0
            return int(newest) + 1 if used >= newest else int(newest)

        return self.query(find)

    def prepared_hash(self, clip_id: str) -> str | None:
        """Return the content hash of a clip's newest preparation, None where it has none."""
        newest = (
            select(tables.Preparation.content_hash)
            .where(tables.Preparation.clip_id == clip_id)
            .order_by(col(tables.Preparation.number).desc())
        )
        return self.query(lambda session: session.exec(newest.limit(1)).first())

    def save_preparation(
        self,
        clip: ClipRecord,
        number: int,
        content_hash: str,
        transcript_source: str,
        notes: Mapping[str, object],
        episodes: Iterable[EpisodeRecord],
    ) -> None:
        """Store what preparing a clip gave, in place of an unused preparation of that number."""

        def save(session: Session) -> None:
            for table in (tables.EpisodeRow, tables.Preparation):
                number_column = getattr(table, "preparation", None) or tables.Preparation.number
                session.exec(
                    delete(table).where(col(table.clip_id) == clip.id, col(number_column) == number)
                )
            row = session.get_one(tables.Clip, clip.id)
            row.sqlmodel_update(clip.model_dump())
            session.add(row)
            session.add(
                tables.Preparation(
                    clip_id=clip.id,
                    number=number,
                    content_hash=content_hash,
                    transcript_source=transcript_source,
                    notes_json=canonical_json(notes),
                )
            )
            session.flush()
            session.add_all(_episode_row(episode) for episode in episodes)

        self.commit(save)

    def episodes(self, preparation: int | None = None) -> list[EpisodeRecord]:
        """Return each clip's episodes of its newest preparation up to `preparation`, by id."""
        newest = select(
            tables.Preparation.clip_id, func.max(tables.Preparation.number).label("number")
        ).group_by(col(tables.Preparation.clip_id))
        if preparation is not None:
            newest = newest.where(tables.Preparation.number <= preparation)
        latest = newest.subquery()
        found = (
            select(tables.EpisodeRow)
            .join(
                latest,
                (col(tables.EpisodeRow.clip_id) == latest.c.clip_id)
                & (col(tables.EpisodeRow.preparation) == latest.c.number),
            )
            .order_by(col(tables.EpisodeRow.id))
        )
        return self.query(lambda s: [read.episode(row) for row in s.exec(found).all()])


def _episode_row(episode: EpisodeRecord) -> tables.EpisodeRow:
    content = episode.content
    return tables.EpisodeRow(
        **episode.model_dump(include={"id", "preparation", "clip_id", "start", "end"}),
        duration=content.duration,
        public_context=content.public_context,
        transcript_json=canonical_json(
            read.TRANSCRIPT.dump_python(content.transcript, mode="json")
        ),
        signals_json=canonical_json(content.signals.model_dump(mode="json")),
        history_json=canonical_json(read.HISTORY.dump_python(content.history, mode="json")),
        frames_json=canonical_json(read.FRAMES.dump_python(episode.frames, mode="json")),
    )
