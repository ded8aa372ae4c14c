"""The form that edits an item: what is typed, what it means, and what is wrong with it; pure."""

import math
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from construction.checks import defects
from construction.review.web.curator_diff import changes
from psychemme.answers import option_set
from psychemme.episode import Episode
from psychemme.items import Answer, Cue, Defect, KeyPoint, Option, Question, Reference
from psychemme.release.texts import visible
from psychemme.vocabulary import Format, Modality, ProposalDefect
from psychology_kb.load import CapabilityCard
from state.review_values import ItemVersion, Revealed

MOST_ROWS = 26
SPARE_ROWS = 2
LONGEST_REASON = 4_000
LONGEST_NAME = 100


@dataclass(frozen=True)
class TextRow:
    """An option (`marked`: right) or a key point (`marked`: required) as typed."""

    text: str = ""
    marked: bool = False

    @property
    def is_filled(self) -> bool:
        """Whether anything is written."""
        return bool(self.text)


@dataclass(frozen=True)
class CueRow:
    """A cue as typed."""

    start: str = ""
    end: str = ""
    modality: str = Modality.VISUAL
    description: str = ""

    @property
    def is_filled(self) -> bool:
        """Whether anything is written."""
        return bool(self.start or self.end or self.description)


Row = TypeVar("Row", bound=TextRow | CueRow)


@dataclass(frozen=True)
class Typed:
    """Everything in the form as typed; a row without text is left out of the item."""

    question: str
    decision_time: str
    answer: str
    options: tuple[TextRow, ...]
    points: tuple[TextRow, ...]
    cues: tuple[CueRow, ...]
    editor: str = ""
    reason: str = ""


@dataclass(frozen=True)
class FormFault:
    """What is wrong, and at which field (such as `question` or `cue-1`, counted from 0)."""

    field: str
    text: str


def typed_of(item: ItemVersion) -> Typed:
    """Return an item as the form shows it at first."""
    revealed, right = item.revealed, option_set(item.revealed.answer)
    return Typed(
        question=item.question,
        decision_time="" if item.decision_time is None else _seconds(item.decision_time),
        answer="" if item.format.is_choice else str(revealed.answer),
        options=tuple(TextRow(option.text, option.id in right) for option in item.options),
        points=tuple(TextRow(point.text, point.required) for point in revealed.key_points),
        cues=tuple(
            CueRow(_seconds(cue.start), _seconds(cue.end), cue.modality, cue.description)
            for cue in revealed.cues
        ),
    )


def typed_from(fields: Mapping[str, Sequence[str]]) -> Typed:
    """Return what a browser sent; fields that are missing are empty."""

    def text(name: str) -> str:
        sent = fields.get(name, ())
        return visible(sent[0].replace("\r\n", "\n").replace("\r", "\n")) if sent else ""

    def rows(kind: str, marks: str) -> tuple[TextRow, ...]:
        marked = set(fields.get(marks, ()))
        return tuple(
            TextRow(text(f"{kind}-{at}"), str(at) in marked)
            for at in range(MOST_ROWS)
            if f"{kind}-{at}" in fields
        )

    return Typed(
        **{name: text(name) for name in ("question", "decision_time", "answer")},
        options=rows("option", "right"),
        points=rows("point", "required"),
        cues=tuple(
            CueRow(*(text(f"cue-{at}-{part}") for part in ("start", "end", "modality", "text")))
            for at in range(MOST_ROWS)
            if f"cue-{at}-text" in fields
        ),
        editor=text("editor"),
        reason=text("reason"),
    )


def with_spare_rows(typed: Typed) -> Typed:
    """Return the form with empty rows to fill in."""
    return replace(
        typed,
        options=_with_spares(typed.options, TextRow()),
        points=_with_spares(typed.points, TextRow(marked=True)),
        cues=_with_spares(typed.cues, CueRow()),
    )


def edited(
    typed: Typed, before: ItemVersion, card: CapabilityCard, episode: Episode
) -> tuple[ItemVersion | None, list[FormFault]]:
    """Return the next version of `before`, or None and every fault of the form."""
    faults = list(_missing(typed))
    cues = _cues(typed.cues, faults)
    moment = _number(typed.decision_time, "decision_time", faults) if typed.decision_time else None
    if faults:
        return None, faults
    kept = [at for at, row in enumerate(typed.options) if row.text]
    options = tuple(
        Option(id=letter, text=typed.options[at].text)
        for letter, at in zip(string.ascii_uppercase, kept, strict=False)
    )
    points = tuple(KeyPoint(text=p.text, required=p.marked) for p in typed.points if p.text)
    answer = _answer(typed, before.format, options, kept)
    question = Question(
        subcategory=before.revealed.subcategory,
        question=typed.question,
        options=options,
        decision_time=moment,
    )
    reference = Reference(answer=answer, cues=tuple(cues.values()), key_points=points)
    found = defects(question, reference, before.format, card, episode)
    faults += [_as_fault(one, before.format, kept, list(cues), episode) for one in found]
    after = _next_version(before, question, reference)
    if not faults and not changes(before, after):
        faults.append(FormFault("question", "Nothing is changed."))
    return (None if faults else after), faults


