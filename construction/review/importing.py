"""Votes that were cast elsewhere: stored with their reviewers, all of them or none."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from pydantic import ValidationError

from construction.review.assigning import next_positions
from construction.review.rules import answer_faults, ballot_faults
from construction.review.votes import MOST_NAMED, VoteRow, first_fault, read_votes, row_of
from psychemme.answers import option_set
from psychemme.canonical import now
from psychemme.errors import ReviewError
from psychemme.release.faults import counted, listed
from psychemme.vocabulary import Closing, Format, SkipReason
from psychology_kb.cards import ReviewForm
from state.review import Place
from state.review_desk import ReviewDesk
from state.review_values import (
    AssignmentRecord,
    BlindAnswer,
    BlindItem,
    Board,
    Changes,
    ImportedVote,
    ReviewedVersion,
    ReviewerRecord,
    Vote,
)

_NAME = re.compile(r"[\w.@+-]{1,100}")
"""What a reviewer of a demonstration may be called: a word, or an address as other tools have."""


def read_vote_files(paths: Sequence[Path], known_as: Mapping[str, str]) -> list[VoteRow]:
    """Return the votes in JSONL files and, where a name ends in `.json`, Label Studio exports.

    `known_as` maps names in the files to reviewer ids. Raises UserError naming what is wrong.
    """
    exports = [path for path in paths if path.suffix == ".json"]
    rows = [row for path in paths if path not in exports for row in read_votes(path)]
    rows += _label_studio_rows(exports) if exports else []
    return [
        row.model_copy(update={"reviewer": known_as.get(row.reviewer, row.reviewer)})
        for row in rows
    ]


def import_votes(
    desk: ReviewDesk, rows: Sequence[VoteRow], form: ReviewForm, *, demonstration: bool = False
) -> int:
    """Store votes cast elsewhere, all or none; return how many were new.

    Whoever is not assigned yet is assigned. Unknown reviewers are made only for a `demonstration`:
    their votes come from no person, and freeze into an example release only. Raises ReviewError
    with every fault.
    """
    return len(desk.change(lambda board: _Import(board, form, demonstration).changes(rows)).votes)


class _Import:
    """What rows add to a board, or everything that is wrong with them."""

    def __init__(self, board: Board, form: ReviewForm, demonstration: bool) -> None:
        self._board, self._form, self._demonstration = board, form, demonstration
        self._known = {one.id: one for one in board.reviewers}
        self._versions: dict[tuple[str, int], list[ReviewedVersion]] = {}
        for version in board.versions:
            key, number = _place(version)
            for name in (key, key.partition("-")[2]):
                self._versions.setdefault((name, number), []).append(version)
        self._saw = {(_place(v)[0], name) for v in board.versions for name in v.answers}

    def changes(self, rows: Sequence[VoteRow]) -> Changes:
        """Return what to store; raises ReviewError with every fault."""
        placed: dict[tuple[Place, str], tuple[VoteRow, ReviewedVersion]] = {}
        faults = [
            f"{row.candidate_id} version {row.version} by {row.reviewer}: {fault}"
            for row in rows
            for fault in self._placed(row, placed)
        ]
        if faults:
            number = counted(len(faults), "fault")
            raise ReviewError(
                f"{number} in the votes to import: {listed(faults, MOST_NAMED)}.",
                "Nothing was stored; mend the file.",
            )
        return self._made([pair for pair in placed.values() if _is_new(*pair)])

    def _placed(
        self, given: VoteRow, placed: dict[tuple[Place, str], tuple[VoteRow, ReviewedVersion]]
    ) -> Iterator[str]:
        """Put a row with the version it is about, and yield what is wrong with it."""
        version = self._find(given)
        if version is None:
            yield "no such item is under review"
            return
        row = _in_shape(given, version.item.format)
        earlier, _ = placed.setdefault((_place(version), row.reviewer), (row, version))
        if not _is_same(earlier, row):
            yield "the file holds another vote of the same reviewer"
        yield from self._faults(row, version)

    def _find(self, row: VoteRow) -> ReviewedVersion | None:
        """Return the version that a row names by its candidate's key, or by an id that is one's."""
        named = self._versions.get((row.candidate_id, row.version), [])
        return named[0] if len(named) == 1 else None

    def _faults(self, row: VoteRow, version: ReviewedVersion) -> Iterator[str]:
        known = self._known.get(row.reviewer)
        if known is None and not self._demonstration:
            yield "there is no such reviewer"
        elif known is None and not _NAME.fullmatch(row.reviewer):
            yield "the reviewer's name is no id"
        elif known is not None and known.is_demonstration != self._demonstration:
            yield f"the reviewer is {'a person' if self._demonstration else 'for demonstration'}"
        if not _is_new(row, version):
            return
        if version.closing is Closing.REPLACED:
            yield "an edit replaced this version"
        elif version.closing is not None:
            yield "the item is closed"
        elif self._board.sets[version.set_name].discussed_at is not None:
            yield "its set has been discussed: the vote would not count"
        if row.skipped is None and (reason := version.declined.get(row.reviewer)):
            yield f"the reviewer has declined to judge it: {reason.replace('_', ' ')}"
        own = version.answers.get(row.reviewer)
        if row.reviewer in version.standing():
            yield "the reviewer has voted otherwise already"
        elif own is not None and row.blind_answer not in (None, own.answer):
            yield "the reviewer has committed another answer already"
        yield from _vote_faults(row, version, self._form)

    def _made(self, new: Sequence[tuple[VoteRow, ReviewedVersion]]) -> Changes:
        first = next_positions(self._board)
        assignments, votes = [], []
        for row, version in sorted(new, key=lambda pair: (_place(pair[1]), pair[0].reviewer)):
            place, name = _place(version), row.reviewer
            unblinded = row.is_unblinded or (place[0], name) in self._saw
            if all(a.reviewer_id != name for a in version.assigned):
                position = first.get(name, 0)
                first[name] = position + 1
                assignments.append(
                    AssignmentRecord(
                        candidate_key=place[0],
                        version=place[1],
                        reviewer_id=name,
                        position=position,
                        is_unblinded=unblinded,
                    )
                )
            votes.append(_imported(row, version, unblinded))
            if row.blind_answer is not None:
                self._saw.add((place[0], name))
        names = {row.reviewer for row, _ in new} - self._known.keys()
        made = tuple(_demonstrator(name) for name in sorted(names))
        return Changes(reviewers=made, assignments=tuple(assignments), votes=tuple(votes))


def _label_studio_rows(paths: Sequence[Path]) -> list[VoteRow]:
    from construction.exports.label_studio_read import UNSTATED, read_label_studio

    rows = []
    for row in read_label_studio(*paths):
        skipped = SkipReason.CANNOT_JUDGE if row.skipped == UNSTATED else row.skipped
        try:
            rows.append(VoteRow.model_validate(asdict(row) | {"skipped": skipped}))
        except ValidationError as error:
            raise ReviewError(
                f"{row.candidate_id} by {row.reviewer}: {first_fault(error)}.",
                "Use the controls and reasons of the exported configuration.",
            ) from error
    return rows


def _in_shape(row: VoteRow, form: Format) -> VoteRow:
    """Return a row whose answer has the one shape of its format: an id, or a list of them."""
    answer = row.blind_answer
    if form is Format.SINGLE and isinstance(answer, list) and len(set(answer)) == 1:
        return row.model_copy(update={"blind_answer": answer[0]})
    if form is Format.MULTIPLE and answer is not None:
        return row.model_copy(update={"blind_answer": sorted(option_set(answer))})
    return row


def _vote_faults(row: VoteRow, version: ReviewedVersion, form: ReviewForm) -> Iterator[str]:
    item = BlindItem.model_validate(
        version.item.model_dump(exclude={"revealed"})
        | {"position": 0, "is_unblinded": False, "is_closed": False, "is_calibration": False}
    )
    own = _own_answer(row) or version.answers.get(row.reviewer)
    if own is not None:
        yield from answer_faults(item, own.answer)
    yield from ballot_faults(form, item, version.item.revealed, own, row.ballot())


def _is_new(row: VoteRow, version: ReviewedVersion) -> bool:
    sent = row.ballot().request_id
    if any(vote.request_id == sent for vote in version.votes.get(row.reviewer, ())):
        return False
    return row.reviewer not in version.standing() or not _is_same(
        row, row_of(version, row.reviewer)
    )


def _is_same(one: VoteRow, other: VoteRow) -> bool:
    return _said(one) == _said(other)


def _said(row: VoteRow) -> tuple[object, ...]:
    reasons = {verdict: sorted(given) for verdict, given in row.reasons.items() if given}
    return row.verdicts, reasons, row.comment, row.skipped, row.blind_answer


def _own_answer(row: VoteRow, unblinded: bool = False) -> BlindAnswer | None:
    if row.blind_answer is None:
        return None
    return BlindAnswer(
        answer=row.blind_answer,
        is_unblinded=unblinded,
        request_id=row.ballot().request_id,
        committed_at=now(),
    )


def _demonstrator(name: str) -> ReviewerRecord:
    # Nobody holds a token with this hash, and the link has expired: no one can sign in.
    moment = now()
    return ReviewerRecord(
        id=name,
        name=name,
        is_demonstration=True,
        token_sha256=f"demonstration:{name}",
        invited_at=moment,
        expires_at=moment,
    )


def _imported(row: VoteRow, version: ReviewedVersion, unblinded: bool) -> ImportedVote:
    revision = max((v.revision for v in version.votes.get(row.reviewer, ())), default=0) + 1
    return ImportedVote(
        place=_place(version),
        reviewer_id=row.reviewer,
        answer=None if row.reviewer in version.answers else _own_answer(row, unblinded),
        vote=Vote(**dict(row.ballot()) | {"watched": 0.0}, revision=revision, committed_at=now()),
    )


def _place(version: ReviewedVersion) -> Place:
    return version.item.candidate_key, version.item.version
