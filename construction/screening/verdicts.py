"""The last word on a clip: people over a model and the rules, and nobody over lacking terms."""

from collections.abc import Mapping, Sequence

from pydantic import TypeAdapter

from construction.screening.rubric import Rated, reasons_of
from construction.screening.rules import TERMS, Measures, Reason, RubricMinimum
from psychemme.canonical import canonical_json
from psychemme.episode import Value
from psychemme.vocabulary import ClipStatus, ScreeningMaker, ScreeningVerdict
from state.address import Address
from state.clips import ClipStore
from state.screening import Screening, ScreeningStore

REASONS = TypeAdapter(tuple[Reason, ...])
_MEASURES = TypeAdapter(Measures | None)
_RATED = TypeAdapter(Rated | None)
RULES = "plan"
SCREENED_OUT = "Screened out: "
"""How the reason of a clip begins whose verdict is in effect."""
_ACTION = "Change the plan, or keep it with `psychemme screen decide`."
_ACTION_TERMS = "State its licence and consent with `psychemme clips add`, then screen again."

Words = Mapping[ScreeningMaker, Screening]


class Standing(Value):
    """Where a clip stands: `reasons` are all that were found, whoever has the last word.

    `rated` is the newest reply of a model, where one was asked.
    """

    is_refused: bool = False
    decided_by: ScreeningMaker | None = None
    name: str = ""
    reasons: tuple[Reason, ...] = ()
    measures: Measures | None = None
    rated: Rated | None = None

    @property
    def refusal(self) -> tuple[str, str] | None:
        """The reason and the next action of a refused clip."""
        if not self.is_refused:
            return None
        said = "; ".join(map(str, self.reasons))
        lacks_terms = any(reason.rule == TERMS for reason in self.reasons)
        return f"{SCREENED_OUT}{said}.", _ACTION_TERMS if lacks_terms else _ACTION


def word(
    maker: ScreeningMaker,
    name: str,
    verdict: ScreeningVerdict,
    reasons: Sequence[Reason] = (),
    measures: Value | None = None,
) -> Screening:
    """Return what `name` says of a clip, as it is kept."""
    return Screening(
        maker=maker,
        name=name,
        verdict=verdict,
        reasons_json=canonical_json(REASONS.dump_python(tuple(reasons), mode="json")),
        measures_json=canonical_json(measures.model_dump(mode="json") if measures else None),
    )


def word_of_rules(reasons: Sequence[Reason], measures: Measures) -> Screening:
    """Return what the plan's rules say of a clip."""
    verdict = ScreeningVerdict.REFUSE if reasons else ScreeningVerdict.KEEP
    return word(ScreeningMaker.RULES, RULES, verdict, reasons, measures)


def word_of_model(rated: Rated, minimum: RubricMinimum) -> Screening:
    """Return what a model's reply says of a clip: nothing, where it could not be read."""
    reasons = reasons_of(rated.ratings, minimum) if rated.ratings else ()
    verdict = ScreeningVerdict.REFUSE if reasons else ScreeningVerdict.KEEP
    if rated.ratings is None:
        verdict = ScreeningVerdict.UNDECIDED
    return word(ScreeningMaker.MODEL, rated.model, verdict, reasons, rated)


def rated_in(said: Screening) -> Rated | None:
    """Return the reply that a model's word keeps."""
    return _RATED.validate_json(said.measures_json)


def standing(words: Words) -> Standing:
    """Return where a clip stands after the last word of each maker."""
    reasons = {maker: REASONS.validate_json(said.reasons_json) for maker, said in words.items()}
    found = tuple(reason for maker in ScreeningMaker for reason in reasons.get(maker, ()))
    maker = _last_word(words, reasons)
    by_rules, by_model = words.get(ScreeningMaker.RULES), words.get(ScreeningMaker.MODEL)
    return Standing(
        is_refused=maker is not None and words[maker].verdict is ScreeningVerdict.REFUSE,
        decided_by=maker,
        name=words[maker].name if maker else "",
        reasons=found,
        measures=_MEASURES.validate_json(by_rules.measures_json) if by_rules else None,
        rated=rated_in(by_model) if by_model else None,
    )


def read_standings(database: Address) -> dict[str, Standing]:
    """Return where each screened clip stands, by id."""
    with ScreeningStore(database) as store:
        return {name: standing(words) for name, words in store.standing().items()}


def read_unusable(database: Address) -> dict[str, str]:
    """Return why each clip that could not be prepared gives no episode, whatever verdicts say."""
    with ClipStore(database) as clips:
        refused = [clip for clip in clips.clips() if clip.status is ClipStatus.REFUSED]
    reasons = {clip.id: clip.reason or "" for clip in refused}
    return {name: why for name, why in reasons.items() if not why.startswith(SCREENED_OUT)}


def is_kept_by_a_person(words: Words) -> bool:
    """Return whether a person wants the clip."""
    person = words.get(ScreeningMaker.PERSON)
    return person is not None and person.verdict is ScreeningVerdict.KEEP


def _last_word(
    words: Words, reasons: Mapping[ScreeningMaker, tuple[Reason, ...]]
) -> ScreeningMaker | None:
    if any(reason.rule == TERMS for reason in reasons.get(ScreeningMaker.RULES, ())):
        return ScreeningMaker.RULES
    decided = {m: w for m, w in words.items() if w.verdict is not ScreeningVerdict.UNDECIDED}
    if ScreeningMaker.PERSON in decided:
        return ScreeningMaker.PERSON
    machines = [m for m in (ScreeningMaker.RULES, ScreeningMaker.MODEL) if m in decided]
    refusing = (m for m in machines if decided[m].verdict is ScreeningVerdict.REFUSE)
    return next(refusing, next(iter(machines), None))
