"""The curator's door to what was said of clips: by rules, by a model, by people."""

from collections import defaultdict
from collections.abc import Mapping

from sqlmodel import Session, col, func, select

from psychemme.canonical import now
from psychemme.episode import Value
from psychemme.vocabulary import ScreeningMaker, ScreeningVerdict
from state import tables
from state.leases import CuratorStore


class Screening(Value):
    """One word on a clip; `reasons_json` and `measures_json` are canonical JSON."""

    maker: ScreeningMaker
    name: str
    verdict: ScreeningVerdict
    reasons_json: str = "[]"
    measures_json: str = "null"


class ScreeningStore(CuratorStore):
    """Screenings by clip, append-only. Methods are sync."""

    def record(self, clip_id: str, screening: Screening) -> bool:
        """Keep a word on a clip; False where the last word of its maker says the same already."""

        def add(session: Session) -> bool:
            mine = select(tables.ClipScreening).where(
                tables.ClipScreening.clip_id == clip_id,
                tables.ClipScreening.maker == screening.maker,
            )
            last = session.exec(
                mine.order_by(col(tables.ClipScreening.position).desc()).limit(1)
            ).first()
            if last is not None and _value(last) == screening:
                return False
            count = select(func.count()).where(tables.ClipScreening.clip_id == clip_id)
            row = tables.ClipScreening(
                clip_id=clip_id,
                position=session.exec(count).one(),
                screened_at=now(),
                **screening.model_dump(),
            )
            session.add(row)
            return True

        return self.commit(add)

    def standing(self) -> Mapping[str, Mapping[ScreeningMaker, Screening]]:
        """Return the last word of each maker, by clip."""

        def find(session: Session) -> dict[str, dict[ScreeningMaker, Screening]]:
            held: dict[str, dict[ScreeningMaker, Screening]] = defaultdict(dict)
            rows = select(tables.ClipScreening).order_by(col(tables.ClipScreening.position))
            for row in session.exec(rows).all():
                held[row.clip_id][ScreeningMaker(row.maker)] = _value(row)
            return held

        return self.query(find)

    def said_by(self, maker: ScreeningMaker) -> list[tuple[str, Screening]]:
        """Return every word of a maker with the clip it is about, in their order for each clip."""
        table = tables.ClipScreening
        mine = select(table).where(table.maker == maker).order_by(
            col(table.clip_id), col(table.position)
        )  # fmt: skip
        return self.query(lambda s: [(row.clip_id, _value(row)) for row in s.exec(mine).all()])

    def used_clips(self) -> frozenset[str]:
        """Return the clips that a candidate's episode is cut from."""
        episodes = select(tables.EpisodeRow.clip_id).join(
            tables.Candidate, col(tables.Candidate.episode_id) == tables.EpisodeRow.id
        )
        return self.query(lambda session: frozenset(session.exec(episodes.distinct()).all()))


def _value(row: tables.ClipScreening) -> Screening:
    return Screening.model_validate(row.model_dump(include=set(Screening.model_fields)))
