"""Votes as the rows of a file, with their reviewers, and as the ratings agreement takes."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pydantic import ValidationError, model_validator

from construction.review.ratings import Dimension, Rating
from construction.review.unanimity import counted_votes
from psychemme.answers import option_set
from psychemme.canonical import digest, strict_json
from psychemme.episode import Value
from psychemme.errors import ReviewError
from psychemme.items import Answer
from psychemme.release.faults import listed
from psychemme.vocabulary import Approval, Closing, Format, SkipReason, Verdict, VoteKind
from state.address import Address
from state.review import Place
from state.review_desk import ReviewDesk
from state.review_values import Ballot, ReviewedVersion, Vote

MOST_NAMED = 20
_SHAPE = "Each line is a JSON object with the keys of docs/review.md, `Votes as files`."


class VoteRow(Value):
    """One reviewer's last word on one version. Answers are in proposal option ids.

    `blind_answer` is None where the reviewer skipped before answering. `is_unblinded` marks an
    answer given after the reference of an earlier version had been seen.
    """

    candidate_id: str
    version: int = 1
    reviewer: str
    blind_answer: Answer | None = None
    is_unblinded: bool = False
    verdicts: Mapping[Verdict, Approval] = {}
    reasons: Mapping[Verdict, tuple[str, ...]] = {}
    comment: str = ""
    skipped: SkipReason | None = None

    @model_validator(mode="after")
    def _no_text_holds_nul(self) -> "VoteRow":
        # Not every database can store it.
        if "\0" in self.comment or any(
            "\0" in text for text in option_set(self.blind_answer or [])
        ):
            raise ValueError("a text holds a NUL character")
        return self

    def ballot(self) -> Ballot:
        """Return the row as a ballot; the same row always gives the same request id."""
        return Ballot(
            kind=VoteKind.VERDICT if self.skipped is None else VoteKind.SKIP,
            verdicts=self.verdicts,
            reasons=self.reasons,
            comment=self.comment,
            skip_reason=self.skipped,
            # Whoever imports votes vouches for how they were cast; what is stored says 0, unknown.
            watched=1.0,
            request_id=digest(self.model_dump(mode="json"))[:32],
        )


def read_votes(path: Path) -> list[VoteRow]:
    """Return the votes in a JSONL file; raises ReviewError naming every line that is none."""
    try:
        # Not splitlines(): a comment may hold what Unicode takes for the end of a line.
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ReviewError(f"{path} cannot be read: {error}.", "Name a JSONL file.") from error
    rows, faults = [], []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                rows.append(VoteRow.model_validate_json(line, strict=True))
                strict_json(line)
            except ValidationError as error:
                faults.append(f"line {number}: {first_fault(error)}")
            except ValueError as error:
                faults.append(f"line {number}: {error}")
    if faults:
        raise ReviewError(f"{path} cannot be read: {listed(faults, MOST_NAMED)}.", _SHAPE)
    return rows


def vote_rows(desk: ReviewDesk) -> Iterator[VoteRow]:
    """Yield every reviewer's last vote, sorted by candidate, version and reviewer."""
    for version in desk.versions():
        for reviewer in sorted(version.standing()):
            yield row_of(version, reviewer)


def read_ratings(database: Address, sets: Iterable[str] = ()) -> list[Rating]:
    """Return what agreement is computed from: the votes that count, before any item is filtered.

    Every version that was judged is an item of its own, one that an edit replaced as well. Answers
    given after an earlier version's reference had been seen are left out. `sets` are names; none
    means all.
    """
    with ReviewDesk(database) as desk:
        known = {record.name: record for record in desk.sets()}
        versions = desk.versions()
    if unknown := sorted(set(sets) - known.keys()):
        raise ReviewError(f"There is no set {unknown[0]!r}.", "`psychemme review status` has them.")
    wanted = set(sets) or known.keys()
    return [
        rating
        for version in versions
        if version.set_name in wanted
        for reviewer, vote in sorted(counted_votes(version, known[version.set_name]).items())
        for rating in _ratings(version, reviewer, vote)
    ]


def _ratings(version: ReviewedVersion, reviewer: str, vote: Vote) -> Iterator[Rating]:
    key, number = _place(version)
    capability = str(version.item.revealed.capability)

    def rating(
        dimension: Dimension, value: Answer | Approval, options: int | None = None
    ) -> Rating:
        return Rating(
            item=f"{key}@{number}",
            reviewer=reviewer,
            dimension=dimension,
            capability=capability,
            value=tuple(value) if isinstance(value, list) else value,
            options=options,
            replaced=version.closing is Closing.REPLACED,
        )

    own = version.answers.get(reviewer)
    if own is not None and not own.is_unblinded and version.item.format.is_choice:
        chosen = sorted(option_set(own.answer))
        is_one = version.item.format is Format.SINGLE
        offered = len(version.item.options)
        yield rating(Dimension.BLIND_ANSWER, chosen[0] if is_one else chosen, offered)
    for verdict, given in vote.verdicts.items():
        yield rating(Dimension(verdict), given)
    overall = Approval.APPROVE if vote.approves else Approval.REJECT
    yield rating(Dimension.OVERALL, overall)


def row_of(version: ReviewedVersion, reviewer: str) -> VoteRow:
    """Return the vote of a reviewer that stands."""
    key, number = _place(version)
    vote, own = version.standing()[reviewer], version.answers.get(reviewer)
    return VoteRow(
        candidate_id=key,
        version=number,
        reviewer=reviewer,
        blind_answer=own.answer if own else None,
        is_unblinded=bool(own and own.is_unblinded),
        verdicts=vote.verdicts,
        reasons=vote.reasons,
        comment=vote.comment,
        skipped=vote.skip_reason,
    )


def first_fault(error: ValidationError) -> str:
    """Return the first thing wrong with a row."""
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where}: {first['msg']}" if where else first["msg"]


def _place(version: ReviewedVersion) -> Place:
    return version.item.candidate_key, version.item.version