def _seconds(time: float) -> str:
    """Return the shortest text that reads as the same time, so that none changes untouched."""
    return repr(time).removesuffix(".0")


def _with_spares(rows: Sequence[Row], empty: Row) -> tuple[Row, ...]:
    last = max((at for at, row in enumerate(rows, 1) if row.is_filled), default=0)
    return (*rows[:last], *(empty,) * min(SPARE_ROWS, MOST_ROWS - last))


def _missing(typed: Typed) -> Iterator[FormFault]:
    if not typed.question:
        yield FormFault("question", "Write the question.")
    if not typed.editor:
        yield FormFault("editor", "Say who edits.")
    if not typed.reason:
        yield FormFault("reason", "Say why the item is changed.")
    if len(typed.editor) > LONGEST_NAME:
        yield FormFault("editor", f"Shorten the name to {LONGEST_NAME} characters.")
    if len(typed.reason) > LONGEST_REASON:
        yield FormFault("reason", f"Shorten the reason to {LONGEST_REASON:,} characters.")


def _cues(rows: Sequence[CueRow], faults: list[FormFault]) -> dict[int, Cue]:
    """Return the cues by row; what cannot be read is added to `faults`."""
    cues = {}
    for at, row in enumerate(rows):
        if not row.description:
            continue
        start = _number(row.start, f"cue-{at}", faults)
        end = _number(row.end, f"cue-{at}", faults)
        if row.modality not in set(Modality):
            faults.append(FormFault(f"cue-{at}", f"Choose one of: {', '.join(Modality)}."))
        elif start is not None and end is not None:
            cues[at] = Cue(
                start=start, end=end, modality=Modality(row.modality), description=row.description
            )
    return cues


def _number(typed: str, field: str, faults: list[FormFault]) -> float | None:
    try:
        value = float(typed)
    except ValueError:
        value = math.nan
    if math.isfinite(value):
        return value
    faults.append(FormFault(field, "Give times in seconds from the episode's start, as 12.5."))
    return None


def _answer(typed: Typed, form: Format, options: Sequence[Option], kept: Sequence[int]) -> Answer:
    if not form.is_choice:
        return typed.answer
    right = [o.id for o, at in zip(options, kept, strict=False) if typed.options[at].marked]
    return right[0] if form is Format.SINGLE and len(right) == 1 else right


def _next_version(before: ItemVersion, question: Question, reference: Reference) -> ItemVersion:
    revealed = Revealed(
        capability=before.revealed.capability,
        subcategory=before.revealed.subcategory,
        answer=reference.answer,
        key_points=reference.key_points,
        cues=reference.cues,
    )
    return before.model_copy(
        update={
            "version": before.version + 1,
            "question": question.question,
            "options": question.options,
            "decision_time": question.decision_time,
            "revealed": revealed,
        }
    )


def _as_fault(
    defect: Defect, form: Format, options: Sequence[int], cues: Sequence[int], episode: Episode
) -> FormFault:
    """Return a defect at the row it was typed in; `options` and `cues` are the rows kept."""
    if defect.code is ProposalDefect.CUE_DEFECT:
        if defect.cue_index is None:
            return FormFault("cues", "Give at least one cue.")
        return FormFault(
            f"cue-{cues[defect.cue_index]}",
            f"A cue lies inside the episode (0 to {episode.duration:g} s) and starts before it "
            "ends. A speech cue overlaps the transcript, a history cue needs history, and nothing "
            "seen or heard after the decision time is a cue for a response.",
        )
    if defect.code is ProposalDefect.OPTION_DEFECT and defect.option_id is not None:
        at = options[string.ascii_uppercase.index(defect.option_id)]
        return FormFault(f"option-{at}", "This option says the same as an earlier one.")
    return FormFault(*_PLACES[defect.code]) if defect.code in _PLACES else _answer_fault(form)


_PLACES = {
    ProposalDefect.OPTION_DEFECT: (
        "options",
        "A single-choice question has at least two options, a multiple-choice one three.",
    ),
    ProposalDefect.MISALIGNED_CAPABILITY: (
        "question",
        "The subcategory is none of this capability's: an edit cannot mend that.",
    ),
    ProposalDefect.UNSUPPORTED_PREMISE: (
        "decision_time",
        "Give a decision time inside the episode where the capability asks for one; "
        "a Memory question needs history.",
    ),
}


def _answer_fault(form: Format) -> FormFault:
    if form is Format.SINGLE:
        return FormFault("options", "Mark exactly one option as right.")
    if form is Format.MULTIPLE:
        return FormFault("options", "Mark at least two options as right, and fewer than all.")
    return FormFault("answer", "Write a reference, and at least one required key point.")
